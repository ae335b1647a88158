//! The project's own automation: `cargo xtask <command>`.

mod tidy;
mod budgets;

use std::env;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};

const USAGE: &str = "\
Usage: cargo xtask <command>

  tidy                 checks the rules of the house that neither compiler nor clippy knows
  budgets [FILE]       runs the benches and compares their figures with the budgets (or reads what they printed
                       into FILE), and draws how recall grows into docs/growth.svg
  draw SEED            prints thirty names and thirty comments of the sources and of the page, drawn at random
  release-migrations   records the hash of every migration that is about to be released";

fn main() -> Result<ExitCode> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in the workspace's root")?;
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => tidy::run(root),
        ["budgets"] => budgets::run(root, None),
        ["budgets", file] => budgets::run(root, Some(Path::new(file))),
        ["draw", seed] => tidy::draw::draw(root, seed.parse()?).map(|()| ExitCode::SUCCESS),
        ["release-migrations"] => tidy::migrations::release(root).map(|()| ExitCode::SUCCESS),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        _ => {
            eprintln!("{USAGE}");
            Ok(ExitCode::from(2))
        }
    }
}
