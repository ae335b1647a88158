//! `echovessel completions`: prints the completion script of a shell.

use clap::CommandFactory as _;
use clap_complete::{Shell, generate};

use crate::cli::Cli;

pub(crate) fn completions(shell: Shell) {
    // Written in one call, because the generator panics if its reader closes the pipe.
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "echovessel", &mut script);
    print!("{}", String::from_utf8_lossy(&script));
}
