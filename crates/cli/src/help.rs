//! `--help`: lists the verbs in groups, by purpose.

use std::fmt::Write;

use clap::Command;

/// The groups and their verbs.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "Find stalls and floods",
        &["diagnose", "watch", "ps", "guard"],
    ),
    ("Cure them", &["cure", "whatif", "set", "run", "install"]),
    (
        "Study policies",
        &[
            "naglemark",
            "reproduce",
            "deadlock",
            "prevalence",
            "bpf",
            "policies",
        ],
    ),
    (
        "Tools",
        &["page", "mcp", "link", "completions", "man", "help"],
    ),
];

/// Returns the names of all verbs.
pub(crate) fn verbs() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().flat_map(|(_, verbs)| *verbs).copied()
}

/// Returns the program with its verbs listed in groups. Those that this system lacks are marked.
pub(crate) fn grouped(program: Command, lacking: &[&str]) -> Command {
    let verbs = listed(program.clone(), lacking);
    program.help_template(format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{verbs}\
         {{options}}{{after-help}}"
    ))
}

fn listed(mut program: Command, lacking: &[&str]) -> String {
    program.build();
    let header = *program.get_styles().get_header();
    let name = *program.get_styles().get_literal();
    let widest = verbs().map(str::len).max().unwrap_or(0);
    let mut text = String::new();
    for (title, verbs) in GROUPS {
        let _ = writeln!(text, "{header}{title}:{header:#}");
        for verb in verbs.iter().filter_map(|it| program.find_subcommand(it)) {
            let about = verb.get_about().map(ToString::to_string);
            let mark = match lacking.contains(&verb.get_name()) {
                true => " (needs Linux)",
                false => "",
            };
            let _ = writeln!(
                text,
                "  {name}{:widest$}{name:#}  {}{mark}",
                verb.get_name(),
                about.unwrap_or_default()
            );
        }
        text.push('\n');
    }
    let _ = writeln!(text, "{header}Options:{header:#}");
    text
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_verb_stands_in_one_group() {
        let mut program = crate::Cli::command();
        program.build();
        let mut verbs: Vec<_> = program.get_subcommands().map(Command::get_name).collect();
        let mut listed: Vec<_> = super::verbs().collect();
        verbs.sort_unstable();
        listed.sort_unstable();
        assert_eq!(verbs, listed);
    }
}
