//! What is taken down about one frame that somebody asks about.

use std::cell::{Cell, RefCell};

use crate::flow::hold::Hold;
use crate::flow::mark::Mark;
use crate::flow::seen::{Plain, Seen};
use crate::verdict::ledger::Ledger;

/// One frame, what was seen of its segment, and what the checks said.
pub(crate) struct About {
    pub(crate) frame: u64,
    pub(crate) ledger: RefCell<Ledger>,
    /// The number of its connection.
    pub(crate) connection: Cell<Option<u32>>,
    pub(crate) observed: RefCell<Observed>,
}

/// What was seen of the segment.
#[derive(Clone, Debug, Default)]
pub(crate) enum Observed {
    /// Nothing: the frame was not reached, holds no TCP segment, or opens or resets a connection.
    #[default]
    Nothing,
    Plain(Plain),
    Held(Box<Hold>),
    /// It came so long after a late ACK, in nanoseconds.
    Thought(i64),
    /// It waited so long, and its sender holds nothing.
    Defied(i64),
    /// It was sent again so long after it was sent first.
    Lost(i64),
    /// The first flight after an idle period ended before it.
    Restarted(Box<Hold>),
}

impl About {
    pub(crate) fn new(frame: u64) -> Self {
        Self {
            frame,
            ledger: RefCell::new(Ledger::of(frame)),
            connection: Cell::new(None),
            observed: RefCell::default(),
        }
    }

    /// Takes down a segment that ends no pause in which anything was waited for.
    pub(crate) fn plain(&self, connection: u32, mark: Mark, plain: Plain) {
        if mark.frame == self.frame {
            self.connection.set(Some(connection));
            *self.observed.borrow_mut() = Observed::Plain(plain);
        }
    }

    /// Takes down what was seen, if it is about the frame.
    pub(crate) fn saw(&self, connection: u32, seen: &Seen) {
        let (frame, observed) = match seen {
            Seen::Held(hold) => (hold.held.frame, Observed::Held(Box::new(hold.clone()))),
            Seen::Restarted(hold) => (hold.held.frame, Observed::Restarted(Box::new(hold.clone()))),
            Seen::Thought(mark, ns) => (mark.frame, Observed::Thought(*ns)),
            Seen::Defied(mark, ns) => (mark.frame, Observed::Defied(*ns)),
            Seen::Lost(mark, ns) => (mark.frame, Observed::Lost(*ns)),
            Seen::Plain(..)
            | Seen::Window(..)
            | Seen::WentOn
            | Seen::Answered(_)
            | Seen::Finished => return,
        };
        if frame == self.frame {
            self.connection.set(Some(connection));
            *self.observed.borrow_mut() = observed;
        }
    }
}
