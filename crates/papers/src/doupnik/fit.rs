//! The costs of a server's work: two unknowns, fitted to the two rates that Table 1 has for a pair
//! of hosts with Nagle off. All other rates of the pair follow from them; none of those is fitted.

use tinygram_engine::Duration;

use super::published::{File, Pair, Setting};
use super::web::{Costs, WebTest};

/// The upper bound of the cost of copying an octet, in picoseconds: more than any host of 1999
/// took.
const SLOWEST_COPY_PS: u64 = 1_000_000;
/// The number of times the range is halved; 15 ps per octet are left.
const HALVINGS: u32 = 16;

/// Returns the costs that give the pair its two rates with Nagle off. `off` returns that test for a
/// file.
pub(super) fn costs(pair: &Pair, off: &dyn Fn(File) -> WebTest) -> Costs {
    let target_ms = |file| {
        pair.rates(Setting::NagleOff, file)
            .map_or(0.0, |rates| 1000.0 / f64::from(rates.requests))
    };
    let ours_ms = |file, copy_ps_per_octet| {
        let costs = Costs {
            copy_ps_per_octet,
            ..Costs::NONE
        };
        WebTest { costs, ..off(file) }.run().mean_ms()
    };
    // Both times contain the cost of a request, so their difference depends on the copying alone.
    let target_difference = target_ms(File::Long) - target_ms(File::Short);
    let (mut low, mut high) = (0, SLOWEST_COPY_PS);
    for _ in 0..HALVINGS {
        let copy = u64::midpoint(low, high);
        if ours_ms(File::Long, copy) - ours_ms(File::Short, copy) < target_difference {
            low = copy;
        } else {
            high = copy;
        }
    }
    let request_ms = target_ms(File::Short) - ours_ms(File::Short, low);
    Costs {
        request: Duration::from_nanos((request_ms.max(0.0) * 1e6) as u64),
        copy_ps_per_octet: low,
    }
}
