//! What a persona's life goes by.

use std::collections::HashMap;
use std::time::Duration;

use jiff::tz::TimeZone;
use memory::PersonaId;
use memory::consolidate::ConsolidateSettings;
use memory::recall::RecallSettings;
use memory::sessions::SessionPolicy;

/// What a person can set about a persona's life.
#[derive(Clone, Debug)]
pub struct RuntimeSettings {
    /// The persona that answers when a request names none.
    pub persona: PersonaId,
    /// Its first name; afterwards the store holds it.
    pub persona_name: String,
    /// The zone of users who have not told theirs.
    pub zone: TimeZone,
    /// When sessions end by themselves.
    pub session: SessionPolicy,
    /// How often quiet sessions are looked for.
    pub scan_every: Duration,
    /// How often sessions to consolidate are looked for; the end of a session also wakes the worker.
    pub poll_every: Duration,
    /// What consolidation goes by.
    pub consolidate: ConsolidateSettings,
    /// What recall goes by.
    pub recall: RecallSettings,
    /// Messages of the recent window.
    pub recent_window: u32,
    /// How long a burst is waited for, by channel; zero for a channel that is not listed.
    pub debounce: HashMap<String, Duration>,
    /// Tokens that a reply's prompt may take.
    pub prompt_tokens: u32,
    /// How long one turn may take.
    pub turn_timeout: Duration,
    /// Age up to which a turn that a crash interrupted is still answered.
    pub answer_within: Duration,
    /// What is kept about how replies and memories came to be.
    pub trace: TraceSettings,
    /// US dollars a day from which work in the background waits.
    pub daily_spend_cap: Option<f64>,
}

/// What is kept about how replies and memories came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceSettings {
    /// Whether new traces are kept.
    pub enabled: bool,
    /// Age at which they are deleted.
    pub retention: Duration,
}

impl Default for TraceSettings {
    fn default() -> Self {
        Self { enabled: true, retention: Duration::from_secs(14 * 86_400) }
    }
}
