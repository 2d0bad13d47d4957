//! An ACK policy that a user of the library defines.

use super::{AckMoment, AckVerdict, AckView, Arrival, Rule};
use crate::registry::custom;

custom! {
    /// An ACK policy that a user of the library defines. Every connection has its own copy, memory
    /// included.
    ///
    /// ```
    /// use tinygram_engine::receiver::ack_policy::{
    ///     AckMoment, AckPolicy, AckVerdict, AckView, Arrival, Rule,
    /// };
    ///
    /// /// Acknowledges every so many segments.
    /// #[derive(Clone, Debug)]
    /// struct EveryNth {
    ///     n: u32,
    ///     waiting: u32,
    /// }
    ///
    /// impl Rule for EveryNth {
    ///     fn on_arrival(&mut self, _: &Arrival, _: &AckView) -> AckVerdict {
    ///         self.waiting += 1;
    ///         match self.waiting >= self.n {
    ///             true => AckVerdict::Now,
    ///             false => AckVerdict::Delay,
    ///         }
    ///     }
    ///
    ///     fn observe(&mut self, moment: AckMoment, _: &AckView) {
    ///         if let AckMoment::AckSent { .. } = moment {
    ///             self.waiting = 0;
    ///         }
    ///     }
    /// }
    ///
    /// let policy = AckPolicy::custom(EveryNth { n: 8, waiting: 0 });
    /// assert_eq!(policy.to_string(), "custom");
    /// ```
    Rule
}

impl Rule for Custom {
    fn name(&self) -> &str {
        self.own_name()
    }

    fn on_arrival(&mut self, arrival: &Arrival, view: &AckView) -> AckVerdict {
        self.0.on_arrival(arrival, view)
    }

    fn on_read(&mut self, view: &AckView) -> AckVerdict {
        self.0.on_read(view)
    }

    fn on_fin(&mut self, arrival: &Arrival, view: &AckView) -> AckVerdict {
        self.0.on_fin(arrival, view)
    }

    fn observe(&mut self, moment: AckMoment, view: &AckView) {
        self.0.observe(moment, view);
    }
}
