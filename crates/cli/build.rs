//! Makes what the command contains: the libraries that `tinygram run` loads into programs, one for each C library, and the
//! page that `tinygram page` writes.
//!
//! The page is WebAssembly, for which most toolchains have no target. So it is built before, by `page/build`, and
//! only a build that is told of it by `TINYGRAM_PAGE` contains it.
//!
//! The same sources are also a plain dependency of the command (it shares the settings and the
//! statistics page). There the hooks must not have the C library's names, because the command must
//! not interpose itself. So the library is compiled a second time, with `--cfg interpose`, by the
//! same cargo into its own folder. That gives the one for glibc, where the program is built for glibc. The one for musl
//! takes a linker for musl, which most machines lack. So a release builds both before, and names their folder by
//! `TINYGRAM_LIBRARIES`: `preload-glibc.so` and `preload-musl.so`. Each of the library's crates says where its sources
//! are, so this works alike in a checkout and from packages, for `cargo run`, `test`, `install` and `package`.

#[path = "build/page.rs"]
mod page;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    carry_page(&out);
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system != "linux") {
        // Only Linux has `run`.
        return;
    }
    println!("cargo::rerun-if-env-changed=TINYGRAM_LIBRARIES");
    if let Some(folder) = env::var_os("TINYGRAM_LIBRARIES").filter(|it| !it.is_empty()) {
        return carry_libraries(Path::new(&folder), &out);
    }
    let carried = out.join("preload-glibc.so");
    fs::write(out.join("preload-musl.so"), []).expect("OUT_DIR can be written");
    let target = env::var("TARGET").expect("cargo sets TARGET");
    for name in ["preload"].into_iter().chain(LIBRARIES) {
        println!("cargo::rerun-if-changed={}", sources(name).display());
    }
    if target == "x86_64-unknown-linux-gnu" {
        let project = out.join("preload");
        write_project(&project);
        let built = compile(&project, &target);
        fs::copy(&built, &carried)
            .unwrap_or_else(|error| panic!("copying {}: {error}", built.display()));
    } else {
        // On other platforms the command is built without the library, and `run` says so.
        fs::write(&carried, []).expect("OUT_DIR can be written");
    }
}

/// Hands the libraries of a folder to the command.
fn carry_libraries(folder: &Path, out: &Path) {
    for name in ["preload-glibc.so", "preload-musl.so"] {
        let from = folder.join(name);
        println!("cargo::rerun-if-changed={}", from.display());
        let library = fs::read(&from)
            .unwrap_or_else(|error| panic!("TINYGRAM_LIBRARIES: {}: {error}", from.display()));
        assert!(
            library.starts_with(b"\x7fELF"),
            "TINYGRAM_LIBRARIES: {} is no library (accepted: an ELF file)",
            from.display()
        );
        fs::write(out.join(name), library).expect("OUT_DIR can be written");
    }
}

/// Hands the page that `TINYGRAM_PAGE` names to the command; without one, the command carries an empty page, and says so.
fn carry_page(out: &Path) {
    println!("cargo::rerun-if-env-changed=TINYGRAM_PAGE");
    let named = env::var_os("TINYGRAM_PAGE");
    // Relative to the checkout, as whoever runs cargo there means it.
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let checkout = here.join("../..");
    if let Some(named) = named.as_ref().filter(|it| !it.is_empty()) {
        println!("cargo::rerun-if-changed={}", checkout.join(named).display());
    }
    let page = page::to_carry(named.as_deref(), &checkout, env!("CARGO_PKG_VERSION"))
        .unwrap_or_else(|reason| panic!("TINYGRAM_PAGE: {reason}"));
    fs::write(out.join("tinygram.html"), page).expect("OUT_DIR can be written");
}

/// The crates that the library is built on; they depend on none themselves.
const LIBRARIES: [&str; 2] = ["coalesce", "stalls"];

/// Returns the folder of the sources of `tinygram-NAME`, whose build script says where it is.
fn sources(name: &str) -> PathBuf {
    let told = format!("DEP_TINYGRAM_{}_SOURCES", name.to_uppercase());
    let folder = env::var_os(told).expect("its build script says so");
    Path::new(&folder).join("src")
}

/// Writes the manifests of a workspace of the library's crates, and the outer build's lock file.
fn write_project(project: &Path) {
    let root = |name: &str| format!("{:?}", sources(name).join("lib.rs"));
    let version = env!("CARGO_PKG_VERSION");
    let needs = LIBRARIES.map(|name| format!("tinygram-{name} = {{ path = {name:?} }}\n"));
    let mut manifests = vec![(
        "Cargo.toml".to_owned(),
        format!(
            "[package]\n\
             name = \"tinygram-preload\"\nversion = \"{version}\"\nedition = \"2024\"\n\
             [lib]\npath = {}\ncrate-type = [\"cdylib\"]\n\
             [dependencies]\nlibc = \"0.2\"\n{}\
             [workspace]\nmembers = {LIBRARIES:?}\n\
             # In the hot path of other programs, however quickly the command itself is to be built.\n\
             [profile.release]\nlto = \"fat\"\ncodegen-units = 1\nstrip = true\n\
             [lints.rust]\n\
             unexpected_cfgs = {{ level = \"warn\", check-cfg = [\"cfg(interpose)\"] }}\n",
            root("preload"),
            needs.concat()
        ),
    )];
    for library in LIBRARIES {
        let manifest = format!(
            "[package]\n\
             name = \"tinygram-{library}\"\nversion = \"{version}\"\nedition = \"2024\"\n\
             [lib]\npath = {}\n[features]\ntexts = []\n",
            root(library)
        );
        manifests.push((format!("{library}/Cargo.toml"), manifest));
        fs::create_dir_all(project.join(library)).expect("OUT_DIR can be written");
    }
    for (name, text) in manifests {
        fs::write(project.join(name), text).expect("OUT_DIR can be written");
    }
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    // A package has its lock file beside its manifest, a checkout at its root.
    for lock in ["Cargo.lock", "../../Cargo.lock"] {
        if fs::copy(here.join(lock), project.join("Cargo.lock")).is_ok() {
            return;
        }
    }
}

fn compile(project: &Path, target: &str) -> PathBuf {
    // The outer build has fetched what is needed; the network is used only if something is missing.
    let built = cargo(project, target, &["--offline", "--quiet"]) || cargo(project, target, &[]);
    assert!(
        built,
        "the preload library could not be compiled; see above"
    );
    project
        .join("target")
        .join(target)
        .join("release/libtinygram_preload.so")
}

fn cargo(project: &Path, target: &str, options: &[&str]) -> bool {
    Command::new(env::var_os("CARGO").expect("cargo sets CARGO"))
        .args(["rustc", "--lib", "--release", "--target", target])
        .args(options)
        .arg("--manifest-path")
        .arg(project.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(project.join("target"))
        .args(["--", "--cfg", "interpose"])
        // The outer cargo's settings for its own compiler must not reach this one: clippy's driver,
        // flags that may contain the hooks' own cfg or a coverage runtime, a wrapper's settings.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CLIPPY_ARGS")
        .status()
        .is_ok_and(|status| status.success())
}
