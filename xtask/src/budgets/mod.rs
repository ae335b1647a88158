//! Compares the benches' output with the budgets (design: scale and reliability). Never part of the tests, because
//! times depend on the machine and its load.

mod figures;
mod growth;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};

use figures::{Figure, figures};

/// The plot of recall's growth.
const PLOT: &str = "docs/growth.svg";
/// The benches whose figures have budgets.
const BENCHES: [(&str, &str); 2] = [("runtime", "turn"), ("store", "store")];

/// Path of the program in the target folder; [`PROGRAM_BYTES_MAX`] applies to this file.
const PROGRAM: &str = "release/echovessel";
/// Size of the program, without symbols.
const PROGRAM_BYTES_MAX: u64 = 45_000_000;

/// Compares the size of the release build with its limit. The number of packages is a rule of `tidy`.
fn is_program_too_large(root: &Path) -> Result<bool> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let path = target.join(PROGRAM);
    let size = fs::metadata(&path)
        .with_context(|| {
            format!("{} is missing: cargo build --release --package echovessel", path.display())
        })?
        .len();
    let (size_mb, limit_mb) = (size as f64 / 1e6, PROGRAM_BYTES_MAX as f64 / 1e6);
    println!("the program has {size_mb:.1} MB, and {limit_mb:.1} MB at most are allowed\n");
    Ok(size > PROGRAM_BYTES_MAX)
}

/// Runs the benches, or reads their output, and reports the figures that exceed their budgets.
pub(crate) fn run(root: &Path, printed: Option<&Path>) -> Result<ExitCode> {
    let text = match printed {
        Some(file) => {
            fs::read_to_string(file).with_context(|| format!("{} can't be read", file.display()))?
        }
        None => {
            BENCHES.iter().map(|(package, bench)| run_bench(root, package, bench)).collect::<Result<_>>()?
        }
    };
    let figures = figures(&text);
    if figures.is_empty() {
        bail!("no figures were found in what the benches printed");
    }
    if let Some(plot) = growth::plot(&figures) {
        fs::write(root.join(PLOT), plot).with_context(|| format!("{PLOT} can't be written"))?;
        println!("{PLOT} was drawn\n");
    }
    let exceeded = usize::from(is_program_too_large(root)?) + print(&figures);
    Ok(if exceeded == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs one bench, prints its output line by line, and returns it.
fn run_bench(root: &Path, package: &str, bench: &str) -> Result<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut child = Command::new(cargo)
        .current_dir(root)
        .args(["bench", "--package", package, "--bench", bench])
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("the bench of {package} could not be started"))?;
    let mut text = String::new();
    let output = child.stdout.take().context("its output is read")?;
    for line in BufReader::new(output).lines() {
        let line = line?;
        println!("{line}");
        text.push_str(&line);
        text.push('\n');
    }
    if !child.wait()?.success() {
        bail!("the bench of {package} failed");
    }
    Ok(text)
}

/// Prints every figure that has a budget; returns the number of those that exceed it.
fn print(figures: &[Figure]) -> usize {
    let budgeted = figures.iter().filter_map(|figure| Some((figure, figure.budget?)));
    println!("{:<62} {:>10} {:>10} {:>7}", "what", "measured", "budget", "share");
    let mut exceeded = 0;
    for (figure, budget) in budgeted {
        let share = figure.share(budget);
        let mark = if share > 1.0 { "  EXCEEDED" } else { "" };
        exceeded += usize::from(share > 1.0);
        let unit = figure.unit;
        println!(
            "{:<62} {:>7.2} {unit} {budget:>7} {unit} {:>6.0}%{mark}",
            figure.what,
            figure.measured,
            share * 100.0
        );
    }
    println!("\n{exceeded} exceeded");
    exceeded
}
