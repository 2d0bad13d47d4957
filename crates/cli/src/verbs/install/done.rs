//! Installs, removes and shows.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use tinygram_host::root::Root;
use tinygram_host::target::Target;
use tinygram_host::text::plain;

use super::Args;
use super::config;
use super::files::{self, Content, Item};
use super::manifest::{Manifest, Taken};
use super::policy::{self, Installed};
use crate::outcome::{Done, Failure};
use crate::terminal::{print_text, remark};

pub(super) fn install(args: &Args) -> Result<Done, Failure> {
    let policies = policies(args).map_err(Failure::Input)?;
    let program = policy::program(args).map_err(Failure::Input)?;
    let items = files::of(&policies, &program).map_err(Failure::Input)?;
    let mut manifest = Manifest::read(&args.root).map_err(Failure::Input)?;
    manifest.check(&items).map_err(Failure::Input)?;
    for policy in &policies {
        match policy {
            Installed::Run { unit, .. } => check_unit(&manifest, unit)?,
            Installed::Cure { target, .. } => warn_of_nobody(target, args),
        }
    }
    if args.dry_run {
        print_text(&shown(&items))?;
        return Ok(Done::Well);
    }
    let by_config = args.config.is_some();
    if by_config {
        let is_wanted = |path: &Path| items.iter().any(|item| item.path == path);
        let removed = manifest.remove(|entry| entry.by_config && !is_wanted(&entry.path));
        tell(&removed.map_err(Failure::Input)?);
    }
    manifest.write(&items, by_config).map_err(Failure::Input)?;
    let mut text = String::new();
    for item in &items {
        let _ = writeln!(text, "{}", item.path.display());
    }
    print_text(&(text + &next(&policies, args)))?;
    Ok(Done::Well)
}

/// Returns the policies that the command or its file names.
///
/// # Errors
///
/// Says in one line what is wrong and what is accepted.
fn policies(args: &Args) -> Result<Vec<Installed>, String> {
    if let Some(file) = &args.config {
        return config::read(file);
    }
    let held = args
        .unit
        .iter()
        .map(|unit| policy::run(unit, &args.policy, args.only.clone()));
    let cured = args
        .cure
        .iter()
        .map(|target| policy::cure(target, args.watch));
    let all: Vec<Installed> = held.chain(cured).collect::<Result<_, _>>()?;
    match all.is_empty() {
        true => Err(
            "nothing to install: accepted are --unit, --cure, --config, --container, --list and --remove"
                .to_owned(),
        ),
        false => Ok(all),
    }
}

pub(super) fn remove(args: &Args) -> Result<Done, Failure> {
    let mut manifest = Manifest::read(&args.root).map_err(Failure::Input)?;
    if manifest.entries().is_empty() {
        remark("tinygram install: nothing is installed");
        return Ok(Done::Found);
    }
    if args.dry_run {
        return list(args);
    }
    let taken = manifest.remove(|_| true).map_err(Failure::Input)?;
    tell(&taken);
    let stays = taken.iter().any(|one| matches!(one, Taken::Changed(_)));
    remark(
        "tinygram install: services that run keep what they have until systemctl daemon-reload and their next start",
    );
    Ok(if stays { Done::Partly } else { Done::Well })
}

pub(super) fn list(args: &Args) -> Result<Done, Failure> {
    let manifest = Manifest::read(&args.root).map_err(Failure::Input)?;
    let mut text = String::new();
    for entry in manifest.entries() {
        let _ = writeln!(text, "{}", plain(&entry.path.display().to_string()));
    }
    if text.is_empty() {
        text = "Nothing is installed.\n".to_owned();
    }
    print_text(&text)?;
    Ok(Done::Well)
}

pub(super) fn container(_: &Args) -> Result<Done, Failure> {
    let library = files::the_library().map_err(Failure::Input)?;
    print_text(&files::container(
        &library.path,
        tinygram_coalesce::Policy::FlushOnBlock,
    ))?;
    Ok(Done::Well)
}

/// Says so where a name stands for nothing that runs here: it may be mistyped.
fn warn_of_nobody(target: &str, args: &Args) {
    let is_here = args.root == Path::new("/");
    let target = Target::parse(target).ok().filter(|_| is_here);
    if let Some(target) = target
        && target.names_nobody(&Root::default())
    {
        remark(&format!(
            "tinygram install: there is no {} now; the service looks for one anew each time",
            target.sought().trim_start_matches("a ")
        ));
    }
}

/// Refuses a service that loads another library by the same variable, which a drop-in would replace.
fn check_unit(manifest: &Manifest, unit: &str) -> Result<(), Failure> {
    let mut is_there = false;
    for folder in UNIT_FOLDERS {
        let file = manifest.place(&Path::new(folder).join(unit));
        let mut texts = vec![file.clone()];
        is_there |= file.exists();
        let drop_ins = manifest.place(&Path::new(folder).join(format!("{unit}.d")));
        let entries = fs::read_dir(drop_ins).into_iter().flatten().flatten();
        texts.extend(entries.map(|entry| entry.path()));
        for path in texts {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let is_own = text.starts_with("# Made by tinygram install");
            if !is_own && text.contains("LD_PRELOAD") {
                return Err(Failure::Input(format!(
                    "{} sets LD_PRELOAD already, which a drop-in would replace; nothing was written. Accepted are services \
                     without it: add the library there by hand, or use --cure {unit}",
                    path.display()
                )));
            }
        }
    }
    if !is_there {
        remark(&format!(
            "tinygram install: there is no {unit} yet; the drop-in holds once there is one"
        ));
    }
    Ok(())
}

/// Returns what would be written.
fn shown(items: &[Item]) -> String {
    let mut text = String::new();
    for item in items {
        let path = item.path.display();
        let _ = match &item.content {
            Content::Text(content) => writeln!(text, "{path}:\n{content}"),
            Content::Library(octets) => writeln!(
                text,
                "{path}: the library of run, {} octets\n",
                octets.len()
            ),
            Content::Link(target) => writeln!(text, "{path} -> {}\n", target.display()),
        };
    }
    text + "Nothing was written (--dry-run).\n"
}

/// Says what makes it hold now.
fn next(policies: &[Installed], args: &Args) -> String {
    if args.root != Path::new("/") {
        return "It holds when the image is started.\n".to_owned();
    }
    let mut text = "It holds from the next start of each service on. To start them now: systemctl daemon-reload".to_owned();
    for policy in policies {
        let _ = match policy {
            Installed::Run { unit, .. } => write!(text, " && systemctl restart {unit}"),
            Installed::Cure { target, .. } => write!(
                text,
                " && systemctl start '{}'",
                super::names::curing(target)
            ),
        };
    }
    text + "\n"
}

fn tell(taken: &[Taken]) {
    for one in taken {
        match one {
            Taken::Out(path) => remark(&format!("tinygram install: {} is removed", path.display())),
            Taken::Changed(path) => remark(&format!(
                "tinygram install: {} was changed since, so it stays",
                path.display()
            )),
        }
    }
}

/// Where units are (systemd.unit(5), "Unit File Load Path").
const UNIT_FOLDERS: [&str; 5] = [
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
];
