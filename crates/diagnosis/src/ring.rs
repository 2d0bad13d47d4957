//! The files of a ring buffer: `dump_00001_20240101120000.pcap`, `dump_00002_...` and so on, as
//! dumpcap and tcpdump number them. Connections continue from one file to the next, so the files
//! are one stream.

use std::path::Path;

/// Returns the inputs, with those of one ring buffer grouped. `name` returns an input's name; an
/// input without a name stands alone.
pub fn streams<'a, T, N: AsRef<str> + 'a>(
    inputs: &'a [T],
    name: impl Fn(&'a T) -> N,
) -> Vec<&'a [T]> {
    let mut streams = Vec::new();
    let mut first = 0;
    for at in 1..=inputs.len() {
        let goes_on = inputs
            .get(at)
            .is_some_and(|next| follows(name(&inputs[at - 1]).as_ref(), name(next).as_ref()));
        if !goes_on {
            streams.push(&inputs[first..at]);
            first = at;
        }
    }
    streams
}

/// Returns whether `next` is the same name with the next number.
fn follows(one: &str, next: &str) -> bool {
    let (one, next) = (Path::new(one), Path::new(next));
    let name = |path: &Path| Some(path.file_name()?.to_str()?.to_owned());
    let (Some(a), Some(b)) = (name(one), name(next)) else {
        return false;
    };
    one.parent() == next.parent()
        && matches!((numbered(&a), numbered(&b)), (Some((x, m)), Some((y, n))) if x == y && n == m + 1)
}

/// Returns the text before the number, and the number: at least five digits after an underscore
/// (dumpcap), or digits at the very end (tcpdump -C).
fn numbered(name: &str) -> Option<(&str, u64)> {
    let stem = name.split_once(".pcap").map_or(name, |(stem, _)| stem);
    for (at, _) in stem.match_indices('_') {
        let digits: String = stem[at + 1..]
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        let ends = stem[at + 1 + digits.len()..].chars().next();
        if digits.len() >= 5 && digits.len() < 10 && matches!(ends, None | Some('_')) {
            return Some((&stem[..=at], digits.parse().ok()?));
        }
    }
    let end = name.trim_end_matches(|c: char| c.is_ascii_digit());
    match end.ends_with(".pcap") || end.ends_with(".cap") {
        true => Some((end, name[end.len()..].parse().unwrap_or(0))),
        false => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(names: &[&'static str]) -> Vec<usize> {
        streams(names, |name| *name)
            .iter()
            .map(|s| s.len())
            .collect()
    }

    #[test]
    fn files_of_one_ring_are_one_stream() {
        let ring = [
            "d_00001_20240101.pcapng",
            "d_00002_20240102.pcapng",
            "d_00003_20240103.pcapng",
        ];
        assert_eq!(groups(&ring), [3]);
        assert_eq!(groups(&["x.pcap", "x.pcap1", "x.pcap2"]), [3]);
        assert_eq!(groups(&["a_00001.pcap", "b_00002.pcap"]), [1, 1]);
        assert_eq!(groups(&["a_00001.pcap", "a_00003.pcap"]), [1, 1]);
        assert_eq!(groups(&["a.pcap", "b.pcap"]), [1, 1]);
    }
}
