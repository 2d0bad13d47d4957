//! Naglemark, the benchmark of send policies (Mogul & Minshall, sections 6 and 7): a client asks, a
//! server answers with so many octets, and the client takes the time.

mod captured;
pub mod measure;
pub mod model;
pub mod parameters;
pub mod score;
pub mod workload;
