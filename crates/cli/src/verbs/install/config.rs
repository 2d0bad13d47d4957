//! The file of policies: TOML, a table for each.
//!
//! ```toml
//! [[policy]]
//! unit = "myapp.service"
//! do = "flush-on-block"     # or "nodelay"
//! only = ["8080"]
//!
//! [[policy]]
//! port = 5432               # or unit, or cgroup
//! do = "cure"
//! watch = "1h"
//! ```

use std::fs;
use std::path::Path;

use serde::Deserialize;
use tinygram_coalesce::Only;

use super::policy::{self, Installed};
use crate::values::span;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    policy: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    unit: Option<String>,
    port: Option<u16>,
    cgroup: Option<String>,
    #[serde(rename = "do")]
    what: String,
    #[serde(default)]
    only: Vec<String>,
    watch: Option<String>,
}

/// Returns the policies of a file.
///
/// # Errors
///
/// Says in one line what is wrong and what is accepted.
pub(super) fn read(file: &Path) -> Result<Vec<Installed>, String> {
    let shown = file.display();
    let text = fs::read_to_string(file).map_err(|error| format!("--config {shown}: {error}"))?;
    let document: Document = toml::from_str(&text).map_err(|error| {
        let line = error
            .span()
            .map_or(1, |span| text[..span.start].lines().count().max(1));
        format!(
            "--config {shown}: line {line}: {}",
            error.message().replace('\n', " ")
        )
    })?;
    let rows = document.policy.into_iter().enumerate();
    rows.map(|(index, row)| {
        of(row).map_err(|why| format!("--config {shown}: policy {}: {why}", index + 1))
    })
    .collect()
}

fn of(row: Row) -> Result<Installed, String> {
    let names = [row.unit.is_some(), row.port.is_some(), row.cgroup.is_some()];
    if names.iter().filter(|is_given| **is_given).count() != 1 {
        return Err("accepted is one of unit, port and cgroup".to_owned());
    }
    if row.what != "cure" {
        let Some(unit) = row.unit else {
            return Err(format!(
                "do = {:?} loads a library into a service: accepted with unit; a port or a control group takes do = \"cure\"",
                row.what
            ));
        };
        if row.watch.is_some() {
            return Err("watch: accepted with do = \"cure\"".to_owned());
        }
        let only = row.only.iter().map(|text| {
            Only::parse(text)
                .ok_or_else(|| format!("only {text:?}: accepted: a port, an address or a network"))
        });
        return policy::run(&unit, &row.what, only.collect::<Result<_, _>>()?);
    }
    if !row.only.is_empty() {
        return Err("only: accepted with do = \"flush-on-block\" and \"nodelay\"".to_owned());
    }
    let target = row
        .unit
        .or(row.cgroup)
        .or(row.port.map(|port| port.to_string()))
        .unwrap_or_default();
    let watch = span(row.watch.as_deref().unwrap_or("1h"))?;
    policy::cure(&target, watch)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Result<Vec<Installed>, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        read(file.path())
    }

    #[test]
    fn policies_are_read() {
        let all = said(
            "[[policy]]\nunit = \"a\"\ndo = \"nodelay\"\nonly = [\"8080\"]\n[[policy]]\nport = 5432\ndo = \"cure\"\n",
        );
        let all = all.unwrap();
        assert!(
            matches!(&all[0], Installed::Run { unit, only, .. } if unit == "a.service" && only.len() == 1)
        );
        assert!(matches!(&all[1], Installed::Cure { target, .. } if target == "5432"));
        assert_eq!(said(""), Ok(Vec::new()));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (text, part) in [
            (
                "[[policy]]\ndo = \"cure\"\n",
                "one of unit, port and cgroup",
            ),
            (
                "[[policy]]\nport = 80\nunit = \"a\"\ndo = \"cure\"\n",
                "one of unit",
            ),
            (
                "[[policy]]\nport = 80\ndo = \"nodelay\"\n",
                "accepted with unit",
            ),
            ("[[policy]]\nunit = \"a/b\"\ndo = \"nodelay\"\n", "policy 1"),
            (
                "[[policy]]\nport = 80\ndo = \"cure\"\nwatch = \"5s\"\n",
                "1m to 24h",
            ),
            ("\n\nport == 80\n", "line 3"),
            ("[[policy]]\nport = 80\ndo = \"cure\"\nfoo = 1\n", "foo"),
        ] {
            let why = said(text).expect_err(text);
            assert!(why.contains(part) && why.lines().count() == 1, "{why}");
        }
    }
}
