//! Which pods and containers are meant, by their names.

use std::fmt;

use crate::container::Container;

/// The pods and containers that are meant. Of each list that has something, one must be the name; a name that is not
/// known is none of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    namespaces: Vec<Pattern>,
    pods: Vec<Pattern>,
    containers: Vec<Pattern>,
}

/// A name, or the beginning of names (`cart-*`).
#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    Name(String),
    Beginning(String),
}

impl Place {
    /// Reads what was typed.
    ///
    /// # Errors
    ///
    /// Says in one line what is wrong and what is accepted.
    pub fn parse(
        namespaces: &[String],
        pods: &[String],
        containers: &[String],
    ) -> Result<Self, String> {
        let all = |flag: &str, typed: &[String]| {
            let patterns = typed.iter().map(|text| Pattern::parse(text));
            let patterns: Result<Vec<_>, _> = patterns.collect();
            patterns.map_err(|said| format!("--{flag} {said}"))
        };
        Ok(Self {
            namespaces: all("namespace", namespaces)?,
            pods: all("pod", pods)?,
            containers: all("container", containers)?,
        })
    }

    /// Returns whether everything is meant.
    #[must_use]
    pub fn is_everywhere(&self) -> bool {
        self.namespaces.is_empty() && self.pods.is_empty() && self.containers.is_empty()
    }

    /// Returns whether only pods can be meant.
    #[must_use]
    pub fn is_of_pods(&self) -> bool {
        !(self.namespaces.is_empty() && self.pods.is_empty())
    }

    /// Returns whether what runs in this container, or in none, is meant.
    #[must_use]
    pub fn has(&self, container: Option<&Container>) -> bool {
        let is_one = |patterns: &[Pattern], name: Option<&str>| {
            patterns.is_empty()
                || name.is_some_and(|name| patterns.iter().any(|pattern| pattern.is(name)))
        };
        let id = container.and_then(Container::id);
        let by_id = |pattern: &Pattern| match pattern {
            Pattern::Name(text) => id.is_some_and(|id| id.is_typed(text)),
            Pattern::Beginning(_) => false,
        };
        is_one(&self.namespaces, container.and_then(Container::namespace))
            && is_one(&self.pods, container.and_then(Container::pod))
            && (is_one(&self.containers, container.and_then(Container::name))
                || self.containers.iter().any(by_id))
    }
}

impl Pattern {
    fn parse(text: &str) -> Result<Self, String> {
        let (name, is_beginning) = match text.strip_suffix('*') {
            Some(name) => (name, true),
            None => (text, false),
        };
        let is_well = |octet: u8| octet.is_ascii_alphanumeric() || b"_.-".contains(&octet);
        if name.is_empty() || name.len() > LONGEST || !name.bytes().all(is_well) {
            return Err(format!(
                "{text:?}: accepted are a name of letters, digits, points and hyphens, and the beginning of names with * at its end"
            ));
        }
        Ok(match is_beginning {
            true => Self::Beginning(name.to_owned()),
            false => Self::Name(name.to_owned()),
        })
    }

    fn is(&self, name: &str) -> bool {
        match self {
            Self::Name(text) => text == name,
            Self::Beginning(text) => name.starts_with(text.as_str()),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(text) => f.write_str(text),
            Self::Beginning(text) => write!(f, "{text}*"),
        }
    }
}

/// `namespace shop, pod cart-*`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [
            ("namespace", &self.namespaces),
            ("pod", &self.pods),
            ("container", &self.containers),
        ];
        let told = kinds.iter().filter(|(_, patterns)| !patterns.is_empty());
        let told = told.map(|(kind, patterns)| {
            let names: Vec<_> = patterns.iter().map(ToString::to_string).collect();
            format!("{kind} {}", names.join(" or "))
        });
        f.write_str(&told.collect::<Vec<_>>().join(", "))
    }
}

/// The longest name of a pod.
const LONGEST: usize = 253;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::Id;

    fn place(namespaces: &[&str], pods: &[&str], containers: &[&str]) -> Place {
        let [namespaces, pods, containers] = [namespaces, pods, containers]
            .map(|names| names.iter().map(ToString::to_string).collect::<Vec<_>>());
        Place::parse(&namespaces, &pods, &containers).unwrap()
    }

    fn container(names: Option<[&str; 3]>) -> Container {
        let name = |at: usize| names.map(|names| names[at].to_owned());
        Container::Pod {
            uid: "8f0b6d52-1c2d-4e3f-9a8b-7c6d5e4f3a2b".to_owned(),
            id: Id::parse(&"3fa1b2c4".repeat(8)),
            namespace: name(0),
            pod: name(1),
            container: name(2),
        }
    }

    #[test]
    fn each_flag_narrows_and_each_of_its_values_widens() {
        let cart = container(Some(["shop", "cart-7d9f", "app"]));
        for (place, has) in [
            (place(&[], &[], &[]), true),
            (place(&["shop"], &[], &[]), true),
            (place(&["bank"], &[], &[]), false),
            (place(&["bank", "shop"], &[], &[]), true),
            (place(&["shop"], &["cart-*"], &["app"]), true),
            (place(&["shop"], &["cart"], &[]), false),
            (place(&["shop"], &["cart-7d9f"], &["proxy"]), false),
            (place(&[], &[], &["3fa1b2c43fa1"]), true),
        ] {
            assert_eq!(place.has(Some(&cart)), has, "{place}");
        }
    }

    #[test]
    fn what_is_not_known_is_not_meant() {
        let unknown = container(None);
        assert!(!place(&["shop"], &[], &[]).has(Some(&unknown)));
        assert!(!place(&["shop"], &[], &[]).has(None));
        assert!(place(&[], &[], &[]).has(None));
    }

    #[test]
    fn what_is_typed_is_checked() {
        for bad in [
            "",
            "*",
            "a b",
            "shop/cart",
            "a*b",
            "\u{1b}[2J",
            &"a".repeat(254),
        ] {
            let said = Place::parse(&[bad.to_owned()], &[], &[]).unwrap_err();
            assert!(
                said.contains("accepted") && !said.contains('\u{1b}'),
                "{said}"
            );
        }
        let shown = place(&["shop", "bank"], &["cart-*"], &[]).to_string();
        assert_eq!(shown, "namespace shop or bank, pod cart-*");
    }
}
