//! Loads the policy, keeps it while the program or the time lasts, and gives back what was there before.

use std::fs::File;
use std::os::fd::AsFd;
use std::process::{Command, ExitStatus};

use tinygram_host::lacking::{Lacking, takes};
use tinygram_kernel::{Loaded, list as runs};

use super::group::{self, Made};
use super::plan::{Hold, Of};
use super::show;
use crate::outcome::{Done, Failure};
use crate::terminal::{print_text, remark};
use crate::{stop, supervise};

pub(super) fn hold(plan: &Hold) -> Result<Done, Failure> {
    match &plan.of {
        Of::Group(folder, lasting) => {
            let group = group::open(folder)?;
            stop::listen()?;
            let loaded = load(plan, &group)?;
            remark(&show::held(plan, loaded.name()));
            match lasting {
                Some(length) => stop::wait(*length),
                None => stop::wait_for_ever(),
            }
            put_back(loaded)?;
            Ok(Done::Well)
        }
        Of::Program(words) => {
            let made = Made::new()?;
            let loaded = load(plan, &made.open()?)?;
            remark(&show::held(plan, loaded.name()));
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]);
            let status = supervised(command, &made);
            put_back(loaded)?;
            drop(made);
            supervise::end_like(status?)
        }
    }
}

pub(super) fn list(as_json: bool) -> Result<Done, Failure> {
    let runs = runs().map_err(|error| refused(&Lacking::of(&error)))?;
    print_text(&show::listed(&runs, as_json))
}

fn load(plan: &Hold, group: &File) -> Result<Loaded, Failure> {
    let loaded = Loaded::load(plan.policy, plan.base, plan.parameter);
    let mut loaded = loaded.map_err(|lacking| refused(&lacking))?;
    let chosen = loaded.choose_for(group.as_fd());
    chosen.map_err(|error| match error.raw_os_error() {
        Some(libc::EBADF | libc::EINVAL) => Failure::Input(
            "the folder is no control group of version 2, which is what BPF programs are attached to".into(),
        ),
        _ => refused(&Lacking::of(&error)),
    })?;
    Ok(loaded)
}

fn put_back(mut loaded: Loaded) -> Result<(), Failure> {
    loaded.choose_for_none();
    let given = loaded.give_all_back().and_then(|()| loaded.counts());
    let counts = given.map_err(|error| Failure::Io {
        doing: "giving connections back what they had".into(),
        error,
    })?;
    remark(&show::ended(counts));
    Ok(())
}

fn supervised(mut command: Command, made: &Made) -> Result<ExitStatus, Failure> {
    made.admit(&mut command).map_err(|error| Failure::Io {
        doing: "joining the control group".into(),
        error,
    })?;
    supervise::stand_by()?.start(command)?.wait()
}

fn refused(lacking: &Lacking) -> Failure {
    Failure::Input(match lacking {
        Lacking::Privilege(missing) => {
            format!(
                "not permitted to load send policies: {}",
                takes(&[&["CAP_NET_ADMIN", "CAP_SYS_ADMIN"], missing.as_slice()].concat())
            )
        }
        other => other.to_string(),
    })
}
