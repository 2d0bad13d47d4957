//! Two devices joined in memory, for tests and for two stacks in one process.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use super::{Abilities, Device, Offload, Received};

/// One end of a pair.
#[derive(Debug)]
pub struct Memory {
    mtu: u16,
    incoming: Arc<Mutex<Queue>>,
    outgoing: Arc<Mutex<Queue>>,
}

/// Packets on the way in one direction.
#[derive(Debug, Default)]
struct Queue {
    packets: VecDeque<Vec<u8>>,
    reader: Option<Waker>,
    closed: bool,
}

/// The most packets on the way; further ones are dropped, as by a device's queue.
const MOST_PACKETS: usize = 1000;

/// Returns a pair of devices: each receives what the other sends. The MTU is in octets.
#[must_use]
pub fn memory_pair(mtu: u16) -> (Memory, Memory) {
    let [one, other] = [(); 2].map(|()| Arc::new(Mutex::new(Queue::default())));
    let end = |incoming: &Arc<_>, outgoing: &Arc<_>| Memory {
        mtu,
        incoming: Arc::clone(incoming),
        outgoing: Arc::clone(outgoing),
    };
    (end(&one, &other), end(&other, &one))
}

impl Device for Memory {
    fn abilities(&self) -> Abilities {
        Abilities::plain(self.mtu)
    }

    fn send(&self, octets: &mut [u8], _: Option<Offload>) -> io::Result<()> {
        let mut queue = lock(&self.outgoing);
        if queue.packets.len() >= MOST_PACKETS {
            return Err(io::ErrorKind::StorageFull.into());
        }
        queue.packets.push_back(octets.to_vec());
        let reader = queue.reader.take();
        drop(queue);
        if let Some(reader) = reader {
            reader.wake();
        }
        Ok(())
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<Received> {
        let mut queue = lock(&self.incoming);
        let Some(packet) = queue.packets.pop_front() else {
            let why = match queue.closed {
                true => io::ErrorKind::UnexpectedEof,
                false => io::ErrorKind::WouldBlock,
            };
            return Err(why.into());
        };
        let end = packet.len().min(buffer.len());
        buffer[..end].copy_from_slice(&packet[..end]);
        Ok(Received {
            start: 0,
            end,
            verified: false,
        })
    }

    fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut queue = lock(&self.incoming);
        if !queue.packets.is_empty() || queue.closed {
            return Poll::Ready(Ok(()));
        }
        queue.reader = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let mut queue = lock(&self.outgoing);
        queue.closed = true;
        if let Some(reader) = queue.reader.take() {
            reader.wake();
        }
    }
}

/// Locks the queue. The queue is valid after every step, even if another thread panicked.
fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}
