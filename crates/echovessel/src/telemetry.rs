//! Logging to standard error. No data is sent to anybody.

use std::io::IsTerminal as _;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Crate that logs a few lines at `info` for each message, also without a problem.
const VERBOSE_CRATE: &str = "rmcp";

/// Crates that log the parameters of statements, which are people's texts, at `debug`: they never log below `warn`.
const PARAMETER_LOGGING_CRATES: [&str; 2] = ["tokio_postgres", "postgres"];

/// The log filter: by default without the details of verbose libraries.
fn log_filter(asked: Option<&str>, default_level: LevelFilter) -> Targets {
    let asked: Option<Targets> =
        asked.filter(|text| !text.trim().is_empty()).and_then(|text| text.parse().ok());
    let asked = asked.unwrap_or_else(|| Targets::new().with_default(default_level));
    // A directive for a module of these crates would override the one for the whole crate.
    let is_wordy = |target: &str| {
        PARAMETER_LOGGING_CRATES.iter().any(|library| target.trim_start().starts_with(library))
    };
    let kept: Vec<_> = asked.iter().filter(|(target, _)| !is_wordy(target)).collect();
    // `runtime=debug` alone logs that crate only. With no directive left, nothing would be logged.
    let unnamed = if kept.is_empty() { default_level } else { LevelFilter::OFF };
    let default_level = asked.default_level().unwrap_or(unnamed);
    let quiet = PARAMETER_LOGGING_CRATES.map(|library| (library, LevelFilter::WARN));
    // A later directive for the same crate replaces an earlier one: a requested level wins over that of the verbose crate.
    let filter = Targets::new().with_default(default_level).with_target(VERBOSE_CRATE, LevelFilter::WARN);
    filter.with_targets(kept).with_targets(quiet)
}

/// Starts logging. `ECHOVESSEL_LOG` sets the level, as `debug` or `runtime=debug`; `json` selects JSON lines.
pub(crate) fn start(default_level: LevelFilter, json: bool) {
    let asked = std::env::var("ECHOVESSEL_LOG").ok();
    let filter = log_filter(asked.as_deref(), default_level);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false);
    let filtered = tracing_subscriber::registry().with(filter);
    // A second call in one process (in tests) has no effect.
    let _ = match json {
        true => filtered.with(lines.json()).try_init(),
        false => filtered.with(lines.compact()).try_init(),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_log_only_at_the_requested_level() {
        let said = |asked| log_filter(asked, LevelFilter::INFO).to_string();
        for asked in [None, Some(""), Some("no such=level=at all"), Some("postgres=debug")] {
            assert!(said(asked).contains("rmcp=warn") && said(asked).contains("info"), "{}", said(asked));
        }
        assert!(said(Some("debug")).contains("rmcp=warn"));
        assert!(said(Some("info,rmcp=debug")).contains("rmcp=debug"));
        let words = said(Some("debug,tokio_postgres::query=trace, postgres=debug"));
        assert!(
            words.contains("tokio_postgres=warn") && words.split(',').any(|part| part == "postgres=warn"),
            "{words}"
        );
        assert!(!words.contains("query"), "{words}");
    }
}
