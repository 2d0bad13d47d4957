//! Serialisable rows, as one JSON document or as CSV.

use serde::Serialize;

/// One versioned JSON document: its kind, every input parameter, and the results.
///
/// Fields are written in this order. `results` must serialise as a map or struct, whose fields are
/// written beside `schema` and `parameters`.
#[derive(Clone, Debug, Serialize)]
pub struct Document<P, R> {
    /// Name and version, such as `tinygram.naglemark/1`. The version grows when a field changes its
    /// meaning or is removed, not when one is added.
    pub schema: &'static str,
    /// Every input parameter, defaults included, so that the run can be repeated.
    pub parameters: P,
    /// The results, flattened into the document.
    #[serde(flatten)]
    pub results: R,
}

/// Returns indented JSON with a final newline. Numbers that are not finite become `null`.
///
/// # Panics
/// If a map in `document` has keys that are not strings: a bug in the caller's types.
pub fn json(document: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(document).expect("results serialise as JSON");
    text.push('\n');
    text
}

/// Returns flat rows as CSV (RFC 4180 quoting, `\n` line ends), field names first.
///
/// # Panics
/// If a row contains a nested structure, for which CSV has no place: a bug in the caller's types.
pub fn csv<'a, R: Serialize + 'a>(rows: impl IntoIterator<Item = &'a R>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row).expect("rows are flat");
    }
    let bytes = writer.into_inner().expect("a Vec takes every write");
    String::from_utf8(bytes).expect("serde hands over UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Parameters {
        seed: u64,
    }

    #[derive(Serialize)]
    struct Rows {
        cells: Vec<Cell>,
    }

    #[derive(Serialize)]
    struct Cell {
        variant: &'static str,
        published: Option<f64>,
    }

    #[test]
    fn a_document_names_its_schema_first_and_echoes_its_parameters() {
        let document = Document {
            schema: "tinygram.test/1",
            parameters: Parameters { seed: 7 },
            results: Rows {
                cells: vec![Cell {
                    variant: "E+M",
                    published: None,
                }],
            },
        };
        let text = json(&document);
        let flat: String = text.split_whitespace().collect();
        assert_eq!(
            flat,
            r#"{"schema":"tinygram.test/1","parameters":{"seed":7},"cells":[{"variant":"E+M","published":null}]}"#
        );
        assert!(text.ends_with("}\n"));
    }

    #[test]
    fn csv_quotes_what_needs_it_and_leaves_the_unknown_empty() {
        let rows = [Cell {
            variant: "a,b",
            published: None,
        }];
        assert_eq!(csv(&rows), "variant,published\n\"a,b\",\n");
    }
}
