//! Conversations written out, and what is found in them; `player.rs` says how they are written.

mod conversations;
mod evidence;
mod floods;
mod player;
mod pools;
mod sight;
