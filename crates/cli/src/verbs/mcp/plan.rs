//! The meaning of the arguments, checked before any client is answered.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tinygram_host::hand::Setting;
use tinygram_host::target::Target;
use tinygram_mcp::{Allowed, Limits};
use tinygram_stalls::Kind;

use super::Args;

pub(super) fn limits(args: &Args) -> Result<Limits, String> {
    if !(LEAST_CALL..=MOST_CALL).contains(&args.max_call) {
        return Err(format!(
            "--max-call {:?}: accepted are lengths from 2s to 10m",
            args.max_call
        ));
    }
    Ok(Limits {
        program: program()?,
        most_octets: args.max_file,
        kinds: Kind::ALL.iter().map(|kind| kind.name()).collect(),
        longest: args.max_call,
        allowed: allowed(args)?,
        roots: args.root.clone(),
    })
}

fn allowed(args: &Args) -> Result<Option<Allowed>, String> {
    if args.allow_changes.is_empty() {
        return Ok(None);
    }
    for target in &args.allow_changes {
        Target::parse(target)?;
    }
    for setting in &args.allow_setting {
        // Knobs of namespaces and routes touch connections that are not meant.
        Setting::parse(setting).map_err(|why| format!("--allow-setting {why}"))?;
    }
    let settings = match args.allow_setting.is_empty() {
        true => vec!["nodelay=on".to_owned()],
        false => args.allow_setting.clone(),
    };
    Ok(Some(Allowed {
        targets: args.allow_changes.clone(),
        settings,
        longest: args.allow_for,
        journal: args.journal.folder.clone(),
    }))
}

/// Returns the program that runs: this one, or the script that Python runs as this one.
fn program() -> Result<PathBuf, String> {
    let this = std::env::current_exe()
        .map_err(|error| format!("where this program is cannot be told: {error}"))?;
    if is_ours(&this) {
        return Ok(this);
    }
    let mut words = std::env::args_os().map(PathBuf::from);
    let script = words
        .find(|word| is_ours(word))
        .and_then(|word| word.canonicalize().ok());
    script.ok_or_else(|| format!("{}: accepted is a program named tinygram", this.display()))
}

fn is_ours(path: &Path) -> bool {
    path.file_stem()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.starts_with("tinygram"))
}

const LEAST_CALL: Duration = Duration::from_secs(2);
const MOST_CALL: Duration = Duration::from_mins(10);
