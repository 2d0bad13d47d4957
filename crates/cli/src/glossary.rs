//! The meaning of the terms in tables and pages.

use std::collections::BTreeSet;

use tinygram_engine::sender::send_policy::Registered;
use tinygram_stalls::Kind;

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

/// The words of `watch` and `ps` that were explained already.
#[derive(Default)]
pub(crate) struct Glosses {
    said: BTreeSet<&'static str>,
}

impl Glosses {
    /// Returns a line for each of the words in `text` that was not explained before.
    pub(crate) fn new_in(&mut self, text: &str) -> Vec<String> {
        let kinds = Kind::ALL.map(|kind| (kind.name(), kind.meaning()));
        let new = kinds
            .into_iter()
            .chain(LIVE_WORDS)
            .filter(|(word, _)| text.contains(word) && self.said.insert(*word));
        new.map(|(word, meaning)| format!("{word}: {meaning}"))
            .collect()
    }
}

/// The words of `watch` and `ps`, as they are shown; the kinds of stalls, by their names in JSON, have theirs from the law.
const LIVE_WORDS: [(&str, &str); 7] = [
    (
        "sampled",
        "found by looking now and then: what was sent before the first look is not in the figures",
    ),
    (
        "late ACK here",
        "this host acknowledged late (a delayed ACK, mostly 40 ms), and the other end waited for that",
    ),
    (
        "delayed ACK",
        "the receiver waits, mostly 40 ms, for data to send the acknowledgment with",
    ),
    (
        "autocorking",
        "the kernel waits for more because an earlier segment is still in this host's own queue",
    ),
    (
        "loss probe",
        "the kernel sends the tail once more, or at last, because no acknowledgment came",
    ),
    (
        "pingpong",
        "acknowledgments wait for data to go with (delayed ACKs)",
    ),
    (
        "NAGLE",
        "on: a short segment waits while one is unacknowledged",
    ),
];

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

#[cfg(test)]
mod tests {
    use tinygram_diagnose::Kind;

    use super::*;

    #[test]
    fn a_word_is_explained_once_and_every_kind_has_a_gloss() {
        let mut glosses = Glosses::default();
        let line = "200 bytes held, until the client's delayed ACK (write-write-read)";
        assert_eq!(glosses.new_in(line).len(), 2);
        assert_eq!(glosses.new_in(line).len(), 0);
        for kind in Kind::ALL {
            assert_eq!(
                Glosses::default().new_in(kind.name()).len(),
                1,
                "{}",
                kind.name()
            );
        }
        for (word, meaning) in LIVE_WORDS {
            let other = LIVE_WORDS.iter().filter(|(other, _)| word.contains(other));
            assert_eq!(other.count(), 1, "{word} contains another word");
            assert!(meaning.chars().count() <= 105, "{word}");
        }
    }
}
