//! How the rule is put into a program.

use tinygram_coalesce::Policy;
use tinygram_graft::program::{self, Program};
use tinygram_graft::shared;
use tinygram_preload::settings::Settings;

/// How the rule is put into a Go or static program.
pub(in crate::verbs::run) struct How {
    pub(super) settings: shared::Settings,
    /// Whether its calls are looked at first.
    pub(super) verify: bool,
    /// Whether a version of Go that was not tried will do.
    tries: bool,
}

impl How {
    /// Takes the settings of `run`; `apart` says whether remote addresses are counted apart.
    pub(in crate::verbs::run) fn of(
        settings: &Settings<'_>,
        apart: bool,
        verify: bool,
        tries: bool,
    ) -> Result<Self, String> {
        if settings.rules.policy == Policy::CorkUntilBlock {
            return Err(
                "cork-until-block is for programs that a library can be loaded into; accepted for a Go or \
                 static program: flush-on-block, nodelay, observe"
                    .into(),
            );
        }
        let settings = shared::Settings {
            rules: settings.rules,
            only: settings.only.iter().flatten().copied().collect(),
            apart,
        };
        Ok(Self {
            settings,
            verify,
            tries,
        })
    }

    /// Reads a program's file; one whose version of Go was not tried is refused, unless that is asked for.
    pub(super) fn read(&self, bytes: &[u8]) -> Result<Program, program::Refused> {
        let program = program::read(bytes)?;
        match self.tries {
            true => Ok(program),
            false => program.tried(),
        }
    }
}
