//! What the tools share: the program, the folders, the answers that were cut, and what may be changed.

use crate::changes::Changes;
use crate::root::Roots;
use crate::run::Program;
use crate::shelf::Shelf;

pub(crate) struct Host {
    pub(crate) program: Program,
    pub(crate) roots: Roots,
    pub(crate) shelf: Shelf,
    /// The kinds of findings.
    pub(crate) kinds: Vec<&'static str>,
    /// None: nothing may be changed.
    pub(crate) changes: Option<Changes>,
}
