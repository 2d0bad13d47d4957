//! The program. All of it is in the library, so that the Python package can include it.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(tinygram::main(std::env::args_os()))
}
