//! Sends what is held on one socket, and remembers where the watchdog had to do so.

use std::sync::atomic::{Ordering::Relaxed, Ordering::SeqCst};

use libc::c_int;

use crate::holding::Holding;
use crate::live::{self, LIVE};
use crate::orders::{self, Orders};
use crate::page::Cause;
use crate::reach::{Reach, Used};
use crate::{kernel, ledger, table, thread};
use tinygram_coalesce::{Memory, Policy};

/// Sends what is held on `fd`, for the thread that flushes it, and removes the mark unless more may
/// have been held since.
pub(crate) fn through(fd: c_int, orders: &Orders, holding: &Holding, cause: Cause) {
    if holding.mark_now() == 0 {
        return;
    }
    let mark = holding.settled_mark();
    let is_held = !holding.is_rescued(mark);
    send(fd, orders);
    if mark != 0 && holding.unmark(mark) {
        if is_held {
            ledger::flushed(orders, fd, mark, cause);
        }
    } else {
        // The mark stays, but this thread's list may no longer contain the socket.
        let me = thread::this().number();
        let _ = holding.owner.compare_exchange(me, 0, SeqCst, Relaxed);
    }
}

/// Makes the kernel send what it holds back on `fd`.
fn send(fd: c_int, orders: &Orders) {
    #[cfg(test)]
    tests::stand_still();
    match orders.policy() {
        // This flushes in one call, whatever option the socket had; a zero-length send does not.
        // (What is held under nodelay was held before the policy was switched.)
        Policy::FlushOnBlock | Policy::Nodelay => {
            kernel::set_option(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)
        }
        Policy::CorkUntilBlock => kernel::set_option(fd, libc::IPPROTO_TCP, libc::TCP_CORK, 0),
        Policy::Observe => true,
    };
}

/// Sends, for the watchdog, what was held too long on `fd` under `mark`, and remembers that this
/// was necessary. The mark stays: a thread may be about to send more under it.
pub(crate) fn rescue(
    fd: c_int,
    holding: &Holding,
    mark: u64,
    contended: bool,
    reach: Reach,
) -> Used {
    let Some(orders) = orders::orders() else {
        return Used::Gone;
    };
    let mut memory = Memory::unpack(holding.memory.load(Relaxed));
    let goes_over = memory.on_rescue(contended);
    holding.memory.store(memory.pack(), Relaxed);
    // The next write is a new message.
    holding.interval.store(0, Relaxed);
    let identity = table::identity(fd);
    table::teach(identity, |habit| habit.after_rescue(contended));
    live::count(&LIVE.rescued);
    if goes_over {
        live::count(&LIVE.went_over);
        ledger::went_over(orders, identity);
    }
    // Before the flush: a thread whose bytes arrive after it must see that they need a new mark.
    holding.note_rescue(mark);
    let used = again(fd, holding, mark, reach);
    if used == Used::Done {
        ledger::flushed(orders, fd, mark, Cause::Watchdog);
    }
    used
}

/// Flushes once more, for the watchdog, what it has flushed under `mark`, in case bytes arrived
/// after that flush and their thread stands still.
pub(crate) fn again(fd: c_int, holding: &Holding, mark: u64, reach: Reach) -> Used {
    let Some(orders) = orders::orders() else {
        return Used::Gone;
    };
    let used = reach.with(fd, |reached| send(reached, orders));
    if used == Used::Gone {
        holding.unmark(mark);
    }
    used
}

#[cfg(test)]
mod tests {
    //! A thread can stand still at any instruction. Here it does so at the two where bytes were once
    //! held without a mark; the watchdog's rounds are made by hand.

    use std::cell::Cell;
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::time::Duration;

    use super::*;
    use crate::keeper;
    use crate::live::LIVE;
    use crate::rounds::Rounds;
    use crate::table::{Identity, Kind};
    use tinygram_coalesce::Rules;

    thread_local! {
        /// What happens while a thread stands still before its flush.
        static MEANWHILE: Cell<Option<Box<dyn FnOnce()>>> = const { Cell::new(None) };
    }

    pub(super) fn stand_still() {
        if let Some(meanwhile) = MEANWHILE.take() {
            meanwhile();
        }
    }

