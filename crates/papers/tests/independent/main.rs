//! Compares our scores with those of an independent simulation of Mogul & Minshall's rules, for
//! parameters that are in no paper.

mod scores;
mod table;

use std::path::Path;

use table::{Comparison, Races};

#[test]
fn at_most_one_score_in_a_hundred_is_far_from_the_independent_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(scores::USUAL);
    if !path.exists() {
        println!("skipped: no {}", scores::USUAL);
        return;
    }
    let sets = scores::read(&path).expect("a file of scores");
    let comparison = Comparison::of(&sets, Races::OfFar);
    println!("{}", comparison.text(false));
    let (counted, far) = comparison.counted();
    assert!(100 * far <= counted, "{}", comparison.text(false));
}
