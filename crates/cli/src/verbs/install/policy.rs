//! What is to last: a policy for a service or a target.

use std::path::PathBuf;
use std::time::Duration;

use tinygram_coalesce::Only;
use tinygram_host::target::Target;
use tinygram_preload::settings::MAX_ONLY;

use super::{Args, names};

/// What is to last for whom.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Installed {
    /// The library of `run` in a service.
    Run {
        /// The service, by its whole name.
        unit: String,
        policy: tinygram_coalesce::Policy,
        only: Vec<Only>,
    },
    /// A service that runs `cure --watch`.
    Cure { target: String, watch: Duration },
}

/// Returns the policy of a service.
pub(super) fn run(unit: &str, policy: &str, only: Vec<Only>) -> Result<Installed, String> {
    use tinygram_coalesce::Policy as Known;
    let known = Known::named(policy)
        .filter(|policy| matches!(policy, Known::FlushOnBlock | Known::Nodelay))
        .ok_or_else(|| format!("{policy}: accepted are flush-on-block and nodelay"))?;
    if only.len() > MAX_ONLY {
        return Err(format!("--only is accepted up to {MAX_ONLY} times"));
    }
    Ok(Installed::Run {
        unit: names::service(unit)?,
        policy: known,
        only,
    })
}

/// Returns the policy of a target that is cured while it stalls. A control group need not be there yet.
pub(super) fn cure(target: &str, watch: Duration) -> Result<Installed, String> {
    if !target.contains('/') {
        Target::parse(target)?;
    }
    names::word(target)?;
    if target.starts_with('-') {
        return Err(format!(
            "{target}: accepted is a port, a unit, a program or a control group's path"
        ));
    }
    if watch < LEAST_WATCH {
        return Err(format!(
            "--watch {watch:?}: accepted are lengths from 1m to 24h"
        ));
    }
    Ok(Installed::Cure {
        target: target.to_owned(),
        watch,
    })
}

/// Returns where the program will be when a service starts it.
pub(super) fn program(args: &Args) -> Result<PathBuf, String> {
    let named = match (&args.program, args.root.as_os_str() == "/") {
        (Some(path), _) => path.clone(),
        (None, true) => std::env::current_exe().map_err(|error| format!("--program: {error}"))?,
        (None, false) => PathBuf::from("/usr/bin/tinygram"),
    };
    match named.is_absolute() && named.to_str().is_some() {
        true => Ok(named),
        false => Err(format!(
            "--program {}: accepted is an absolute path",
            named.display()
        )),
    }
}

/// `cure` accepts no shorter one.
const LEAST_WATCH: Duration = Duration::from_mins(1);
