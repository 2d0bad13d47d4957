//! What the lists of policies share: a choice that can be typed, copied and printed, and the
//! installed form that a connection makes of it, which has a memory.

/// Makes three things from one entry per policy: the choice (an enum whose variants have no
/// memory), the installed form (the same with their memories), and the list of entries. An entry's
/// first fields are its name, what it does, and the type of its memory with its initial value; the
/// other fields belong to the entry's type.
macro_rules! registry {
    (
        // A dollar sign, for the macro that this one makes.
        ($d:tt)
        $(#[$of_choice:meta])* choice $choice:ident;
        $(#[$of_installed:meta])* installed $installed:ident;
        entry $entry:ident;
        kind $kind:literal;
        $(
            $variant:ident
            $(with { $(#[$of_field:meta])* $field:ident: $type:ty = $default:expr })? {
                name: $name:literal,
                summary: $summary:literal,
                rule: $rule:ty = $begin:expr,
                $($key:ident: $value:expr,)*
            }
        )*
    ) => {
        $(#[$of_choice])*
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum $choice {
            $(
                #[doc = concat!("`", $name, "`: ", $summary, ".")]
                $variant $({ $(#[$of_field])* $field: $type })?,
            )*
            /// A rule that a user of the library defines.
            Custom(Custom),
        }

        $(#[$of_installed])*
        #[derive(Clone, Debug)]
        #[allow(missing_docs)] // the choice's variants are documented
        #[non_exhaustive]
        pub enum $installed {
            $($variant($rule),)*
            Custom(Custom),
        }

        /// Calls the same method on whichever policy is installed.
        macro_rules! dispatch {
            ($d self:ident, $d rule:ident => $d call:expr) => {
                match $d self {
                    $($installed::$variant($d rule) => $d call,)*
                    $installed::Custom($d rule) => $d call,
                }
            };
        }

        impl $choice {
            /// All entries.
            pub const LIST: &'static [$entry] = &[
                $($entry {
                    name: $name,
                    summary: $summary,
                    $($key: $value,)*
                    make: || Self::$variant $({ $field: $default })?,
                },)*
            ];

            /// Returns the choice with this name (or, if entries have labels, this label), ignoring
            /// case; `None` for an unknown name. Parsing lists the known names in its error.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                $entry::named(name).map(|entry| (entry.make)())
            }

            /// Returns its entry in the list; `None` for a user's own rule.
            #[must_use]
            pub fn registered(&self) -> Option<&'static $entry> {
                match self {
                    $(Self::$variant { .. } => $entry::named($name),)*
                    Self::Custom(_) => None,
                }
            }

            /// Returns the form that a connection installs: the rule with an empty memory; a user's
            /// own rule as it is.
            #[must_use]
            pub fn install(self) -> $installed {
                match self {
                    $(Self::$variant $({ $field })? => $installed::$variant($begin),)*
                    Self::Custom(own) => $installed::Custom(own),
                }
            }
        }

        impl $entry {
            /// Returns the entry with this name (or, if entries have labels, this label), ignoring
            /// case.
            #[must_use]
            pub fn named(name: &str) -> Option<&'static Self> {
                $choice::LIST.iter().find(|entry| entry.is_called(name))
            }
        }

        impl core::fmt::Display for $choice {
            /// Writes the name on a command line; of a user's own rule what it calls itself.
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self {
                    Self::Custom(own) => f.write_str(own.own_name()),
                    listed => f.write_str(listed.registered().map_or("", |entry| entry.name)),
                }
            }
        }

        impl core::str::FromStr for $choice {
            type Err = $crate::registry::UnknownName;

            /// Parses a name, as [`named`](Self::named) does.
            fn from_str(name: &str) -> Result<Self, Self::Err> {
                Self::named(name).ok_or_else(|| $crate::registry::UnknownName {
                    kind: $kind,
                    name: name.into(),
                    known: $choice::LIST.iter().map(|entry| entry.name).collect(),
                })
            }
        }
    };
}

/// Makes the type `Custom`: a user's own rule, each copy of which has its own memory.
macro_rules! custom {
    ($(#[$attribute:meta])* $rule:path) => {
        $(#[$attribute])*
        pub struct Custom(alloc::boxed::Box<dyn Own>);

        impl Custom {
            /// Wraps `rule`. A connection starts with the rule's memory as it is now.
            pub fn new(rule: impl $rule + Clone + core::fmt::Debug + Send + Sync + 'static) -> Self {
                Self(alloc::boxed::Box::new(rule))
            }

            /// Returns what the rule calls itself.
            #[must_use]
            pub fn own_name(&self) -> &str {
                self.0.name()
            }
        }

        impl Clone for Custom {
            fn clone(&self) -> Self {
                Self(self.0.copy())
            }
        }

        impl core::fmt::Debug for Custom {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                self.0.fmt(f)
            }
        }

        /// What such a rule must implement besides, so that a configuration can be copied, printed
        /// and sent to another thread.
        trait Own: $rule + core::fmt::Debug + Send + Sync {
            fn copy(&self) -> alloc::boxed::Box<dyn Own>;
        }

        impl<T: $rule + Clone + core::fmt::Debug + Send + Sync + 'static> Own for T {
            fn copy(&self) -> alloc::boxed::Box<dyn Own> {
                alloc::boxed::Box::new(self.clone())
            }
        }
    };
}

use alloc::string::String;
use alloc::vec::Vec;

pub(crate) use {custom, registry};

/// The error for an unknown name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no {kind} is called `{name}`; there are {}", known.join(", "))]
pub struct UnknownName {
    /// The kind of name, for example "send policy".
    pub kind: &'static str,
    /// The name that was asked for.
    pub name: String,
    /// The known names.
    pub known: Vec<&'static str>,
}
