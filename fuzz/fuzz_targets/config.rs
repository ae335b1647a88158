//! Any text as config.toml, and any JSON as a change of it. A text that is accepted must still be accepted after an
//! accepted change.
#![no_main]
#![allow(dead_code, unused_imports, reason = "the program's module offers more than is needed here")]

#[path = "../../crates/echovessel/src/config/mod.rs"]
mod config;

use std::path::Path;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (text, change) = match bytes.iter().position(|byte| *byte == 0) {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &b"{\"recall\": {\"k\": 3}}"[..]),
    };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let path = Path::new("config.toml");
    if config::parse(text, path, std::iter::empty()).is_err() {
        return;
    }
    let Ok(change) = serde_json::from_slice(change) else { return };
    let Ok(wishes) = config::changes_in(&change, &config::known_keys().unwrap()) else { return };
    let Ok(changed) = config::with_changes(text, &wishes) else { return };
    // An invalid change is refused before it is written; a valid one must be readable.
    let _: Result<config::Config, config::ConfigError> = config::parse(&changed, path, std::iter::empty());
    changed.parse::<toml::Table>().expect("a change made something that is no TOML");
});
