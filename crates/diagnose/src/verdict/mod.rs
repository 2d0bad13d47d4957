//! Decides what a hold is: a stall of one kind, or one of the lookalikes.

pub(crate) mod judge;
pub(crate) mod kinds;
pub(crate) mod lookalikes;
pub(crate) mod story;
