//! Names the functions of native stacks in a thread of its own: to read a program's symbols for the first time may take
//! longer than other processes live.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use super::native::Programs;
use super::snapshot::Snapshot;
use super::{CallSite, Named, Prepared, Stack};

/// The thread; it ends with this.
pub(crate) struct Namer {
    questions: Sender<Question>,
    answers: Receiver<Named>,
}

struct Question {
    pid: u32,
    snapshot: Option<Snapshot>,
    registers: [u64; 4],
    octets: Vec<u8>,
}

impl Default for Namer {
    fn default() -> Self {
        let (questions, asked) = channel::<Question>();
        let (answer, answers) = channel();
        // Without a thread nothing is named.
        let _ = std::thread::Builder::new()
            .name("symbols".into())
            .spawn(move || {
                let mut programs = Programs::default();
                for question in asked {
                    let stack = Stack {
                        pid: question.pid,
                        thread: 0,
                        registers: question.registers,
                        octets: &question.octets,
                        python: Vec::new(),
                    };
                    if answer
                        .send(programs.frames(&stack, question.snapshot))
                        .is_err()
                    {
                        break;
                    }
                }
            });
        Self { questions, answers }
    }
}

impl Namer {
    /// Returns where `stack` comes from, and calls `meanwhile` again and again until that is known.
    pub(crate) fn site(
        &self,
        stack: &Stack<'_>,
        prepared: Prepared,
        meanwhile: impl FnMut(),
    ) -> Option<Arc<CallSite>> {
        let (frames, interpreter) = match prepared {
            Prepared::Python(frames) => (frames, None),
            Prepared::Native(snapshot) => self.name(stack, snapshot, meanwhile),
        };
        CallSite::of(frames, interpreter).map(Arc::new)
    }

    fn name(
        &self,
        stack: &Stack<'_>,
        snapshot: Option<Snapshot>,
        mut meanwhile: impl FnMut(),
    ) -> Named {
        let question = Question {
            pid: stack.pid,
            snapshot,
            registers: stack.registers,
            octets: stack.octets.to_vec(),
        };
        if self.questions.send(question).is_err() {
            return Named::default();
        }
        loop {
            match self.answers.recv_timeout(MOMENT) {
                Ok(named) => return named,
                Err(RecvTimeoutError::Timeout) => meanwhile(),
                Err(RecvTimeoutError::Disconnected) => return Named::default(),
            }
        }
    }
}

/// Much shorter than a delayed acknowledgment, for which processes wait.
const MOMENT: Duration = Duration::from_millis(2);
