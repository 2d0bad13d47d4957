//! What a line says: a message of the protocol, or what is wrong with it.

use rmcp::service::{RoleServer, RxJsonRpcMessage};
use serde_json::{Value, json};

/// Reads a line. `None`: nobody waits for an answer. An error is the answer to a line that is no message.
pub(crate) fn message(line: &[u8]) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Value> {
    let line = line.trim_ascii();
    let line = line.strip_prefix(BOM).unwrap_or(line);
    if line.is_empty() {
        return Ok(None);
    }
    let told: Value = serde_json::from_slice(line).map_err(|error| {
        let why = format!("this line is no JSON: {error}");
        answer(&Value::Null, PARSE_ERROR, &why)
    })?;
    let number = match &told["id"] {
        id if id.is_i64() || id.is_string() => id.clone(),
        _ => Value::Null,
    };
    let method = told["method"].as_str();
    if let Some(accepted) = method.and_then(|method| wrong(method, &told["params"])) {
        let why = format!("{}: accepted are {accepted}", method.unwrap_or_default());
        return match told.get("id") {
            Some(_) => Err(answer(&number, INVALID_PARAMS, &why)),
            None => Ok(None),
        };
    }
    let is_notice = method.is_some() && told.get("id").is_none();
    match serde_json::from_value(told) {
        Ok(message) => Ok(Some(message)),
        Err(_) if is_notice => Ok(None),
        Err(_) => Err(answer(
            &number,
            INVALID_REQUEST,
            "no message of this protocol: accepted is one object with jsonrpc 2.0, a method, and an id that is a whole number \
             or a text",
        )),
    }
}

/// Returns the answer to a line of more than `most` octets.
pub(crate) fn too_long(number: &Value, most: usize) -> Value {
    let why = format!("a message of more than {most} octets: accepted are shorter ones");
    answer(number, INVALID_REQUEST, &why)
}

/// Returns what a method takes, if it was not given that.
fn wrong(method: &str, params: &Value) -> Option<&'static str> {
    let (is_well, accepted) = match method {
        "tools/call" => (
            params["name"].is_string()
                && (params["arguments"].is_null() || params["arguments"].is_object()),
            "params with a name, which is a text, and arguments, which are an object",
        ),
        "resources/read" => (
            params["uri"].is_string(),
            "params with a uri, which is a text",
        ),
        _ => return None,
    };
    (!is_well).then_some(accepted)
}

fn answer(number: &Value, code: i32, why: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": why}})
}

/// Finds the number of a request in a line that is too long to be kept: whoever sent it waits for an answer with it.
#[derive(Debug, Default)]
pub(crate) struct Number {
    depth: usize,
    is_in_text: bool,
    is_escaped: bool,
    /// The name or the value that is being read, of the outermost object.
    word: Vec<u8>,
    /// Whether a value is being read, and it is the number.
    is_number: bool,
    found: Option<Vec<u8>>,
}

impl Number {
    /// Reads on.
    pub(crate) fn read(&mut self, octets: &[u8]) {
        for &octet in octets {
            match octet {
                _ if self.is_in_text => {
                    self.keep(octet);
                    self.is_in_text = self.is_escaped || octet != b'"';
                    self.is_escaped = !self.is_escaped && octet == b'\\';
                }
                b'"' => {
                    self.keep(octet);
                    self.is_in_text = true;
                }
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.end();
                    self.depth = self.depth.saturating_sub(1);
                }
                b',' => self.end(),
                b':' if self.depth == 1 => {
                    self.is_number = self.word == b"\"id\"";
                    self.word.clear();
                }
                _ if octet.is_ascii_whitespace() => {}
                _ => self.keep(octet),
            }
        }
    }

    /// Returns the number, or null where none was seen.
    pub(crate) fn value(&self) -> Value {
        let found = self.found.as_deref().unwrap_or(b"null");
        let value: Value = serde_json::from_slice(found).unwrap_or_default();
        match value.is_i64() || value.is_string() {
            true => value,
            false => Value::Null,
        }
    }

    fn keep(&mut self, octet: u8) {
        if self.depth == 1 && self.word.len() < MOST_OF_A_NUMBER {
            self.word.push(octet);
        }
    }

    fn end(&mut self) {
        if self.depth != 1 {
            return;
        }
        let word = std::mem::take(&mut self.word);
        if std::mem::take(&mut self.is_number) {
            self.found = Some(word);
        }
    }
}

const BOM: &[u8] = b"\xef\xbb\xbf";
/// JSON-RPC 2.0, section 5.1.
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const INVALID_PARAMS: i32 = -32602;
/// The longest number of a request that is looked for, in octets.
const MOST_OF_A_NUMBER: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_long_line_is_found_wherever_it_stands() {
        for (line, expected) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"m"}"#, json!(7)),
            (
                r#"{"params":{"id":1,"x":["id",{"id":2}]},"id": "a\"b" }"#,
                json!("a\"b"),
            ),
            (r#"{"method":"\"id\":3,","id":-4}"#, json!(-4)),
            (r#"{"method":"id","params":{"id":1}}"#, Value::Null),
            (r#"{"id":{"id":1}}"#, Value::Null),
            (r#"{"id":1.5}"#, Value::Null),
            ("xxxx", Value::Null),
            ("]]]}}}", Value::Null),
        ] {
            // However the line is cut.
            for cut in 0..line.len() {
                let mut number = Number::default();
                number.read(&line.as_bytes()[..cut]);
                number.read(&line.as_bytes()[cut..]);
                assert_eq!(number.value(), expected, "{line}");
            }
        }
    }

    #[test]
    fn what_is_no_message_is_answered_and_what_nobody_waits_for_is_not() {
        let code = |line: &str| {
            message(line.as_bytes())
                .err()
                .map(|it| it["error"]["code"].clone())
        };
        for (line, expected) in [
            ("nonsense", -32700),
            ("{", -32700),
            ("[]", -32600),
            ("null", -32600),
            (r#"{"jsonrpc":"2.0"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#, -32602),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{}}}"#,
                -32602,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ps","arguments":[1]}}"#,
                -32602,
            ),
        ] {
            assert_eq!(code(line), Some(json!(expected)), "{line}");
        }
        for line in [
            "",
            " \r",
            r#"{"jsonrpc":"2.0","method":"notifications/none_of_ours"}"#,
        ] {
            assert_eq!(code(line), None, "{line}");
        }
    }
}
