//! The meaning of the terms in tables and pages.

use tinygram_engine::sender::send_policy::Registered;

/// Returns the terms that every table about policies uses, then these variants with their
/// summaries.
pub(crate) fn of<'a>(variants: impl IntoIterator<Item = &'a str>) -> Vec<(String, String)> {
    let words = WORDS.map(|(word, meaning)| (word.to_owned(), meaning.to_owned()));
    let variants = variants.into_iter().filter_map(|variant| {
        let policy = Registered::named(variant)?;
        Some((variant.to_owned(), policy.summary.to_owned()))
    });
    words.into_iter().chain(variants).collect()
}

/// The terms of the tables and of the policies' summaries.
const WORDS: [(&str, &str); 5] = [
    (
        "score",
        "how many of a hundred transfers were delayed; 0 is best",
    ),
    (
        "delayed",
        "a transfer that took longer than the cutoff, a multiple of what its length needs: a long message may wait \
         200 ms once and stay below it",
    ),
    ("runt", "a segment shorter than the maximum segment size"),
    (
        "OF+SFS",
        "an odd number of full segments, then a short final one: the length at which the receiver's delayed \
         acknowledgment and the sender's hold wait for each other",
    ),
    (
        "EOM",
        "the end of a message: where a write of the application ends",
    ),
];
