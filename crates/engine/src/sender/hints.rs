//! What the socket layer, the receiver and the device told.

use crate::queues::QueueCounters;

/// What the socket layer, the receiver and the device told, as policies see it ([`super::Vars`]).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hints {
    pub(super) more_to_come: bool,
    pub(super) nodelay: bool,
    pub(super) corked: bool,
    pub(super) reader_blocked: bool,
    pub(super) writer_blocked: bool,
    pub(super) writer_lacks_space: bool,
    pub(super) device_busy: bool,
    pub(super) received: u64,
    pub(super) read: u64,
    pub(super) own_counters: QueueCounters,
    pub(super) peer_counters: Option<QueueCounters>,
}
