//! The fields of a document that is put together from what several types serialise as.

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The fields of an object, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields(Vec<(String, Node)>);

/// A value of which objects keep the order of their fields.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Node {
    Null(()),
    Bool(bool),
    Number(serde_json::Number),
    Text(String),
    List(Vec<Node>),
    Object(Fields),
}

impl Fields {
    /// Returns the fields that `part` serialises as.
    pub(super) fn of(part: &impl Serialize) -> Self {
        Self::default().and(part)
    }

    /// Adds the fields of another part. One that is there already gets the other's value.
    pub(super) fn and(mut self, part: &impl Serialize) -> Self {
        let text = serde_json::to_string(part).expect("parameters serialise as JSON");
        let Self(added) = serde_json::from_str(&text).expect("an object");
        self.0
            .retain(|(name, _)| added.iter().all(|(other, _)| other != name));
        self.0.extend(added);
        self
    }

    /// Leaves out a field.
    pub(super) fn without(mut self, name: &str) -> Self {
        self.0.retain(|(field, _)| field != name);
        self
    }

    /// Puts the fields in this order; those that it does not name come last.
    pub(super) fn in_order(mut self, order: &[&str]) -> Self {
        let place = |name: &str| order.iter().position(|it| *it == name);
        self.0
            .sort_by_key(|(name, _)| place(name).unwrap_or(order.len()));
        self
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_later_part_says_what_holds_and_the_order_is_the_one_asked_for() {
        #[derive(Serialize)]
        struct One {
            seed: u64,
            share: f64,
            inner: Inner,
        }
        #[derive(Serialize)]
        struct Inner {
            z: Option<u8>,
            a: &'static str,
        }
        #[derive(Serialize)]
        struct Other {
            seed: &'static str,
        }
        let one = One {
            seed: u64::MAX,
            share: 1.0,
            inner: Inner { z: None, a: "x" },
        };
        let text = |fields: &Fields| serde_json::to_string(fields).unwrap();
        let all = Fields::of(&one);
        assert_eq!(text(&all), serde_json::to_string(&one).unwrap());
        let both = all
            .and(&Other { seed: "none" })
            .in_order(&["inner", "seed"]);
        assert_eq!(
            text(&both),
            r#"{"inner":{"z":null,"a":"x"},"seed":"none","share":1.0}"#
        );
        assert_eq!(
            text(&both.without("inner")),
            r#"{"seed":"none","share":1.0}"#
        );
    }

    #[test]
    fn a_number_keeps_its_last_digit() {
        #[derive(Serialize)]
        struct One {
            share: f64,
        }
        // Without the feature `float_roundtrip`, serde_json reads 51.24817837550541.
        let one = One {
            share: 51.248_178_375_505_404,
        };
        assert_eq!(
            serde_json::to_string(&Fields::of(&one)).unwrap(),
            r#"{"share":51.248178375505404}"#
        );
    }
}
