//! `echovessel completions`: what a shell reads to complete the command line.

use clap::CommandFactory as _;
use clap_complete::{Shell, generate};

use crate::cli::Cli;

pub(crate) fn completions(shell: Shell) {
    // Written at once: the generator can't bear a reader that goes away.
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "echovessel", &mut script);
    print!("{}", String::from_utf8_lossy(&script));
}
