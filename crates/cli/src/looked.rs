//! How much was looked at, in words.

use tinygram_report::units::counted;
use tinygram_watch::seen::Seen;

/// Returns how much was seen, in words.
pub(crate) fn in_words(seen: Seen) -> String {
    let writes = seen.writes.map_or_else(String::new, |writes| {
        format!("{}, ", counted(writes, "write"))
    });
    format!(
        "{}, {writes}{}",
        counted(seen.connections, "connection"),
        counted(seen.segments, "segment")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_is_counted_in_words() {
        let seen = Seen {
            connections: 1,
            writes: Some(20),
            segments: 1,
            timed: 0,
        };
        assert_eq!(in_words(seen), "1 connection, 20 writes, 1 segment");
        let packets = Seen {
            writes: None,
            ..seen
        };
        assert_eq!(in_words(packets), "1 connection, 1 segment");
    }
}
