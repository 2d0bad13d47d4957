//! The knobs of the journal.

use tinygram_host::hand::Raw;
use tinygram_host::tunable::Tunable;

use super::record::Record;
use super::{Entry, Journal, JournalError, JournalPlace};

impl Journal {
    /// Announces that the knob of `place` is changed next, with the value that it has.
    ///
    /// # Errors
    ///
    /// Returns what the system refuses; the knob may not be changed then.
    pub fn knob(&mut self, id: u64, place: JournalPlace, before: Raw) -> Result<(), JournalError> {
        self.append(vec![Record::Knob { id, place, before }])
    }

    /// Returns whether a change in force has set this knob.
    #[must_use]
    pub fn has_turned(&self, option: Tunable, place: &JournalPlace) -> bool {
        let mut all = self.in_force();
        all.any(|(_, entry)| {
            entry.about.option == option && entry.knob.as_ref().is_some_and(|(at, _)| at == place)
        })
    }

    /// Returns where the knob of `id` is and what it had, if it may be put back now. If a later change set it, too, it is
    /// left to that one, which puts back the first value when it is undone.
    ///
    /// # Errors
    ///
    /// Returns what the system refuses; nothing may be put back then.
    pub fn release_knob(&mut self, id: u64) -> Result<Option<(JournalPlace, Raw)>, JournalError> {
        let Some(entry) = self.changes.get(&id) else {
            return Ok(None);
        };
        let (option, Some((place, before))) = (entry.about.option, entry.knob.clone()) else {
            return Ok(None);
        };
        let is_later = |(other, entry): &(u64, &Entry)| {
            *other > id
                && entry.about.option == option
                && entry.knob.as_ref().is_some_and(|(at, _)| *at == place)
        };
        let later = self.in_force().find(is_later).map(|(other, _)| other);
        match later {
            None => Ok(Some((place, before))),
            Some(id) => {
                self.append(vec![Record::Knob { id, place, before }])?;
                Ok(None)
            }
        }
    }
}
