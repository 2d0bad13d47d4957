//! The verbs that ask Linux's kernel, where there is another: they are listed, and refused.

use std::ffi::OsString;

use crate::help;
use crate::outcome::{Done, Failure};
use crate::system::needs_linux;

/// What a verb takes on Linux.
#[derive(Debug, clap::Args)]
#[command(after_help = "This verb needs Linux.")]
pub(crate) struct Args {
    /// What it takes on Linux
    #[arg(hide = true, allow_hyphen_values = true, trailing_var_arg = true)]
    _words: Vec<OsString>,
}

macro_rules! refused {
    ($($verb:ident),+ $(,)?) => {
        /// The verbs that this system lacks.
        pub(crate) const LACKING: &[&str] = &[$(stringify!($verb)),+];

        $(pub(crate) mod $verb {
            pub(crate) use super::Args;
            use crate::outcome::{Done, Failure};

            pub(crate) fn run(_: &Args) -> Result<Done, Failure> {
                super::refuse(stringify!($verb))
            }
        })+
    };
}

refused!(bpf, cure, guard, install, link, mcp, ps, run, set, watch);

/// Says what the verb needs, and which verbs work here.
fn refuse(verb: &str) -> Result<Done, Failure> {
    let here: Vec<_> = help::verbs().filter(|it| !LACKING.contains(it)).collect();
    Err(needs_linux(verb, &here.join(", ")))
}
