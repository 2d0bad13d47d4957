//! The waits of a socket beside its connection's timers: for the end of a close that lingers
//! (SO_LINGER), and the end of a deferred acceptance (TCP_DEFER_ACCEPT).

use std::task::{Context, Poll};

use tinygram_engine::{Duration, Instant, State};

use super::Core;
use super::keys::ConnectionKey;
use super::socket::{Owner, Socket, remember};

impl Core {
    /// Sets how dropping or [closing](Core::poll_close) the stream ends the connection (SO_LINGER).
    /// `None` closes it in the background, a time makes [`Core::poll_close`] wait until the peer
    /// has acknowledged everything, and zero resets the connection. Any other value than zero ends
    /// what [`Core::set_abort_on_drop`] set.
    pub fn set_linger(&mut self, key: ConnectionKey, linger: Option<Duration>) {
        let key = self.place(key);
        let socket = &mut self.sockets[key];
        socket.abort_on_drop = linger == Some(Duration::ZERO);
        socket.linger = linger.filter(|time| *time > Duration::ZERO);
    }

    /// Closes this side and waits until everything that was written, and the FIN, is acknowledged:
    /// then the answer is `true`. It is `false` if the time that [`Core::set_linger`] set has
    /// passed, or the connection ended, before that, and if data came that was not read, because
    /// that resets the connection. Without a time it does not wait. [`Core::release`] follows; the
    /// stack then continues to send what is left.
    pub fn poll_close(
        &mut self,
        now: Instant,
        key: ConnectionKey,
        context: &Context<'_>,
    ) -> Poll<bool> {
        let key = self.place(key);
        let socket = &mut self.sockets[key];
        // Data that nobody will read resets the connection (RFC 2525, section 2.17).
        let resets = socket.abort_on_drop || socket.connection.receiver().readable() > 0;
        if !resets {
            // The application may have closed this side before.
            let finishing = socket.connection.sender().is_finishing();
            let begins = match socket.linger {
                Some(time) if socket.alarm == Instant::FAR_FUTURE => {
                    socket.alarm = now + time;
                    true
                }
                _ => false,
            };
            if !finishing {
                self.shut_down_in(now, key);
            } else if begins {
                self.settle(key);
            }
        }
        let socket = &mut self.sockets[key];
        let flushed = socket.is_flushed() && socket.fate.is_none();
        let gone = socket.connection.state() == State::Closed;
        let waits = socket.linger.is_some();
        if flushed || gone || resets || !waits {
            socket.alarm = Instant::FAR_FUTURE;
            return Poll::Ready(flushed && !resets);
        }
        remember(&mut socket.writer, context.waker());
        Poll::Pending
    }

    /// Handles the alarm of the socket itself.
    pub(super) fn on_alarm(&mut self, key: usize) {
        let socket = &mut self.sockets[key];
        socket.alarm = Instant::FAR_FUTURE;
        match socket.owner {
            Owner::HalfOpen { .. } if socket.was_connected => self.hand_over(key),
            _ => {
                socket.linger = None;
                socket.wake_writer(&mut self.wakers);
            }
        }
    }

    /// Handles the end of a listener's handshake: its connection can be accepted, or waits for data
    /// first (TCP_DEFER_ACCEPT).
    pub(super) fn on_handshake_done(&mut self, key: usize) {
        let socket = &mut self.sockets[key];
        let Owner::HalfOpen { listener, .. } = socket.owner else {
            return;
        };
        match self.listeners[listener].options.defer_accept {
            Some(time) if !socket.has_something_to_read() => {
                socket.alarm = socket.connection.sender().vars().now + time;
                // The socket's other alarms are set already.
                self.timers.arm(key, socket.alarm, &mut socket.armed);
            }
            _ => self.hand_over(key),
        }
    }

    /// Gives the connection to its listener's application.
    pub(super) fn hand_over(&mut self, key: usize) {
        let socket = &mut self.sockets[key];
        let Owner::HalfOpen { listener, serial } = socket.owner else {
            return;
        };
        socket.owner = Owner::Ready { listener };
        socket.alarm = Instant::FAR_FUTURE;
        let listener = &mut self.listeners[listener];
        listener.closed(serial, key);
        listener.push_ready(key, &mut self.wakers);
    }
}

impl Socket {
    /// Returns whether everything that was written is acknowledged, including the FIN if this side
    /// has closed.
    pub(super) fn is_flushed(&self) -> bool {
        let sender = self.connection.sender();
        match sender.is_finishing() {
            true => sender.fin_acked() || self.connection.state() == State::Closed,
            false => sender.buffered() == 0,
        }
    }

    /// Returns whether a read would return data or the end.
    pub(super) fn has_something_to_read(&self) -> bool {
        let receiver = self.connection.receiver();
        self.readable() > 0 || receiver.fin_received()
    }
}
