//! A send policy that a user of the library defines, with its own memory.

use core::fmt;

use super::{Moment, Offer, Rule, Vars, Verdict};
use crate::registry::custom;
use crate::time::Instant;

custom! {
    /// A send policy that a user of the library defines. Every connection has its own copy, memory
    /// included.
    ///
    /// ```
    /// use tinygram_engine::sender::send_policy::{
    ///     Because, Moment, Offer, Rule, SendPolicy, Vars, Verdict, Why,
    /// };
    ///
    /// /// Lets every second runt go at once.
    /// #[derive(Clone, Debug, Default)]
    /// struct EverySecondRunt {
    ///     let_the_next_go: bool,
    /// }
    ///
    /// impl Rule for EverySecondRunt {
    ///     fn name(&self) -> &str {
    ///         "every-second-runt"
    ///     }
    ///
    ///     fn reason(&self, _: u8) -> &str {
    ///         "the next one goes"
    ///     }
    ///
    ///     fn decide(&self, _: &Offer, vars: &Vars) -> Verdict {
    ///         if vars.idle() {
    ///             Verdict::Send(Because::Idle)
    ///         } else if self.let_the_next_go {
    ///             Verdict::Send(Because::NoDelay)
    ///         } else {
    ///             Verdict::hold(Why::Own(0))
    ///         }
    ///     }
    ///
    ///     fn observe(&mut self, moment: Moment, _: &Vars) {
    ///         if let Moment::Sent { short: true, .. } = moment {
    ///             self.let_the_next_go = !self.let_the_next_go;
    ///         }
    ///     }
    /// }
    ///
    /// let policy = SendPolicy::custom(EverySecondRunt::default());
    /// assert_eq!(policy.to_string(), "every-second-runt");
    /// ```
    Rule
}

/// Returns a rule that answers as `decide` does. It has no memory and reads only [`Vars`].
///
/// ```
/// use tinygram_engine::sender::send_policy::{Because, SendPolicy, Verdict, from_fn};
///
/// let policy = SendPolicy::custom(from_fn(|_, _| Verdict::Send(Because::NoDelay)));
/// assert_eq!(policy.to_string(), "custom");
/// ```
pub fn from_fn(
    decide: impl Fn(&Offer, &Vars) -> Verdict + Clone + Send + Sync + 'static,
) -> impl Rule + Clone + fmt::Debug + Send + Sync + 'static {
    Function(decide)
}

impl Rule for Custom {
    fn name(&self) -> &str {
        self.own_name()
    }

    fn reason(&self, number: u8) -> &str {
        self.0.reason(number)
    }

    #[inline]
    fn decide(&self, offer: &Offer, vars: &Vars) -> Verdict {
        self.0.decide(offer, vars)
    }

    #[inline]
    fn observe(&mut self, moment: Moment, vars: &Vars) {
        self.0.observe(moment, vars);
    }

    fn takes_window_cuts(&self) -> bool {
        self.0.takes_window_cuts()
    }

    fn heeds_blocking(&self) -> bool {
        self.0.heeds_blocking()
    }

    fn heeds_receiving(&self) -> bool {
        self.0.heeds_receiving()
    }

    fn heeds_peer(&self) -> bool {
        self.0.heeds_peer()
    }

    fn wants_report(&self, now: Instant, last: Option<Instant>) -> bool {
        self.0.wants_report(now, last)
    }

    fn includes_more(&self) -> bool {
        self.0.includes_more()
    }
}

/// A rule made of a function.
#[derive(Clone)]
struct Function<F>(F);

impl<F: Fn(&Offer, &Vars) -> Verdict> Rule for Function<F> {
    fn decide(&self, offer: &Offer, vars: &Vars) -> Verdict {
        (self.0)(offer, vars)
    }

    /// Returns true, because the function may look at anything.
    fn heeds_blocking(&self) -> bool {
        true
    }
}

impl<F> fmt::Debug for Function<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Function")
    }
}
