//! What clients are told of a tool's arguments and answers: briefly in the list of tools, which every conversation carries,
//! and as a whole in a resource, for who asks.

use rmcp::model::JsonObject;
use serde_json::{Value, json};

/// The beginning of the name of the resource that has the whole schema of a tool's answer.
pub(crate) const ANSWERS: &str = "tinygram://answers/";

/// Returns a schema without what no client needs: its dialect, the widths of numbers (no standard has `uint64`, and clients
/// warn of it), the ends of the source's lines.
pub(crate) fn plain(schema: &JsonObject) -> JsonObject {
    let kept = schema.iter().filter(|(name, value)| {
        !(["$schema", "format"].contains(&name.as_str()) && value.is_string())
    });
    let cleaned = kept.map(|(name, value)| {
        let value = match value {
            Value::String(text) if name == "description" => Value::String(text.replace('\n', " ")),
            Value::Object(fields) => Value::Object(plain(fields)),
            Value::Array(items) => items.iter().map(of_item).collect(),
            other => other.clone(),
        };
        (name.clone(), value)
    });
    cleaned.collect()
}

fn of_item(item: &Value) -> Value {
    match item {
        Value::Object(fields) => Value::Object(plain(fields)),
        other => other.clone(),
    }
}

/// Returns the schema of arguments: one that may be left out is left out and not null.
pub(crate) fn of_arguments(schema: &JsonObject) -> JsonObject {
    let mut schema = plain(schema);
    let arguments = schema.get_mut("properties").and_then(Value::as_object_mut);
    for argument in arguments.into_iter().flat_map(serde_json::Map::values_mut) {
        let given = match argument["type"].as_array().map(Vec::as_slice) {
            Some([given, null]) if null == "null" => given.clone(),
            _ => continue,
        };
        argument["type"] = given;
    }
    schema
}

/// Returns the fields of an answer with their types, without what is inside them, what they mean and which must be there
/// (all, as the whole schema says).
pub(crate) fn outline(whole: &JsonObject) -> JsonObject {
    let within = whole.get("$defs").unwrap_or(&Value::Null);
    let fields = whole.get("properties").and_then(Value::as_object);
    let fields: JsonObject = fields
        .into_iter()
        .flatten()
        .map(|(name, field)| (name.clone(), typed(field, within)))
        .collect();
    let mut outline = JsonObject::new();
    outline.insert("type".to_owned(), json!("object"));
    outline.insert("properties".to_owned(), Value::Object(fields));
    outline
}

/// Returns the type of a field; what stands for an object says no more than that.
fn typed(field: &Value, within: &Value) -> Value {
    if let Some(named) = field["$ref"].as_str() {
        return typed(&within[named.trim_start_matches("#/$defs/")], within);
    }
    if let Some(words) = field["oneOf"].as_array() {
        let words: Vec<_> = words.iter().map(|word| &word["const"]).collect();
        return json!({ "enum": words });
    }
    if let Some(either) = field["anyOf"].as_array() {
        let either: Vec<_> = either.iter().map(|one| typed(one, within)).collect();
        return json!({ "anyOf": either });
    }
    let mut shown = JsonObject::new();
    for name in ["type", "enum"] {
        shown.extend(
            field
                .get(name)
                .map(|value| (name.to_owned(), value.clone())),
        );
    }
    if let Some(items) = field.get("items") {
        shown.insert("items".to_owned(), typed(items, within));
    }
    Value::Object(shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools;

    fn object(value: Value) -> JsonObject {
        let Value::Object(object) = value else {
            panic!("{value} is no object")
        };
        object
    }

    #[test]
    fn an_outline_has_every_field_and_its_type() {
        let whole = object(json!({
            "type": "object",
            "required": ["answer", "rows", "present"],
            "$defs": {
                "Answer": {"oneOf": [{"const": "yes", "type": "string"}, {"const": "no", "type": "string"}]},
                "Row": {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]},
            },
            "properties": {
                "answer": {"description": "In a word.", "$ref": "#/$defs/Answer"},
                "rows": {"type": "array", "items": {"$ref": "#/$defs/Row"}},
                "present": {"anyOf": [{"$ref": "#/$defs/Row"}, {"type": "null"}]},
                "cursor": {"type": ["string", "null"]},
            },
        }));
        let expected = object(json!({
            "type": "object",
            "properties": {
                "answer": {"enum": ["yes", "no"]},
                "rows": {"type": "array", "items": {"type": "object"}},
                "present": {"anyOf": [{"type": "object"}, {"type": "null"}]},
                "cursor": {"type": ["string", "null"]},
            },
        }));
        assert_eq!(outline(&whole), expected);
    }

    #[test]
    fn every_field_of_every_answer_has_a_type_in_the_list() {
        for tool in tools::all(true) {
            let listed = tool.listed.output_schema.unwrap();
            let fields = listed["properties"].as_object().unwrap();
            let whole = tool.answer["properties"].as_object().unwrap();
            assert!(fields.keys().eq(whole.keys()), "{}", tool.listed.name);
            for (name, field) in fields {
                let is_typed = ["type", "enum", "anyOf"]
                    .iter()
                    .any(|it| field.get(it).is_some());
                assert!(is_typed, "{}: {name}", tool.listed.name);
            }
        }
    }

    #[test]
    fn a_property_that_is_called_as_a_keyword_stays() {
        let schema = object(json!({
            "format": "uint64",
            "properties": {"format": {"type": "string"}, "$schema": {"type": ["string", "null"]}},
        }));
        let cleaned = of_arguments(&schema);
        assert_eq!(
            Value::Object(cleaned),
            json!({"properties": {"format": {"type": "string"}, "$schema": {"type": "string"}}})
        );
    }
}
