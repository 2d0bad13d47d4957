//! Which exit codes each verb has: for its help, and its manual page.

use std::fmt::Write;

use clap::Command;

/// Exit codes with what they mean. What is longer than a line of a terminal has several.
type Exits = &'static [(&'static str, &'static str)];

/// Returns the exit codes of a verb, or of the program as a whole.
pub(crate) fn of(verb: &str) -> Exits {
    match verb {
        "diagnose" => DIAGNOSE,
        "watch" => &[
            ("0", "done, whether or not something stalled"),
            ("1", "no connection of a TARGET was written to"),
            (
                "2",
                "unusable arguments, no way to look, or --otlp lost something",
            ),
        ],
        "ps" => &[DONE, ("1", "TARGET has no connection"), UNUSABLE],
        "set" => &[
            DONE,
            ("1", "TARGET has no socket, or there is nothing to undo"),
            (
                "2",
                "unusable arguments, no rights, or a part could not be set",
            ),
            ("3", "what is in force may not be read (--list)"),
        ],
        "cure" => &[
            (
                "0",
                "a remedy was kept, or nothing stalls; with --dry-run: done",
            ),
            ("1", "no remedy was kept, or TARGET has no connection"),
            ("2", "unusable arguments, or no rights"),
            (
                "3",
                "it cannot be told, because too little was sent meanwhile",
            ),
        ],
        "whatif" => &[
            DONE,
            ("1", "no connection was seen"),
            ("2", "unusable input or arguments, or no rights"),
            (
                "3",
                "it cannot be told: too few turns, or their replay differs",
            ),
        ],
        "install" => &[
            DONE,
            ("1", "there is nothing to remove"),
            (
                "2",
                "unusable arguments, no rights, or a file that was changed stays",
            ),
        ],
        "reproduce" => &[
            ("0", "everything matches that should"),
            ("1", "a result that should match does not"),
            UNUSABLE,
            INTERRUPTED,
        ],
        "guard" => GUARD,
        "run" | "link" | "bpf" => &[UNUSABLE, ("else", "the COMMAND's, if there is one")],
        "naglemark" | "prevalence" | "deadlock" => &[DONE, UNUSABLE, INTERRUPTED],
        _ => &[DONE, UNUSABLE],
    }
}

const DIAGNOSE: Exits = &[
    ("0", "done, whether or not something stalled"),
    ("1", "a condition of --fail-on holds"),
    (
        "2",
        "unusable input or arguments; or a capture, or the end of one that is\ncut off, \
         could not be read: it is named, and the rest is done",
    ),
    (
        "3",
        "of some capture it cannot be told whether it has stalls",
    ),
    INTERRUPTED,
];

const GUARD: Exits = &[
    (
        "0",
        "the COMMAND ended with 0, and no connection of it stalled",
    ),
    ("1", "there were stalls that are not accepted"),
    UNUSABLE,
    (
        "3",
        "nobody could look, or fewer connections than --min-connections",
    ),
    ("else", "the COMMAND's, if that is not 0"),
];

/// Returns the program with the exit codes at the end of each verb's long help.
pub(crate) fn told(mut program: Command) -> Command {
    let header = *program.get_styles().get_header();
    let verbs = program.get_subcommands().map(Command::get_name);
    let verbs: Vec<_> = verbs.map(str::to_owned).collect();
    for name in verbs {
        program = program.mut_subcommand(&name, |verb| {
            let examples = verb.get_after_help().map(|it| format!("{}\n\n", it.ansi()));
            let mut text = examples.unwrap_or_default();
            let _ = write!(text, "{header}Exit status:{header:#}");
            for (code, meaning) in of(&name) {
                let _ = write!(
                    text,
                    "\n  {code:<4}  {}",
                    meaning.replace('\n', "\n        ")
                );
            }
            verb.after_long_help(text)
        });
    }
    program
}

/// Returns the section of a manual page.
pub(crate) fn section(verb: &str) -> String {
    let mut text = ".SH \"EXIT STATUS\"\n".to_owned();
    for (code, meaning) in of(verb) {
        let meaning = meaning.replace('\n', " ").replace('-', "\\-");
        let _ = writeln!(text, ".TP\n\\fB{code}\\fR\n{meaning}");
    }
    text
}

const DONE: (&str, &str) = ("0", "done");
const UNUSABLE: (&str, &str) = (
    "2",
    "unusable input or arguments, or a result could not be written",
);
const INTERRUPTED: (&str, &str) = ("130", "interrupted; no file was left half-written");

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// A terminal of 80 columns shows each in its line.
    #[test]
    fn each_verb_says_its_exit_codes_in_its_help_and_on_its_page() {
        let mut program = told(crate::Cli::command());
        program.build();
        for verb in crate::help::verbs().filter(|it| *it != "help") {
            let mut command = program.find_subcommand(verb).expect("a verb").clone();
            let help = command.render_long_help().to_string();
            let (_, said) = help.split_once("\nExit status:\n").expect(verb);
            assert!(said.lines().all(|line| line.len() <= 80), "{verb}: {said}");
            for (code, _) in of(verb) {
                assert!(
                    said.lines().any(|line| line.trim_start().starts_with(code)),
                    "{verb}"
                );
                assert!(
                    section(verb).contains(&format!("\\fB{code}\\fR\n")),
                    "{verb}"
                );
            }
        }
    }
}
