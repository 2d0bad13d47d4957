//! The experiments of the five papers as data, with their published numbers.
