//! Names from a list that is defined elsewhere: a wrong name is answered with the list and the
//! nearest spelling.

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

/// A parser for names that returns what they stand for. It ignores case, unless two names differ
/// only in case.
#[derive(Clone)]
pub(crate) struct Names<T: 'static>(Vec<(&'static str, &'static str, T)>);

impl<T> Names<T> {
    /// Returns each name with a line of help and what it stands for.
    pub(crate) fn new(list: impl IntoIterator<Item = (&'static str, &'static str, T)>) -> Self {
        Self(list.into_iter().collect())
    }

    /// Returns the name most similar to `typed`, if any is similar.
    fn nearest(&self, typed: &str) -> Option<&'static str> {
        let likeness = |name: &str| strsim::normalized_damerau_levenshtein(typed, name);
        self.0
            .iter()
            .map(|(name, ..)| (likeness(name), *name))
            .filter(|(alike, _)| *alike >= ALIKE)
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, name)| name)
    }
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Names<T> {
    type Value = T;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        typed: &std::ffi::OsStr,
    ) -> Result<T, Error> {
        let typed = typed.to_string_lossy();
        let mut names = self.0.iter();
        let exactly = names.find(|(name, ..)| *name == typed);
        let in_any_case = || {
            let mut names = self.0.iter();
            names.find(|(name, ..)| name.eq_ignore_ascii_case(&typed))
        };
        if let Some((.., meant)) = exactly.or_else(in_any_case) {
            return Ok(meant.clone());
        }
        let mut error = Error::new(ErrorKind::InvalidValue).with_cmd(command);
        let arg = arg.map_or_else(|| "...".to_owned(), ToString::to_string);
        error.insert(ContextKind::InvalidArg, ContextValue::String(arg));
        error.insert(
            ContextKind::InvalidValue,
            ContextValue::String(typed.to_string()),
        );
        let names = self.0.iter().map(|(name, ..)| (*name).to_owned());
        error.insert(
            ContextKind::ValidValue,
            ContextValue::Strings(names.collect()),
        );
        if let Some(near) = self.nearest(&typed.to_lowercase()) {
            error.insert(
                ContextKind::SuggestedValue,
                ContextValue::String(near.to_owned()),
            );
        }
        Err(error)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(|(name, help, _)| {
            PossibleValue::new(*name).help(*help)
        })))
    }
}

/// The similarity from which on one spelling may have been meant for the other.
const ALIKE: f64 = 0.5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_spelling_is_found_and_nonsense_is_not() {
        let names = Names::new([("minshall", "", 1), ("msmv", "", 2), ("e+m", "", 3)]);
        assert_eq!(names.nearest("minshal"), Some("minshall"));
        assert_eq!(names.nearest("msvm"), Some("msmv"));
        assert_eq!(names.nearest("e+n"), Some("e+m"));
        assert_eq!(names.nearest("cubic"), None);
    }
}
