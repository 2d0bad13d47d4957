use super::layout::LAYOUTS;
use super::*;

#[test]
fn the_table_of_lines_is_read() {
    // def f(s):          # line 10
    //     s.send(b"a")   # line 11: three units on the line after, one without a line, two on the next
    let table = [
        0x80 | 11 << 3 | 2,
        4,
        9,              // one line further, with columns
        0x80 | 15 << 3, // no line
        0x80 | 13 << 3 | 1,
        0x02, // one line further, without columns
        0x80 | 14 << 3,
        0x03,
        0,
        0,
        0, // a line back
    ];
    let lines: Vec<u32> = (0..8).map(|unit| line_of(&table, 10, unit)).collect();
    assert_eq!(lines, [11, 11, 11, 11, 12, 12, 11, 11]);
}

#[test]
fn a_broken_table_ends() {
    for table in [&[0xff_u8; 9][..], &[0xf0, 0x7f, 0x7f], &[]] {
        assert!(line_of(table, 7, 1 << 40) < 1 << 30);
    }
}

/// A thread goes on while its frames are read, so each word may be anything: most of all a pointer to something else, and
/// the -1 of a hash that was not computed yet.
#[test]
fn memory_that_changed_meanwhile_ends_in_no_frame_or_a_wrong_one() {
    let mut seed = 7_u64;
    let mut drawn = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    let mut words = vec![0_u64; 2048];
    let pid = std::process::id();
    let at = |words: &[u64], index: u64| words.as_ptr() as u64 + 8 * index;
    for _ in 0..30 {
        for index in 0..words.len() {
            words[index] = match drawn(6) {
                0 => u64::MAX - drawn(64),
                1 => drawn(200),
                2 => u64::from_ne_bytes([drawn(256) as u8 | 0x60; 8]),
                _ => at(&words, drawn(1024)),
            };
        }
        for layout in &LAYOUTS {
            let interpreter = Interpreter {
                runtime: at(&words, drawn(512)),
                layout,
            };
            assert!(interpreter.threads(pid).len() <= MOST_THREADS);
            if let Some(code) = Code::read(pid, at(&words, drawn(1024)), layout) {
                code.contains(drawn(1 << 40));
                code.line_at(u64::MAX);
            }
        }
    }
    assert!(Code::read(pid, u64::MAX, &LAYOUTS[0]).is_none());
}

#[test]
fn what_python_brings_is_told_from_the_program() {
    assert!(is_library("/usr/lib/python3.11/socketserver.py"));
    assert!(is_library("/srv/venv/lib/python3.12/site-packages/x/y.py"));
    assert!(!is_library("/srv/app.py"));
    assert!(is_library("<frozen runpy>"));
    assert!(!is_library("<string>"));
}

/// A frame that called the one that wrote is no call site.
#[test]
fn what_is_left_of_a_stack_that_has_gone_on_names_the_program_or_nobody() {
    let frame = |function: &str, is_library| StackFrame {
        function: function.to_owned(),
        file: None,
        line: None,
        is_library,
    };
    let entry = [frame("Thread.run", true), frame("Thread._bootstrap", true)];
    assert!(of_the_program(entry.to_vec()).is_empty());
    let all = [vec![frame("answer", false)], entry.to_vec()].concat();
    assert_eq!(of_the_program(all.clone()), all);
}
