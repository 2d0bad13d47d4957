//! Conversations written out, and what is found in them; `player.rs` describes the notation.

mod acks_alone;
mod audit;
mod conversations;
mod evidence;
mod exceptions;
mod floods;
mod player;
mod pools;
mod sight;
