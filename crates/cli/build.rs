//! Compiles the library that `tinygram run` loads into programs, for the command to carry.
//!
//! The same sources are a plain dependency of the command (it shares the settings and the
//! statistics page), where the hooks must not bear the C library's names: the command must not
//! interpose itself. So the library is a second compilation, with `--cfg interpose`, by the same
//! cargo into a folder of its own; that works alike for `cargo run`, `test` and `install`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=../preload");
    println!("cargo::rerun-if-changed=../coalesce");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let carried = out.join("preload.so");
    let target = env::var("TARGET").expect("cargo sets TARGET");
    if target == "x86_64-unknown-linux-gnu" {
        let built = compile(&out.join("preload"), &target);
        fs::copy(&built, &carried)
            .unwrap_or_else(|error| panic!("copying {}: {error}", built.display()));
    } else {
        // Elsewhere the command is built without it, and `run` says so.
        fs::write(&carried, []).expect("OUT_DIR can be written");
    }
}

fn compile(folder: &Path, target: &str) -> PathBuf {
    let manifest = Path::new(&env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"))
        .join("../preload/Cargo.toml");
    let status = Command::new(env::var_os("CARGO").expect("cargo sets CARGO"))
        .args([
            "rustc",
            "--quiet",
            "--lib",
            "--crate-type",
            "cdylib",
            "--release",
            "--target",
            target,
        ])
        .arg("--manifest-path")
        .arg(manifest)
        .arg("--target-dir")
        .arg(folder)
        .args([
            "--config",
            "profile.release.debug=false",
            "--config",
            "profile.release.strip=true",
            // In the hot path of other programs, however quickly the command itself is to be built.
            "--config",
            "profile.release.lto='fat'",
            "--config",
            "profile.release.codegen-units=1",
        ])
        .args(["--", "--cfg", "interpose"])
        // What the outer cargo tells its own compiler must not reach this one: clippy's driver, flags
        // that may name the hooks' own cfg or a coverage runtime, a wrapper's settings.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CLIPPY_ARGS")
        .status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "the preload library could not be compiled; see above"
    );
    folder.join(target).join("release/libtinygram_preload.so")
}
