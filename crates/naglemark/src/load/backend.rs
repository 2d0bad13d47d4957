//! Backends that serve requests under load.

use super::trial::{LoadTaken, LoadTrial};
use crate::backend::{Conditions, Error};

/// A TCP that can be put under load: clients, a server, and what joins them.
///
/// A backend opens [`Programs::connections`](super::Programs::connections) connections, has the clients send the
/// requests of the trial when they are due and the server answer them, and notes for each how long it took from the
/// time when it was due to its answer's last octet. It counts what both ends did in the measured time.
pub trait LoadBackend: Sync {
    /// Returns the conditions under which it is measured. They do not change from one trial to the next.
    fn conditions(&self) -> Conditions;

    /// Runs a trial.
    ///
    /// # Errors
    ///
    /// [`Error::Policy`] if it does not know the trial's policy, [`Error::Failed`] if a connection failed.
    fn serve(&self, trial: &LoadTrial) -> Result<LoadTaken, Error>;

    /// Returns whether its time is virtual: then its outcome depends on the trial alone, and trials run on all threads
    /// at once. The default, false, means real time: then nothing else runs beside a trial.
    fn is_virtual(&self) -> bool {
        false
    }
}
