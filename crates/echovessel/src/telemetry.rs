//! What the program says of itself while it runs: on standard error, nowhere else. There is no telemetry to anybody.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

/// Begins to log. `ECHOVESSEL_LOG` sets the level, as `debug` or `runtime=debug`; JSON lines when asked.
pub(crate) fn start(default_level: &str, json: bool) {
    let filter = EnvFilter::try_from_env("ECHOVESSEL_LOG").unwrap_or_else(|_| EnvFilter::new(default_level));
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false);
    // A second start in one process (tests) keeps the first.
    let _ = if json { lines.json().try_init() } else { lines.compact().try_init() };
}
