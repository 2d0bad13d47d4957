//! The checks: one file each, with its question, its effect and its origin. `examine.rs` asks most of them, in their
//! order; the others stand where their files say. Nothing else bounds a tier (`checked.rs`) or rules a hold out (`RuledOut::add`).

pub(crate) mod at_once;
pub(crate) mod awaited_blocks;
pub(crate) mod bounded_path;
pub(crate) mod certainty;
pub(crate) mod chance;
pub(crate) mod clock;
pub(crate) mod corked;
pub(crate) mod corroborated;
pub(crate) mod cut_window;
pub(crate) mod data_connection;
pub(crate) mod delayed_ack;
pub(crate) mod fin;
pub(crate) mod first_time;
pub(crate) mod flood_factor;
pub(crate) mod flood_overhead;
pub(crate) mod flood_rate;
pub(crate) mod flood_share;
pub(crate) mod follows_ack;
pub(crate) mod habit;
pub(crate) mod known_kind;
pub(crate) mod largest_flight;
pub(crate) mod last_flight;
pub(crate) mod link_speed;
pub(crate) mod loss;
pub(crate) mod many_holds;
pub(crate) mod open_window;
pub(crate) mod own_clock;
pub(crate) mod own_period;
pub(crate) mod own_stamp;
pub(crate) mod own_turn;
pub(crate) mod path_measured;
pub(crate) mod pool_fit;
pub(crate) mod prompt_acks;
pub(crate) mod punctual;
pub(crate) mod recorded_twice;
pub(crate) mod relay;
pub(crate) mod room;
pub(crate) mod round_trip;
pub(crate) mod same_flights;
pub(crate) mod same_habit;
pub(crate) mod sender_holds;
pub(crate) mod short;
pub(crate) mod shorter_path;
pub(crate) mod stream;
pub(crate) mod tickets;
pub(crate) mod timer_length;
pub(crate) mod upon_release;
pub(crate) mod urgent;
pub(crate) mod went_on;

#[cfg(test)]
mod tests;
