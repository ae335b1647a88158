//! Wall time and processor time, and the table that is printed.

use std::fs;
use std::time::Duration;

/// One line of the table.
pub(crate) struct Figures {
    pub(crate) what: String,
    /// Wall time of each round.
    pub(crate) times: Vec<Duration>,
    /// Mean processor time of a round, of all threads together.
    pub(crate) processor: Duration,
    /// The first round, with empty caches.
    pub(crate) cold: Option<Duration>,
    /// Aim of p50 in milliseconds; empty without an aim.
    pub(crate) aim: &'static str,
}

pub(crate) fn print_heading() {
    println!("| {:<52} | p50 ms | p95 ms | CPU ms | cold ms | RSS MB | aim ms |", "what");
    println!("|{:-<54}|--------|--------|--------|---------|--------|--------|", "");
}

impl Figures {
    pub(crate) fn print(mut self) {
        self.times.sort_unstable();
        let at =
            |percent: usize| ms(self.times[(self.times.len() * percent / 100).min(self.times.len() - 1)]);
        println!(
            "| {:<52} | {:>6} | {:>6} | {:>6} | {:>7} | {:>6} | {:>6} |",
            self.what,
            at(50),
            at(95),
            ms(self.processor),
            self.cold.map(ms).unwrap_or_default(),
            resident(),
            self.aim
        );
    }
}

fn ms(duration: Duration) -> String {
    format!("{:.2}", duration.as_secs_f64() * 1_000.0)
}

/// Processor time of all threads of this process; zero if the system does not report it.
pub(crate) fn processor_time() -> Duration {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let spent = tasks.filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(spent.sum())
}

/// Resident memory of this process, in megabytes.
fn resident() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.map_or_else(String::new, |kib| (kib / 1_024).to_string())
}
