//! `#ifdef` in scripts, which FreeBSD's suite uses and packetdrill does not know.

/// Returns the script without the parts whose `#ifdef NAME` or `#ifndef NAME` does not hold for the
/// names that are `defined`. A line that is left out becomes empty, so that packetdrill's messages
/// name the script's own lines.
///
/// # Errors
///
/// The line, counted from 1, of an `#else` or `#endif` without a beginning or of a beginning without
/// an end.
pub(crate) fn resolved(script: &str, defined: &[String]) -> Result<String, Unbalanced> {
    let holds = |name: &str| defined.iter().any(|one| one == name);
    // Each open condition: its line, and whether it holds.
    let mut open: Vec<(usize, bool)> = Vec::new();
    let mut text = String::with_capacity(script.len());
    for (number, line) in (1..).zip(script.lines()) {
        let mut words = line.split_whitespace();
        let directive = words.next().filter(|first| first.starts_with('#'));
        match directive {
            Some("#ifdef") => open.push((number, words.next().is_some_and(holds))),
            Some("#ifndef") => open.push((number, !words.next().is_some_and(holds))),
            Some("#else") => {
                let innermost = open.last_mut().ok_or(Unbalanced(number))?;
                innermost.1 = !innermost.1;
            }
            Some("#endif") => {
                open.pop().ok_or(Unbalanced(number))?;
            }
            _ if open.iter().all(|&(_, holds)| holds) => text.push_str(line),
            _ => {}
        }
        text.push('\n');
    }
    match open.last() {
        Some(&(number, _)) => Err(Unbalanced(number)),
        None => Ok(text),
    }
}

/// The line of a directive that has no counterpart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {0}: #ifdef, #else and #endif do not match")]
pub(crate) struct Unbalanced(usize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_defined_is_left_out_and_lines_keep_their_numbers() {
        let script =
            "a\n#ifdef STANDARD\nb\n#else\nc\n#ifdef X\nd\n#endif\n#endif\n#ifndef X\ne\n#endif\n";
        let of = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
            resolved(script, &names).unwrap()
        };
        assert_eq!(of(&["STANDARD"]), "a\n\nb\n\n\n\n\n\n\n\ne\n\n");
        assert_eq!(of(&["X"]), "a\n\n\n\nc\n\nd\n\n\n\n\n\n");
        assert_eq!(of(&["STANDARD", "X"]), "a\n\nb\n\n\n\n\n\n\n\n\n\n");
    }

    #[test]
    fn what_does_not_match_is_told_with_its_line() {
        assert_eq!(resolved("a\n#endif\n", &[]), Err(Unbalanced(2)));
        assert_eq!(resolved("#else\n", &[]), Err(Unbalanced(1)));
        assert_eq!(resolved("a\n\n#ifdef X\n", &[]), Err(Unbalanced(3)));
    }
}
