//! A stack on a device.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tinygram_tcp::{Core, Counters};

use crate::device::Device;
use crate::driver::Driver;
use crate::shared::Shared;

/// A handle to a stack. All clones are of the same one; it lives as long as any of them, any stream
/// or any listener does.
#[derive(Clone)]
pub struct Stack {
    pub(crate) shared: Arc<Shared>,
}

/// What can be chosen for a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackSettings {
    /// How long the driver goes on looking for packets when there are none, before it sleeps until
    /// the device calls (zero: not at all). It looks only where the last gap between packets was
    /// shorter than four times this; tasks that can run go first. Where the process has but one
    /// processor, whoever is to answer needs that: there the driver leaves it to the others once
    /// (`sched_yield`) and looks once, sixteen times at most after a packet with PSH, and pauses for a
    /// hundred times when they kept it for long. It saves the time of being woken, and costs the
    /// processor's.
    pub busy_poll: Duration,
}

impl Default for StackSettings {
    /// Linux's documentation recommends as much for `net.core.busy_poll`.
    fn default() -> Self {
        Self {
            busy_poll: Duration::from_micros(50),
        }
    }
}

impl Stack {
    /// Makes a stack with these addresses on `device`; its driver runs as a task of the tokio runtime on
    /// which this is called.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub fn new(device: impl Device, addresses: &[IpAddr]) -> io::Result<Self> {
        Self::with_settings(device, addresses, &StackSettings::default())
    }

    /// Makes a stack with settings other than the usual ones.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub fn with_settings(
        device: impl Device,
        addresses: &[IpAddr],
        settings: &StackSettings,
    ) -> io::Result<Self> {
        let (stack, driver) = Self::with_driver(device, addresses, settings)?;
        tokio::spawn(driver);
        Ok(stack)
    }

    /// Makes a stack whose driver the caller runs, for example on a runtime of its own. Nothing
    /// arrives and no timer runs but while it is polled; it ends when the device or the last handle
    /// is gone.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub fn with_driver(
        device: impl Device,
        addresses: &[IpAddr],
        settings: &StackSettings,
    ) -> io::Result<(Self, Driver)> {
        let abilities = device.abilities();
        let core = Core::new(abilities, addresses).map_err(io::Error::other)?;
        let shared = Arc::new(Shared::new(Box::new(device), core));
        let driver = Driver::new(Arc::downgrade(&shared), abilities, settings.busy_poll);
        Ok((Self { shared }, driver))
    }

    /// Returns what was counted since the stack began.
    #[must_use]
    pub fn counters(&self) -> Counters {
        *self.shared.lock().core.counters()
    }

    /// Connections in every state, TIME-WAIT included.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.lock().core.connections()
    }

    /// Returns the octets of memory that all connections' buffers take.
    #[must_use]
    pub fn allocated(&self) -> usize {
        self.shared.lock().core.allocated()
    }

    /// Returns the stack's addresses.
    #[must_use]
    pub fn addresses(&self) -> Vec<IpAddr> {
        self.shared.lock().core.addresses().to_vec()
    }
}
