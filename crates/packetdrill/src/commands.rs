//! Replacements for `sysctl` and similar commands while a script runs against this stack. They
//! change nothing on the host, and write what concerns TCP to a file for the stack
//! (`SETTINGS_FILE`).

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::settings::SETTINGS_FILE;

/// The commands that this program replaces.
const NAMES: [&str; 11] = [
    "sysctl", "ip", "tc", "ethtool", "nstat", "sockstat", "tcpdrop", "kldload", "kldstat",
    "setkey", "python3",
];

/// Makes a folder with a link to `program` for each command.
pub(crate) fn install(folder: &Path, program: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for name in NAMES {
        let link = folder.join(name);
        match symlink(program, &link) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Returns the script with its writes to parameters of the running kernel turned into `sysctl`.
pub(crate) fn redirected(script: &str) -> String {
    const PARAMETERS: &str = "/sys/module/";
    let redirect = |line: &str| -> Option<String> {
        let (before, file) = line.split_once(PARAMETERS)?;
        let (head, value) = before.split_once("echo ")?;
        let value = value.trim_end().strip_suffix('>')?.trim();
        let end = file.find(['`', ' ', ';']).unwrap_or(file.len());
        let (file, rest) = file.split_at(end);
        let name = file.replace("/parameters/", ".");
        Some(format!("{head}sysctl -q {name}={value}{rest}"))
    };
    let mut text = String::new();
    for line in script.lines() {
        text.push_str(&redirect(line).unwrap_or_else(|| line.to_owned()));
        text.push('\n');
    }
    text
}

/// Does, if this program was called by a command's name, what the command is for.
#[must_use]
pub fn by_name() -> Option<ExitCode> {
    let mut arguments = std::env::args();
    let called = arguments.next()?;
    let name = Path::new(&called).file_name()?.to_str()?;
    let name = NAMES.into_iter().find(|known| *known == name)?;
    let rest: Vec<String> = arguments.collect();
    Some(match stand_in(name, &rest) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::FAILURE
        }
    })
}

fn stand_in(name: &str, arguments: &[String]) -> io::Result<ExitCode> {
    match name {
        "sysctl" => {
            let settings = arguments.iter().filter(|argument| argument.contains('='));
            for setting in settings {
                write_down(&setting.replacen('/', ".", 3))?;
            }
        }
        "ip" => route(arguments)?,
        "tc" => queue(arguments)?,
        "tcpdrop" => {
            if let [flag, state] = arguments
                && flag == "-s"
            {
                write_down(&format!("tcpdrop={state}"))?;
            }
        }
        "sockstat" => sockstat(arguments)?,
        "python3" => return python(arguments),
        _ => {}
    }
    Ok(ExitCode::SUCCESS)
}

fn write_down(setting: &str) -> io::Result<()> {
    let path = std::env::var_os(SETTINGS_FILE).ok_or(io::ErrorKind::NotFound)?;
    let mut file = OpenOptions::new().append(true).open(path)?;
    writeln!(file, "{setting}")
}

/// `ip route change`: takes what it says about the path.
fn route(arguments: &[String]) -> io::Result<()> {
    if !arguments.iter().any(|argument| argument == "route") {
        return Ok(());
    }
    for name in ["advmss", "initcwnd"] {
        let value = arguments
            .iter()
            .skip_while(|argument| *argument != name)
            .nth(1);
        if let Some(value) = value {
            write_down(&format!("route.{name}={value}"))?;
        }
    }
    let mtu = arguments.iter().skip_while(|argument| *argument != "mtu");
    if let Some(mtu) = mtu.skip(1).find(|argument| *argument != "lock") {
        write_down(&format!("route.mtu={mtu}"))?;
    }
    Ok(())
}

/// `tc qdisc`: a queue without any room refuses every packet; any other queue accepts them.
fn queue(arguments: &[String]) -> io::Result<()> {
    let full = arguments.windows(2).any(|two| two == ["limit", "0"]);
    write_down(&format!("device.full={}", u8::from(full)))?;
    let paces = arguments.iter().any(|argument| argument == "fq");
    write_down(&format!("device.paces={}", u8::from(paces)))
}

/// Lists the connections as FreeBSD's `sockstat -s` does, with the columns that scripts look for.
fn sockstat(arguments: &[String]) -> io::Result<()> {
    let path = std::env::var_os(SETTINGS_FILE).ok_or(io::ErrorKind::NotFound)?;
    let states = fs::read_to_string(Path::new(&path).with_extension("states")).unwrap_or_default();
    let port = arguments
        .iter()
        .skip_while(|argument| *argument != "-p")
        .nth(1);
    for line in states.lines() {
        let (state, local) = line.split_once(' ').unwrap_or((line, ""));
        if port.is_none_or(|port| port == local) {
            println!("root packetdril 1 3 tcp4 *:{local} *:* {state}");
        }
    }
    Ok(())
}

/// `set_sysctls.py /proc/sys/...=VALUE` of Google's suite, which leaves a program behind that
/// restores the values. Anything else is passed to Python.
fn python(arguments: &[String]) -> io::Result<ExitCode> {
    let ours = arguments
        .first()
        .filter(|first| first.ends_with("set_sysctls.py"));
    if ours.is_none() {
        let folder = std::env::current_exe()?;
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let others = std::env::split_paths(&paths)
            .map(|path| path.join("python3"))
            .filter(|path| path.is_file())
            .find(|path| fs::canonicalize(path).is_ok_and(|real| real != folder));
        let python = others.ok_or(io::ErrorKind::NotFound)?;
        return Err(Command::new(python).args(arguments).exec());
    }
    for argument in &arguments[1..] {
        if let Some(setting) = argument.strip_prefix("/proc/sys/") {
            let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
            write_down(&format!("{}={value}", name.replace('/', ".")))?;
        }
    }
    if let Some(process) = std::env::var_os("PACKETDRILL_PID") {
        let restore = format!("/tmp/sysctl_restore_{}.sh", process.to_string_lossy());
        fs::write(&restore, "#!/bin/sh\nrm -f \"$0\"\n")?;
        fs::set_permissions(&restore, fs::Permissions::from_mode(0o755))?;
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_the_kernel_become_settings() {
        let script =
            "`echo 3 > /sys/module/tcp_cubic/parameters/hystart_detect`\n+0 close(3) = 0\n";
        let expected = "`sysctl -q tcp_cubic.hystart_detect=3`\n+0 close(3) = 0\n";
        assert_eq!(redirected(script), expected);
    }
}
