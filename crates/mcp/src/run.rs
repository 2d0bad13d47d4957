//! Runs the program: each call is a process of its own, bounded in time and in what it may say.
//!
//! So calls do not mix, a capture that brings the program down brings down no server, and a cancelled call ends as Ctrl-C
//! ends a command: in order, with everything put back that it had changed.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::refusal::Refusal;
use crate::root::Opened;

/// The program, and how much of it may run.
#[derive(Debug)]
pub(crate) struct Program {
    path: PathBuf,
    longest: Duration,
    places: Semaphore,
}

/// What is to be run.
pub(crate) struct Call<'a> {
    /// The verb, as the command line has it.
    pub(crate) verb: &'static str,
    pub(crate) options: Vec<OsString>,
    /// What stands behind the options: never read as one.
    pub(crate) words: Vec<OsString>,
    /// A file that the process opens. It is the last word.
    pub(crate) file: Option<&'a Opened>,
    pub(crate) keep: Keep,
    /// What to do where it takes too long.
    pub(crate) instead: &'static str,
}

/// What is kept of a long output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// All of it: one that is too long is refused.
    All,
    /// The end.
    End,
}

/// What a process said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: Vec<u8>,
    /// The last line on standard error.
    pub(crate) line: String,
}

impl Program {
    pub(crate) fn new(path: PathBuf, longest: Duration) -> Self {
        Self {
            path,
            longest,
            places: Semaphore::new(PLACES),
        }
    }

    /// Returns the longest that a call may take.
    pub(crate) fn longest(&self) -> Duration {
        self.longest
    }

    /// Runs a verb that answers with one JSON document, and reads that.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        call: Call<'_>,
        stop: &CancellationToken,
    ) -> Result<T, Refusal> {
        let verb = call.verb;
        let said = self.run(call, stop).await?;
        document(verb, &said)
    }

    /// Runs a verb to its end.
    pub(crate) async fn run(
        &self,
        call: Call<'_>,
        stop: &CancellationToken,
    ) -> Result<Said, Refusal> {
        let too_long = Refusal::TooLong {
            verb: call.verb,
            seconds: self.longest.as_secs(),
            instead: call.instead,
        };
        // Waiting for a place counts, too: the client waits for both.
        let whole = async {
            let _place = tokio::select! {
                place = self.places.acquire() => place.map_err(|_| Refusal::Cancelled)?,
                () = stop.cancelled() => return Err(Refusal::Cancelled),
            };
            self.run_in_place(&call, stop).await
        };
        match tokio::time::timeout(self.longest, whole).await {
            Ok(said) => said,
            Err(_) => Err(too_long),
        }
    }

    async fn run_in_place(
        &self,
        call: &Call<'_>,
        stop: &CancellationToken,
    ) -> Result<Said, Refusal> {
        let mut running =
            Running::start(self.command(call)).map_err(|error| cannot_start(call.verb, &error))?;
        tokio::select! {
            said = running.wait_and_read(call.keep) => {
                let mut said = said.map_err(|error| cannot_start(call.verb, &error))?;
                if let Some(file) = call.file {
                    said.line = said.line.replace(&*file.path.to_string_lossy(), &file.name);
                }
                Ok(said)
            }
            () = stop.cancelled() => {
                running.end().await;
                Err(Refusal::Cancelled)
            }
        }
    }

    /// Returns the command of a call.
    pub(crate) fn command(&self, call: &Call<'_>) -> Command {
        let mut command = Command::new(&self.path);
        command
            .arg(call.verb)
            .args(&call.options)
            .arg("--")
            .args(&call.words);
        if let Some(file) = call.file {
            command.arg(&file.path);
        }
        command
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        command.current_dir("/");
        #[cfg(target_os = "linux")]
        tie(&mut command, call.file);
        command
    }
}

/// Reads what a verb said as its document.
pub(crate) fn document<T: DeserializeOwned>(verb: &'static str, said: &Said) -> Result<T, Refusal> {
    if said.out.len() >= MOST_SAID {
        return Err(Refusal::asked(format!(
            "tinygram {verb} found more than this server reads ({MOST_SAID} octets); accepted is a part of it (host, port, \
             from_s, to_s), or a target"
        )));
    }
    if said.out.is_empty() {
        return Err(Refusal::failed(verb, said.code, &said.line));
    }
    serde_json::from_slice(&said.out).map_err(|error| Refusal::Unreadable {
        verb,
        why: error.to_string(),
    })
}

