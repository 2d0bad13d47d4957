//! The program's benchmark and the papers' results, as one types them.

mod capture;
mod naglemark;
#[path = "../pages/mod.rs"]
mod pages;
mod prevalence;
mod reproduce;
#[cfg(target_os = "linux")]
mod reproduce_here;
mod table_files;
