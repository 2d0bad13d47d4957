//! Tells the build scripts that compile these sources once more, into other programs, where they are: in a checkout as in a
//! package.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let here = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    println!("cargo::metadata=sources={here}");
}