/// A process that runs. It is ended if nobody waits for it any more.
pub(crate) struct Running {
    child: Child,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> io::Result<Self> {
        let child = command.kill_on_drop(true).spawn()?;
        let running = Self { child };
        Ok(running)
    }

    /// Returns the process's standard output.
    pub(crate) fn out(&mut self) -> Option<tokio::process::ChildStdout> {
        self.child.stdout.take()
    }

    /// Returns the process's number, while it runs.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Returns whether the process still runs.
    pub(crate) fn goes_on(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for the end, and returns what was said.
    pub(crate) async fn wait_and_read(&mut self, keep: Keep) -> io::Result<Said> {
        let (out, errors) = (self.child.stdout.take(), self.child.stderr.take());
        let (out, errors) = tokio::join!(
            read(out, MOST_SAID, keep),
            read(errors, MOST_ERRORS, Keep::End),
        );
        let status = self.child.wait().await?;
        let errors = String::from_utf8_lossy(&errors?).into_owned();
        let line = errors.lines().rev().find(|line| !line.trim().is_empty());
        Ok(Said {
            code: status.code().unwrap_or(-1),
            out: out?,
            line: line.unwrap_or("it was ended by a signal").to_owned(),
        })
    }

    /// Asks the process to end, as Ctrl-C does; ends it if it does not.
    pub(crate) async fn end(&mut self) {
        self.interrupt();
        if tokio::time::timeout(GRACE, self.child.wait())
            .await
            .is_err()
        {
            let _ = self.child.kill().await;
        }
    }

    fn interrupt(&self) {
        #[cfg(unix)]
        if let Some(pid) = self.child.id().and_then(|pid| i32::try_from(pid).ok())
            && let Some(pid) = rustix::process::Pid::from_raw(pid)
        {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        }
    }
}

/// Reads to the end, and keeps up to `most` octets: the first or the last.
async fn read(
    source: Option<impl AsyncRead + Unpin>,
    most: usize,
    keep: Keep,
) -> io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    let Some(mut source) = source else {
        return Ok(kept);
    };
    let mut chunk = vec![0; CHUNK];
    loop {
        let count = source.read(&mut chunk).await?;
        if count == 0 {
            return Ok(kept);
        }
        // What is not read would keep the process waiting, so it is read, kept or not.
        match keep {
            Keep::All => kept.extend_from_slice(&chunk[..count.min(most - kept.len())]),
            Keep::End => {
                kept.extend_from_slice(&chunk[..count]);
                if kept.len() >= 2 * most {
                    kept.drain(..kept.len() - most);
                }
            }
        }
    }
}

/// Ends the process with the server, whatever ends that, and hands it the file.
#[cfg(target_os = "linux")]
fn tie(command: &mut Command, file: Option<&Opened>) {
    use std::os::fd::{AsRawFd, BorrowedFd};

    use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

    let server = getpid();
    let handle = file.map(|file| file.handle.as_raw_fd());
    let prepare = move || {
        // SIGTERM: what it had set is put back.
        set_parent_process_death_signal(Some(Signal::TERM))?;
        if getppid() != Some(server) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if let Some(handle) = handle {
            // SAFETY: whoever starts the process keeps the file open until it runs.
            let handle = unsafe { BorrowedFd::borrow_raw(handle) };
            rustix::io::fcntl_setfd(handle, rustix::io::FdFlags::empty())?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec it makes system calls and nothing else.
    unsafe { command.pre_exec(prepare) };
}

fn cannot_start(verb: &'static str, error: &io::Error) -> Refusal {
    Refusal::failed(verb, -1, &crate::plain(error))
}

/// How many processes run at once: two for each processor of a small machine.
const PLACES: usize = 4;
/// The most that is kept of a process's standard output, in octets.
const MOST_SAID: usize = 32 << 20;
/// The most that is kept of its standard error.
const MOST_ERRORS: usize = 64 << 10;
const CHUNK: usize = 64 << 10;
/// How long a process may take to put back what it changed.
const GRACE: Duration = Duration::from_secs(5);
