//! Logging to standard error. No data is sent to anybody.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

/// Crate that logs a few lines at `info` for each message, also without a problem.
const VERBOSE_CRATE: &str = "rmcp";

/// Crates that log the parameters of statements, which are people's texts, at `debug`: they never log below `warn`.
const PARAMETER_LOGGING_CRATES: [&str; 2] = ["tokio_postgres", "postgres"];

/// The log filter: by default without the details of verbose libraries.
fn log_filter(asked: Option<&str>, default_level: &str) -> EnvFilter {
    let directives = |text: &str| match text.contains(VERBOSE_CRATE) {
        true => text.to_owned(),
        false => format!("{text},{VERBOSE_CRATE}=warn"),
    };
    // A directive for a module of these crates would override the one for the whole crate.
    let is_wordy =
        |text: &&str| PARAMETER_LOGGING_CRATES.iter().any(|library| text.trim_start().starts_with(library));
    let asked =
        asked.map(|text| text.split(',').filter(|text| !is_wordy(text)).collect::<Vec<_>>().join(","));
    let asked = asked.filter(|text| !text.trim().is_empty());
    let asked = asked.and_then(|text| EnvFilter::try_new(directives(&text)).ok());
    let filter = asked.unwrap_or_else(|| EnvFilter::new(directives(default_level)));
    let quiet = PARAMETER_LOGGING_CRATES.iter().filter_map(|library| format!("{library}=warn").parse().ok());
    quiet.fold(filter, EnvFilter::add_directive)
}

/// Starts logging. `ECHOVESSEL_LOG` sets the level, as `debug` or `runtime=debug`; `json` selects JSON lines.
pub(crate) fn start(default_level: &str, json: bool) {
    let asked = std::env::var("ECHOVESSEL_LOG").ok();
    let filter = log_filter(asked.as_deref(), default_level);
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false);
    // A second call in one process (in tests) has no effect.
    let _ = if json { lines.json().try_init() } else { lines.compact().try_init() };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_log_only_at_the_requested_level() {
        let said = |asked| log_filter(asked, "info").to_string();
        for asked in [None, Some(""), Some("no such=level=at all")] {
            assert!(said(asked).contains("rmcp=warn") && said(asked).contains("info"), "{}", said(asked));
        }
        assert!(said(Some("debug")).contains("rmcp=warn"));
        assert!(said(Some("info,rmcp=debug")).contains("rmcp=debug"));
        let words = said(Some("debug,tokio_postgres::query=trace, postgres=debug"));
        assert!(words.contains("tokio_postgres=warn") && words.contains(",postgres=warn"), "{words}");
        assert!(!words.contains("query"), "{words}");
    }
}
