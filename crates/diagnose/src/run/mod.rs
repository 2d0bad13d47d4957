//! Drives an analysis, from frames to the report; read `analyzer`, `front`, `shard`, `table`, then what several threads need.
//!
//! | file | what it does | names, of this room | and of others |
//! |---|---|---|---|
//! | `analyzer` | is the entry; one thread goes all of the road here | all but `batch`, `notes` | `across`, `report`, and what passes through |
//! | `front` | counts, stamps and filters every frame | | `report`, for the totals; `parameters` |
//! | `shard` | has a share of the connections, and gives each segment to its own | `table` | `conversation` |
//! | `table` | finds a connection by its two ends, in bounded memory | | `conversation` |
//! | `directly` | passes on at once what a share says | `shard` | `across` |
//! | `cores` | gives the shares to several threads | `batch`, `front`, `notes`, `shard` | `across` |
//! | `batch` | reads frames together and divides them among the shares | `front`, `shard`, `table` | |
//! | `notes` | takes down what a share says, until another thread gathers it | `shard` | `across` |

pub(crate) mod analyzer;
mod batch;
mod cores;
mod directly;
mod front;
mod notes;
mod shard;
mod table;
