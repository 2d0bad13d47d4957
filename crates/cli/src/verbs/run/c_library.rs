//! The C libraries of programs, and the library that the command contains for each.

use std::hash::{DefaultHasher, Hash, Hasher};

/// The C library of a program, for which the preloaded one is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CLibrary {
    #[default]
    Glibc,
    Musl,
}

impl CLibrary {
    const ALL: [Self; 2] = [Self::Glibc, Self::Musl];

    /// Returns the C library that has this dynamic linker, wherever it is installed.
    pub(crate) fn of_linker(path: &str) -> Option<Self> {
        match path.rsplit('/').next()? {
            "ld-linux-x86-64.so.2" => Some(Self::Glibc),
            "ld-musl-x86_64.so.1" => Some(Self::Musl),
            _ => None,
        }
    }

    /// Returns whether this build carries the library for it.
    pub(crate) fn is_carried(self) -> bool {
        !self.octets().is_empty()
    }

    /// Returns the names of those that this build carries a library for.
    pub(crate) fn carried() -> String {
        let all = Self::ALL.into_iter().filter(|it| it.is_carried());
        let names: Vec<_> = all.map(Self::name).collect();
        if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(" and ")
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Glibc => "glibc",
            Self::Musl => "musl",
        }
    }

    /// Returns the library; empty in a build without it.
    pub(super) fn octets(self) -> &'static [u8] {
        match self {
            Self::Glibc => include_bytes!(concat!(env!("OUT_DIR"), "/preload-glibc.so")),
            Self::Musl => include_bytes!(concat!(env!("OUT_DIR"), "/preload-musl.so")),
        }
    }

    /// Returns the name of the library's file, and the one that a package may give it.
    pub(super) fn file_names(self) -> [String; 2] {
        let digest = digest(self.octets());
        match self {
            Self::Glibc => [
                format!("libtinygram-{digest:016x}.so"),
                "libtinygram.so".to_owned(),
            ],
            Self::Musl => [
                format!("libtinygram-musl-{digest:016x}.so"),
                "libtinygram-musl.so".to_owned(),
            ],
        }
    }
}

fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_gets_the_library_of_its_own_c_library() {
        let of = CLibrary::of_linker;
        assert_eq!(of("/lib64/ld-linux-x86-64.so.2"), Some(CLibrary::Glibc));
        assert_eq!(
            of("/nix/store/x-glibc-2.40/lib/ld-linux-x86-64.so.2"),
            Some(CLibrary::Glibc)
        );
        assert_eq!(of("/lib/ld-musl-x86_64.so.1"), Some(CLibrary::Musl));
        assert_eq!(of("/lib/ld-musl-aarch64.so.1"), None);
        assert_eq!(of("/lib/ld-linux-aarch64.so.1"), None);
        assert_eq!(of("ld.so"), None);
    }

    #[test]
    fn the_libraries_have_names_of_their_own_in_one_folder() {
        let [glibc, packaged_glibc] = CLibrary::Glibc.file_names();
        let [musl, packaged_musl] = CLibrary::Musl.file_names();
        assert!(glibc != musl && packaged_glibc != packaged_musl);
        // So a program finds it among the libraries that are preloaded into it.
        assert!(
            [glibc, packaged_glibc, musl, packaged_musl]
                .iter()
                .all(|name| name.starts_with("libtinygram"))
        );
    }

    #[test]
    fn each_library_that_is_carried_needs_its_c_library() {
        for (c_library, needs) in [
            (CLibrary::Glibc, &b"libc.so.6\0"[..]),
            (CLibrary::Musl, &b"\0libc.so\0"[..]),
        ] {
            let octets = c_library.octets();
            assert!(
                octets.is_empty() || octets.windows(needs.len()).any(|part| part == needs),
                "the library for {} does not name it",
                c_library.name()
            );
        }
    }
}
