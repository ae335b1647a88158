//! The program `echovessel`.

use std::process::ExitCode;

fn main() -> ExitCode {
    echovessel::run()
}