    const BOUND_NS: u64 = 1_000_000;
    /// When the byte is marked.
    const THEN_NS: u64 = 1_000_000_000;

    /// A connection with nothing held on its near end.
    struct Connection {
        near: TcpStream,
        far: TcpStream,
        holding: &'static Holding,
    }

    impl Connection {
        fn open() -> Self {
            orders::give(Orders {
                only: Default::default(),
                page: None,
                traces: None,
            });
            LIVE.begin(&Rules::default());
            if !table::is_open() {
                table::reserve();
            }
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (far, _) = listener.accept().unwrap();
            // The kernel itself would send after 200 ms.
            far.set_read_timeout(Some(Duration::from_millis(100)))
                .unwrap();
            let fd = near.as_raw_fd();
            table::know(fd, Identity::new(Kind::Tcp));
            let holding = table::holding(fd).unwrap();
            holding.forget();
            Self { near, far, holding }
        }

        fn mark(&self) {
            self.holding.begin_sending();
            self.holding.mark(THEN_NS);
            table::watch(self.near.as_raw_fd());
        }

        fn send_more(&self) {
            // SAFETY: one byte of a literal.
            let sent = unsafe {
                libc::send(
                    self.near.as_raw_fd(),
                    b"x".as_ptr().cast(),
                    1,
                    libc::MSG_MORE,
                )
            };
            assert_eq!(sent, 1);
        }

        fn has_arrived(&mut self) -> bool {
            self.far.read(&mut [0]).is_ok_and(|count| count == 1)
        }
    }

    /// One test, because the tables are one for the process.
    #[test]
    fn no_byte_is_held_without_a_mark_wherever_its_thread_stands_still() {
        // Before the send, and again before the library learns that the send has returned.
        let mut one = Connection::open();
        let mut rounds = Rounds::begin(BOUND_NS, Reach::Shared);
        one.mark();
        rounds.patrol(THEN_NS + BOUND_NS);
        one.send_more();
        assert!(!one.has_arrived(), "MSG_MORE holds the byte");
        rounds.patrol(THEN_NS + 2 * BOUND_NS);
        assert!(one.has_arrived(), "the watchdog forgot the mark");

        // Before the send, while another thread flushes the socket.
        let mut one = Connection::open();
        one.mark();
        let orders = orders::orders().unwrap();
        through(one.near.as_raw_fd(), orders, one.holding, Cause::Wait);
        one.send_more();
        rounds.patrol(THEN_NS + BOUND_NS);
        assert!(one.has_arrived(), "a thread took off another's mark");

        // In the middle of its send, and for ever: its thread is cancelled there.
        let one = Connection::open();
        thread::reserve(keeper::at_thread_end);
        let (fd, holding) = (one.near.as_raw_fd(), one.holding);
        let cancelled = std::thread::spawn(move || {
            keeper::begin_sending(fd, holding, thread::this());
            holding.mark(THEN_NS);
        });
        cancelled.join().unwrap();
        assert_eq!(
            holding.settled_mark(),
            THEN_NS,
            "it still counts as sending"
        );

        // Two holds: the alarm is set for the older one, whichever thread sets it.
        let other = Connection::open();
        table::watch(fd);
        other.holding.mark(THEN_NS + BOUND_NS / 2);
        table::watch(other.near.as_raw_fd());
        assert_eq!(crate::rounds::oldest(THEN_NS + BOUND_NS), THEN_NS);
        holding.forget();
        other.holding.forget();

        // Between the decision to flush and the flush.
        let mut one = Connection::open();
        one.mark();
        one.send_more();
        one.holding.end_sending();
        let (fd, holding) = (one.near.as_raw_fd(), one.holding);
        let (sender, receiver) = std::sync::mpsc::channel();
        MEANWHILE.set(Some(Box::new(move || {
            let mut rounds = Rounds::begin(BOUND_NS, Reach::Shared);
            rounds.patrol(THEN_NS + BOUND_NS);
            sender.send((one.has_arrived(), one)).unwrap();
        })));
        through(fd, orders, holding, Cause::Wait);
        let (arrived, _one) = receiver.recv().unwrap();
        assert!(arrived, "the mark was gone before the flush");
        assert_eq!(holding.mark_now(), 0, "the flush takes it off");
    }
}
