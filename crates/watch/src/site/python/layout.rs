//! Where the structures of CPython have what is read, by minor version.

/// Offsets in octets in the structures of one minor version.
pub(super) struct Layout {
    /// `3.11`, as in `libpython3.11.so.1.0`.
    pub(super) minor: u32,
    pub(super) interpreters_head: u64,
    pub(super) threads_head: u64,
    pub(super) thread_next: u64,
    pub(super) thread_native_id: u64,
    pub(super) current: u16,
    pub(super) indirect: Option<u16>,
    pub(super) frame_code: u16,
    pub(super) frame_previous: u16,
    pub(super) frame_instruction: u16,
    pub(super) code_filename: u64,
    pub(super) code_qualname: u64,
    pub(super) code_first_line: u64,
    pub(super) code_line_table: u64,
    pub(super) code_instructions: u64,
    /// The length of a string object's header: for ASCII strings, and for others.
    pub(super) string_heads: [u64; 2],
}

pub(super) const LAYOUTS: [Layout; 3] = [
    Layout {
        minor: 11,
        interpreters_head: 40,
        threads_head: 16,
        thread_next: 8,
        thread_native_id: 160,
        current: 56,
        indirect: Some(8),
        frame_code: 32,
        frame_previous: 48,
        frame_instruction: 56,
        code_filename: 112,
        code_qualname: 128,
        code_first_line: 72,
        code_line_table: 136,
        code_instructions: 184,
        string_heads: [48, 72],
    },
    Layout {
        minor: 12,
        interpreters_head: 40,
        threads_head: 72,
        thread_next: 8,
        thread_native_id: 144,
        current: 56,
        indirect: Some(0),
        frame_code: 0,
        frame_previous: 8,
        frame_instruction: 56,
        code_filename: 112,
        code_qualname: 128,
        code_first_line: 68,
        code_line_table: 136,
        code_instructions: 192,
        string_heads: [40, 56],
    },
    Layout {
        minor: 13,
        interpreters_head: 632,
        threads_head: 7344,
        thread_next: 8,
        thread_native_id: 160,
        current: 72,
        indirect: None,
        frame_code: 0,
        frame_previous: 8,
        frame_instruction: 56,
        code_filename: 112,
        code_qualname: 128,
        code_first_line: 68,
        code_line_table: 136,
        code_instructions: 200,
        string_heads: [40, 56],
    },
];

/// Returns the layout of the version in a file's name: `python3.11`, `libpython3.11.so.1.0`.
pub(super) fn layout(name: &str) -> Option<&'static Layout> {
    let at = name.find("3.")?;
    let digits: String = name[at + 2..]
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    // The build without the interpreter lock (3.13t) has other offsets.
    if name[at + 2 + digits.len()..].starts_with('t') {
        return None;
    }
    let minor: u32 = digits.parse().ok()?;
    LAYOUTS.iter().find(|layout| layout.minor == minor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_known_by_the_files_name() {
        let minor = |name| layout(name).map(|layout| layout.minor);
        assert_eq!(minor("python3.11"), Some(11));
        assert_eq!(minor("libpython3.13.so.1.0"), Some(13));
        assert_eq!(minor("python3.13t"), None);
        assert_eq!(minor("python3.8"), None);
        assert_eq!(minor("python3"), None);
    }
}
