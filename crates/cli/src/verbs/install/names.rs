//! Names in systemd's files: checked or escaped, never pasted.

use std::fmt::Write;

/// Returns the name of a service as it may stand in a path (systemd.unit(5)); `.service` may be left out.
///
/// # Errors
///
/// Says in one line what is wrong and what is accepted.
pub(super) fn service(text: &str) -> Result<String, String> {
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || ":-_.\\@".contains(letter);
    let name = match text.strip_suffix(".service") {
        Some(_) => text.to_owned(),
        None => format!("{text}.service"),
    };
    let stem = name.strip_suffix(".service").unwrap_or_default();
    let is_good = !stem.is_empty()
        && !stem.starts_with(['.', '@'])
        && stem.matches('@').count() <= 1
        && name.len() <= MOST_NAME
        && name.chars().all(is_allowed);
    let has_other_type = [".socket", ".timer", ".target", ".slice", ".scope", ".mount"]
        .iter()
        .any(|kind| text.ends_with(kind));
    match is_good && !has_other_type {
        true => Ok(name),
        false => Err(format!(
            "{text:?}: accepted is the name of a service: letters, digits, and : - _ . \\ @, up to 255, as in nginx.service"
        )),
    }
}

/// Returns a text as `systemd-escape` writes it into a unit's name: `/` as `-`, everything unusual as `\xNN`.
pub(super) fn escaped(text: &str) -> String {
    let mut name = String::new();
    for (index, octet) in text.bytes().enumerate() {
        match octet {
            b'/' => name.push('-'),
            b'.' if index == 0 => name.push_str("\\x2e"),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b':' | b'_' | b'.' => {
                name.push(char::from(octet));
            }
            other => {
                let _ = write!(name, "\\x{other:02x}");
            }
        }
    }
    name
}

/// Returns the name of the service that cures a target; that of a unit keeps one `.service`.
pub(super) fn curing(target: &str) -> String {
    let target = target.strip_suffix(".service").unwrap_or(target);
    format!("tinygram-cure-{}.service", escaped(target))
}

/// Returns a word of a command line in a unit (systemd.service(5), "Command lines"): in quotes, without variables and
/// specifiers.
pub(super) fn word(text: &str) -> Result<String, String> {
    quoted(text).map(|text| text.replace('$', "$$"))
}

/// Returns a value in quotes, without specifiers (systemd.syntax(7), "Quoting"; systemd.unit(5), "Specifiers").
///
/// # Errors
///
/// Says in one line what is wrong and what is accepted.
pub(super) fn quoted(text: &str) -> Result<String, String> {
    if let Some(bad) = text.chars().find(|letter| letter.is_control()) {
        return Err(format!(
            "{text:?}: {bad:?} cannot stand in a unit; accepted are printable characters"
        ));
    }
    let text = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('%', "%%");
    Ok(format!("\"{text}\""))
}

/// Returns a text as it may stand in a description or a comment: one line, without specifiers.
pub(super) fn plain(text: &str) -> String {
    let shown = text
        .chars()
        .map(|letter| match letter.is_control() || letter == '\\' {
            true => '?',
            false => letter,
        });
    shown.collect::<String>().replace('%', "%%")
}

const MOST_NAME: usize = 255;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_services_name_is_checked() {
        assert_eq!(service("nginx"), Ok("nginx.service".into()));
        assert_eq!(service("my-app@1.service"), Ok("my-app@1.service".into()));
        assert_eq!(
            service("dev-sda\\x2d1.service"),
            Ok("dev-sda\\x2d1.service".into())
        );
        for bad in [
            "",
            ".service",
            "../../etc/passwd",
            "a b",
            "a\nb",
            "x;y",
            "ssh.socket",
            "@.service",
            "a/b",
            "a@b@c",
            &"x".repeat(256),
        ] {
            assert!(service(bad).is_err(), "{bad}");
        }
    }

    /// The examples are systemd-escape(1)'s.
    #[test]
    fn a_text_is_escaped_as_systemd_escape_does() {
        assert_eq!(
            escaped("Hallöchen, Meister"),
            "Hall\\xc3\\xb6chen\\x2c\\x20Meister"
        );
        assert_eq!(escaped("/system.slice/a-b"), "-system.slice-a\\x2db");
        assert_eq!(escaped(".hidden"), "\\x2ehidden");
        assert_eq!(escaped("8080"), "8080");
        assert_eq!(curing("shop.service"), "tinygram-cure-shop.service");
        assert_eq!(curing("8080"), "tinygram-cure-8080.service");
    }

    #[test]
    fn a_word_brings_no_variable_specifier_or_line() {
        assert_eq!(word("a b").as_deref(), Ok("\"a b\""));
        assert_eq!(
            word("$HOME %n \\ \"").as_deref(),
            Ok("\"$$HOME %%n \\\\ \\\"\"")
        );
        assert!(word("a\nExecStartPre=/bin/rm").is_err());
        assert_eq!(plain("a\nb%"), "a?b%%");
    }
}
