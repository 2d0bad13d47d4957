//! Golden output: each file under `cmd/` is a session with its expected output and exit codes.
//! `TRYCMD=overwrite cargo test -p tinygram --test golden` renews them.

#[test]
fn sessions() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd");
}
