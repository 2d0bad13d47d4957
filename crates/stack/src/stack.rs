//! A stack on a device.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tinygram_tcp::{Core, Counters, USUAL_MEMORY, check_address};

use crate::alarm::Alarm;
use crate::device::Device;
use crate::driver::Driver;
use crate::shared::Shared;

/// A handle to a stack. All clones refer to the same stack, which lives as long as any of them, any
/// stream or any listener.
#[derive(Clone)]
pub struct Stack {
    pub(crate) shared: Arc<Shared>,
}

/// The settings of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackSettings {
    /// How long the driver polls for packets when there are none, before it sleeps until the device
    /// notifies it (zero: not at all). It polls only if the last gap between packets was shorter
    /// than four times this, and tasks that can run go first. If the process has only one
    /// processor, the task that will answer needs it: then the driver yields it once
    /// (`sched_yield`) and polls once, at most sixteen times after a packet with PSH, and pauses
    /// for a hundred times if the others kept it for long. Polling saves the time of being woken
    /// and costs processor time.
    pub busy_poll: Duration,
    /// The most octets that the buffers of all connections take (at least 1 MiB). When three
    /// quarters are used, data beyond holes is given up; if that does not suffice, windows close and
    /// writers wait until less is used. See [`Core::set_memory`].
    pub memory: usize,
}

impl Default for StackSettings {
    /// Returns the value that Linux's documentation recommends for `net.core.busy_poll`, and 256 MiB.
    fn default() -> Self {
        Self {
            busy_poll: Duration::from_micros(50),
            memory: USUAL_MEMORY,
        }
    }
}

impl Stack {
    /// Returns a stack with these addresses on `device`. Its driver runs as a task of the tokio
    /// runtime on which this is called.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidInput`] if one of the addresses cannot be a host's on a wire (see
    /// [`Unfit`](tinygram_tcp::Unfit)). If the system has no random numbers, or no descriptor for a
    /// timer.
    pub fn new(device: impl Device, addresses: &[IpAddr]) -> io::Result<Self> {
        Self::with_settings(device, addresses, &StackSettings::default())
    }

    /// Returns a stack with the given settings.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidInput`] if one of the addresses cannot be a host's on a wire (see
    /// [`Unfit`](tinygram_tcp::Unfit)). If the system has no random numbers, or no descriptor for a
    /// timer.
    pub fn with_settings(
        device: impl Device,
        addresses: &[IpAddr],
        settings: &StackSettings,
    ) -> io::Result<Self> {
        let (stack, driver) = Self::with_driver(device, addresses, settings)?;
        tokio::spawn(driver);
        Ok(stack)
    }

    /// Returns a stack and its driver, which the caller runs, for example on a separate runtime.
    /// That runtime needs its IO driver. Packets arrive and timers run only while the driver is polled. The driver ends when the
    /// device or the last handle is gone.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidInput`] if one of the addresses cannot be a host's on a wire (see
    /// [`Unfit`](tinygram_tcp::Unfit)). If the system has no random numbers, or no descriptor for a
    /// timer.
    pub fn with_driver(
        device: impl Device,
        addresses: &[IpAddr],
        settings: &StackSettings,
    ) -> io::Result<(Self, Driver)> {
        addresses
            .iter()
            .try_for_each(|address| check_address(*address))?;
        let abilities = device.abilities();
        let mut core = Core::new(abilities, addresses).map_err(io::Error::other)?;
        core.set_memory(settings.memory);
        let shared = Arc::new(Shared::new(Box::new(device), core));
        let driver = Driver::new(
            Arc::downgrade(&shared),
            Alarm::new()?,
            abilities,
            settings.busy_poll,
        );
        Ok((Self { shared }, driver))
    }

    /// Returns the counters since the stack began.
    #[must_use]
    pub fn counters(&self) -> Counters {
        *self.shared.lock().core.counters()
    }

    /// Returns the number of connections in every state, TIME-WAIT included.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.lock().core.connections()
    }

    /// Returns the octets of memory that all connections' buffers take.
    #[must_use]
    pub fn allocated(&self) -> usize {
        self.shared.lock().core.allocated()
    }

    /// Returns the octets that these take with what is kept for their next use: at most
    /// [`StackSettings::memory`].
    #[must_use]
    pub fn resident(&self) -> usize {
        self.shared.lock().core.resident()
    }

    /// Returns whether memory is scarce, so that windows close and writers wait.
    #[must_use]
    pub fn is_memory_scarce(&self) -> bool {
        self.shared.lock().core.is_memory_scarce()
    }

    /// Returns the stack's addresses.
    #[must_use]
    pub fn addresses(&self) -> Vec<IpAddr> {
        self.shared.lock().core.addresses().to_vec()
    }
}
