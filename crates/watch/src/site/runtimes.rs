//! What belongs to a language and not to the program: its library, linked into the program, and its interpreter.

use super::{StackFrame, Unresolved};

/// Returns whether a function, of this source file if it is known, belongs to a language's own library.
pub(super) fn is_runtime(name: &str, file: Option<&str>) -> bool {
    let plain = name.trim_start_matches(['<', '&', '*']);
    let of_c = name
        .trim_start_matches("__GI_")
        .trim_start_matches('_')
        .trim_start_matches("libc_");
    RUNTIMES.iter().any(|prefix| plain.starts_with(prefix))
        || C_WRITES.contains(&of_c)
        || file.is_some_and(|file| FILES.iter().any(|part| file.contains(part)))
        || is_nims(name)
}

/// Returns whether a name is of Nim's library. Nim's compiler names a function `send__pureZnet_651`: the function, the
/// module, a number. Its own modules are in folders of its library.
fn is_nims(name: &str) -> bool {
    name.split_once("__")
        .is_some_and(|(_, module)| NIM_FOLDERS.iter().any(|folder| module.starts_with(folder)))
}

/// Returns the interpreter that a file is, by the file's name.
pub(super) fn interpreter(file: &str) -> Option<Unresolved> {
    let (name, _) = file.split_once(".so").unwrap_or((file, ""));
    let known = INTERPRETERS.iter().find(|(_, names, _)| {
        let mut rests = names.iter().filter_map(|known| name.strip_prefix(known));
        // A version may follow, and no other word: `node-exporter` is no Node.
        rests.any(|rest| {
            rest.bytes()
                .all(|octet| octet.is_ascii_digit() || b".-".contains(&octet))
        })
    });
    known.map(|(language, _, help)| Unresolved {
        language,
        runtime: name.to_owned(),
        help,
    })
}

/// Returns the frame that stands for the program's own code in `unresolved`.
pub(super) fn frame(unresolved: &Unresolved) -> StackFrame {
    StackFrame {
        function: format!(
            "in {} code ({}), not resolved",
            unresolved.language, unresolved.runtime
        ),
        file: None,
        line: None,
        is_library: false,
    }
}

/// The C library's functions that write, without their underscores, as a static program has them.
const C_WRITES: [&str; 14] = [
    "write",
    "writev",
    "pwritev2",
    "send",
    "sendto",
    "sendmsg",
    "sendmmsg",
    "sendfile",
    "sendfile64",
    "splice",
    "syscall",
    "syscall_cancel",
    "fflush",
    "fwrite",
];

/// The prefixes of functions in language libraries (Rust's, Go's, C++'s, Crystal's), whose callers are of
/// interest.
const RUNTIMES: [&str; 33] = [
    "_start",
    "std::",
    "core::",
    "alloc::",
    "tokio::",
    "mio::",
    "socket2::",
    "rustls::",
    "hyper::",
    "futures",
    "syscall.",
    "runtime.",
    "runtime/",
    "internal/",
    "net.",
    "net/http.",
    "bufio.",
    "io.",
    "fmt.",
    "crypto/",
    "dyn core::",
    "dyn std::",
    "impl std::",
    "Socket#",
    "TCPSocket@",
    "TCPSocket#",
    "IO::",
    "Crystal::",
    "Fiber#",
    "HTTP::",
    "OpenSSL::",
    "__crystal_",
    "Crystal#",
];

/// Parts of the paths of source files of libraries: Crystal's, Nim's.
const FILES: [&str; 4] = ["/crystal/src/", "/share/crystal/", "/nim/lib/", "stdlib_"];

/// The folders of Nim's library, and modules without one, as they begin in names of functions.
const NIM_FOLDERS: [&str; 8] = [
    "pureZ",
    "systemZ",
    "stdZ",
    "coreZ",
    "posixZ",
    "implZ",
    "system_",
    "wrappersZ",
];

/// Interpreters and virtual machines: language, beginnings of the names of their files, and what helps.
const INTERPRETERS: [(&str, &[&str], &str); 13] = [
    (
        "Ruby",
        &["libruby", "ruby"],
        "`rbspy dump --pid PID` names the lines where it is",
    ),
    (
        "R",
        &["libR", "R"],
        "Rprof() in the program names its functions",
    ),
    (
        "PHP",
        &["libphp", "php", "php-fpm", "php-cgi"],
        "`phpspy -p PID` names the functions where it is",
    ),
    (
        "Lua",
        &["libluajit", "luajit", "liblua", "lua"],
        "debug.traceback() beside the program's write, or LuaJIT's profiler (-jp), names the function",
    ),
    (
        "Erlang",
        &["beam.smp", "beam"],
        "erlang:process_info(Pid, current_stacktrace) in its shell names the functions",
    ),
    (
        "Java",
        &["libjvm", "java"],
        "start it with -XX:+PreserveFramePointer, and once it is warm run `jcmd PID Compiler.perfmap` (JDK 17 and \
         newer): methods that were compiled by then are named, interpreted ones are not",
    ),
    (
        "JavaScript",
        &["node", "libnode"],
        "start it with `node --perf-basic-prof --interpreted-frames-native-stack`",
    ),
    (
        "Python",
        &["libpython", "python"],
        "the interpreter's own frames are read of Python 3.11 to 3.13, by root or with CAP_SYS_PTRACE",
    ),
    (
        "Perl",
        &["libperl", "perl"],
        "Carp's longmess() beside the program's write names the line",
    ),
    (
        "Guile",
        &["libguile", "guile"],
        "(display-backtrace ...) beside the program's write names the line",
    ),
    (
        "Tcl",
        &["libtcl", "tclsh"],
        "[info frame] beside the program's write names the line",
    ),
    ("shell", &["bash", "dash"], "`bash -x` shows the commands"),
    ("awk", &["gawk", "mawk"], "`gawk --debug` stops at a line"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interpreter_is_known_by_its_files_name() {
        let shown = |file: &str| interpreter(file).map(|known| frame(&known).function);
        let ruby = "in Ruby code (libruby-3.1), not resolved";
        assert_eq!(shown("libruby-3.1.so.3.1.2").as_deref(), Some(ruby));
        for (file, language) in [
            ("ruby3.1", "Ruby"),
            ("libR.so", "R"),
            ("php8.2", "PHP"),
            ("libluajit-5.1.so.2.1.0", "Lua"),
            ("beam.smp", "Erlang"),
            ("libjvm.so", "Java"),
            ("node", "JavaScript"),
            ("python3.14", "Python"),
            ("perl", "Perl"),
        ] {
            assert_eq!(
                interpreter(file).map(|known| known.language),
                Some(language),
                "{file}"
            );
        }
        for other in [
            "node-exporter",
            "rubyserver",
            "Rserve",
            "nginx",
            "libc.so.6",
            "phpmyadmin",
        ] {
            assert!(interpreter(other).is_none(), "{other}");
        }
    }

    #[test]
    fn functions_of_a_languages_library_are_told_from_the_programs() {
        for name in [
            "__GI___libc_write",
            "std::io::Write::write_all",
            "*TCPSocket@Socket#unbuffered_write<Slice(UInt8)>:Nil",
            "send__pureZnet_651",
        ] {
            assert!(is_runtime(name, None), "{name}");
        }
        assert!(is_runtime(
            "*Foo#bar:Nil",
            Some("/usr/share/crystal/src/io.cr")
        ));
        for name in [
            "ask__asks_2",
            "*ask<TCPSocket>:Nil",
            "main.ask",
            "h",
            "my__send",
        ] {
            assert!(!is_runtime(name, None), "{name}");
        }
    }
}
