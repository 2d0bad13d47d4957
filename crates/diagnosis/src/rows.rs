//! How the JSON document stands on its lines: a connection or a finding takes one, so that `grep` and `head`
//! are of use and a large document is a fifth smaller than with every field on a line of its own.

use std::io::{self, Write};

use serde_json::ser::{Formatter, PrettyFormatter};

/// Indents the document and its parts. What stands in a part takes one line each, whatever it holds.
pub(crate) struct RowByRow {
    /// How many lists and objects are open.
    depth: usize,
    outside: PrettyFormatter<'static>,
}

impl RowByRow {
    pub(crate) fn new() -> Self {
        Self {
            depth: 0,
            outside: PrettyFormatter::new(),
        }
    }

    fn is_outside(&self) -> bool {
        self.depth <= PARTS
    }
}

/// The document, and in it the lists and objects that hold the rows.
const PARTS: usize = 2;

impl Formatter for RowByRow {
    fn begin_array<W: ?Sized + Write>(&mut self, into: &mut W) -> io::Result<()> {
        self.depth += 1;
        match self.is_outside() {
            true => self.outside.begin_array(into),
            false => into.write_all(b"["),
        }
    }

    fn end_array<W: ?Sized + Write>(&mut self, into: &mut W) -> io::Result<()> {
        let outside = self.is_outside();
        self.depth -= 1;
        match outside {
            true => self.outside.end_array(into),
            false => into.write_all(b"]"),
        }
    }

    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        into: &mut W,
        first: bool,
    ) -> io::Result<()> {
        match (self.is_outside(), first) {
            (true, _) => self.outside.begin_array_value(into, first),
            (false, true) => Ok(()),
            (false, false) => into.write_all(b", "),
        }
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, into: &mut W) -> io::Result<()> {
        match self.is_outside() {
            true => self.outside.end_array_value(into),
            false => Ok(()),
        }
    }

    fn begin_object<W: ?Sized + Write>(&mut self, into: &mut W) -> io::Result<()> {
        self.depth += 1;
        match self.is_outside() {
            true => self.outside.begin_object(into),
            false => into.write_all(b"{"),
        }
    }

    fn end_object<W: ?Sized + Write>(&mut self, into: &mut W) -> io::Result<()> {
        let outside = self.is_outside();
        self.depth -= 1;
        match outside {
            true => self.outside.end_object(into),
            false => into.write_all(b"}"),
        }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, into: &mut W, first: bool) -> io::Result<()> {
        match (self.is_outside(), first) {
            (true, _) => self.outside.begin_object_key(into, first),
            (false, true) => Ok(()),
            (false, false) => into.write_all(b", "),
        }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, into: &mut W) -> io::Result<()> {
        into.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, into: &mut W) -> io::Result<()> {
        match self.is_outside() {
            true => self.outside.end_object_value(into),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use serde_json::{Serializer, Value, json};

    use super::RowByRow;

    fn written(document: &Value) -> String {
        let mut text = Vec::new();
        document
            .serialize(&mut Serializer::with_formatter(&mut text, RowByRow::new()))
            .expect("memory takes all");
        String::from_utf8(text).expect("JSON is text")
    }

    #[test]
    fn a_row_takes_one_line() {
        let document = json!({
            "connections": [{"ends": {"a": [], "b": [1, 2]}, "id": 1}, {"ends": {}, "id": 2}],
            "findings": [],
            "summary": {"stalls": 2, "verdict": ["a", "b"]},
        });
        let wanted = r#"{
  "connections": [
    {"ends": {"a": [], "b": [1, 2]}, "id": 1},
    {"ends": {}, "id": 2}
  ],
  "findings": [],
  "summary": {
    "stalls": 2,
    "verdict": ["a", "b"]
  }
}"#;
        assert_eq!(written(&document), wanted);
    }
}
