//! A copy rule that a user of the library defines.

use core::fmt;

use super::{CopyView, Rule, Step};

/// A copy rule that a user of the library defines. It has no memory, so all connections share it.
///
/// ```
/// use tinygram_engine::socket::copy_rule::{CopyRule, CopyView, Rule, Step};
///
/// /// Copies pages, and a part of one only where the write ends.
/// #[derive(Debug)]
/// struct Pages {
///     octets: u64,
/// }
///
/// impl Rule for Pages {
///     fn step(&self, view: &CopyView) -> Step {
///         let piece = view.remaining.min(self.octets);
///         match piece <= view.space() {
///             true => Step::Copy(piece),
///             false => Step::Sleep,
///         }
///     }
/// }
///
/// static PAGES: Pages = Pages { octets: 4096 };
/// let rule = CopyRule::custom(&PAGES);
/// # let _ = rule;
/// ```
#[derive(Clone, Copy)]
pub struct Custom(&'static dyn Installed);

impl Custom {
    /// Wraps `rule`, which may be a `static` or leaked from a box.
    pub const fn new<T: Rule + fmt::Debug + Sync>(rule: &'static T) -> Self {
        Self(rule)
    }
}

impl Rule for Custom {
    fn step(&self, view: &CopyView) -> Step {
        let step = self.0.step(view);
        if let Step::Copy(octets) = step {
            let remaining = view.remaining;
            assert!(
                (1..=remaining).contains(&octets),
                "{:?} copies {octets} of {remaining} octets",
                self.0
            );
        }
        step
    }

    fn wakes(&self, space: u64, capacity: u64) -> bool {
        self.0.wakes(space, capacity)
    }
}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialEq for Custom {
    /// Returns whether both are the same object.
    fn eq(&self, other: &Self) -> bool {
        core::ptr::addr_eq(self.0, other.0)
    }
}

impl Eq for Custom {}

/// What such a rule must implement besides.
trait Installed: Rule + fmt::Debug + Sync {}

impl<T: Rule + fmt::Debug + Sync> Installed for T {}
