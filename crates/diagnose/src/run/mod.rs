//! Drives an analysis, from frames to the report; read `analyzer`, `front`, `shard`, `table`, then what several threads need.
//!
//! | file | what it does | names, of this room |
//! |---|---|---|
//! | `analyzer` | is the entry; one thread goes all of the road here | `batch`, `cores`, `directly`, `front`, `shard`, `table` |
//! | `front` | counts, stamps and filters every frame | |
//! | `shard` | has a share of the connections, and gives each segment to its own | `table` |
//! | `table` | finds a connection by its two ends, in bounded memory | |
//! | `directly` | passes on at once what a share says, to `across` | `shard` |
//! | `cores` | gives the shares to several threads | `batch`, `front`, `notes`, `shard`, `table` |
//! | `batch` | reads segments together, divides them among the shares, and looks connections up ahead | `front`, `shard`, `table` |
//! | `notes` | takes down what a share says, until another thread passes it on to `across` | `shard` |

pub(crate) mod analyzer;
mod batch;
mod cores;
mod directly;
mod front;
mod notes;
mod shard;
mod table;
