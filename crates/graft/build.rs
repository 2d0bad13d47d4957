//! Compiles the code that is put into programs: an object of its own, without the standard library.
//!
//! It is the host's compiler, so nothing has to be installed. The command contains the object.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=inside");
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let rule = env::var_os("DEP_TINYGRAM_COALESCE_SOURCES").expect("its build script says so");
    let rule = Path::new(&rule).join("src");
    println!("cargo::rerun-if-changed={}", rule.display());
    let carried = out.join("inside.so");
    // The code needs no C library, so what the host's compiler makes serves programs for any.
    let is = |name: &str, value: &str| env::var(name).as_deref() == Ok(value);
    let is_wanted = is("CARGO_CFG_TARGET_ARCH", "x86_64") && is("CARGO_CFG_TARGET_OS", "linux");
    let host = env::var("HOST").expect("cargo sets HOST");
    if !is_wanted || !host.starts_with("x86_64-") || !host.contains("-linux-") {
        // Elsewhere the command is built without it, and `run` says so.
        fs::write(&carried, []).expect("OUT_DIR can be written");
        return;
    }
    let library = out.join("libtinygram_coalesce.rlib");
    let named = ["--crate-name", "tinygram_coalesce", "--crate-type", "rlib"];
    compile(&rule.join("lib.rs"), &library, &named);
    let extern_rule = format!("tinygram_coalesce={}", library.display());
    let mut rest = vec!["--crate-name", "inside", "--crate-type", "cdylib"];
    rest.extend(["-C", "lto=fat", "--extern", &extern_rule]);
    // One segment of code, references bound within, no run-time libraries.
    const LINK: [&str; 7] = [
        "-nostdlib",
        "-Wl,--build-id=none",
        "-Wl,-Bsymbolic",
        "-Wl,--no-rosegment",
        "-Wl,-z,norelro",
        "-Wl,--no-eh-frame-hdr",
        "-Wl,--strip-all",
    ];
    let link = LINK.map(|argument| format!("link-arg={argument}"));
    for argument in &link {
        rest.extend(["-C", argument]);
    }
    compile(&here.join("inside/lib.rs"), &carried, &rest);
}

fn compile(source: &Path, to: &Path, more: &[&str]) {
    let mut result = tried(source, to, more);
    // The flags are LLD's, which is not the linker of every compiler (Debian's, for one).
    if !result.status.success() {
        let by_lld = ["-C", "link-arg=-fuse-ld=lld"];
        result = tried(source, to, &[more, &by_lld].concat());
    }
    assert!(
        result.status.success(),
        "the injected code could not be compiled:\n{}",
        String::from_utf8_lossy(&result.stderr)
    );
}

fn tried(source: &Path, to: &Path, more: &[&str]) -> Output {
    Command::new(env::var_os("RUSTC").expect("cargo sets RUSTC"))
        .args([
            "--edition",
            "2024",
            "-C",
            "opt-level=3",
            "-C",
            "panic=abort",
        ])
        .args(["-C", "codegen-units=1", "-C", "relocation-model=pic"])
        // A signal handler of the program may run on the same stack, and no register may change but
        // those that a system call changes.
        .args(["-C", "no-redzone=yes", "-C", "target-feature=-sse,-sse2"])
        .args(more)
        .arg(source)
        .arg("-o")
        .arg(to)
        .output()
        .expect("the compiler that cargo names can be run")
}
