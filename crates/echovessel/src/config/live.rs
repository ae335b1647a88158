//! Keys that a running daemon applies at once. This is the only table: the schema, the API, `init` and the book use
//! it.

/// Keys, or whole sections as `recall.*`, that apply without a restart.
const LIVE_KEYS: [&str; 27] = [
    "persona.display_name",
    "llm.*",
    "recall.*",
    "session.idle",
    "session.scan_every",
    "session.max_messages",
    "session.max_tokens",
    "consolidate.*",
    "slow_cycle.*",
    "trace.*",
    "hub.instance",
    "sync.url",
    "sync.command",
    "sync.token_env",
    "sync.ca_file",
    "sync.push_every",
    "proactive.*",
    "voice.*",
    "channels.web.debounce",
    "limits.turn_timeout",
    "limits.body",
    "limits.requests_per_second",
    "limits.burst",
    "limits.turns_per_day",
    "limits.usd_per_day",
    "server.allowed_hosts",
    "openai.*",
];

/// True if a new value of this key takes effect without a restart.
pub(crate) fn is_live(key: &str) -> bool {
    LIVE_KEYS.iter().any(|entry| match entry.strip_suffix('*') {
        Some(section) => key.starts_with(section),
        None => key == *entry,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::known_keys;

    #[test]
    fn every_entry_names_keys_that_exist() {
        let keys: Vec<String> = known_keys().unwrap().into_iter().map(|(key, _)| key).collect();
        for entry in LIVE_KEYS {
            let section = entry.trim_end_matches('*');
            assert!(keys.iter().any(|key| key.starts_with(section)), "{entry}");
        }
        let waiting = ["server.port", "server.host", "storage.url", "persona.id", "embedding.provider"];
        assert!(waiting.iter().all(|key| !is_live(key)));
        assert!(is_live("llm.models.small") && is_live("recall.k"));
    }
}
