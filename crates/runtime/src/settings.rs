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
    /// Messages that nobody asked for.
    pub proactive: ProactiveSettings,
    /// US dollars a day from which work in the background waits.
    pub daily_spend_cap: Option<f64>,
}

/// When the persona may write by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProactiveSettings {
    /// Whether it may at all.
    pub enabled: bool,
    /// How often is looked whether there is an occasion.
    pub tick: Duration,
    /// First hour of the night, 0 to 23, in the user's zone.
    pub quiet_hours_start: i8,
    /// First hour after it. The same as the start: there is no night.
    pub quiet_hours_end: i8,
    /// Most messages in any 24 hours.
    pub max_per_24h: u32,
    /// Unanswered messages after which the persona waits for the user; 0 never waits.
    pub cold_user_threshold: u32,
    /// How long a user may take to answer one.
    pub cold_user_response_window: Duration,
    /// Silence of the user that is an occasion.
    pub long_silence: Duration,
    /// Whether such a message is spoken too, where replies are.
    pub use_voice: bool,
}

impl Default for ProactiveSettings {
    fn default() -> Self {
        let hours = |hours: u64| Duration::from_secs(hours * 3_600);
        Self {
            enabled: false,
            tick: Duration::from_secs(60),
            quiet_hours_start: 23,
            quiet_hours_end: 7,
            max_per_24h: 3,
            cold_user_threshold: 2,
            cold_user_response_window: hours(6),
            long_silence: hours(48),
            use_voice: true,
        }
    }
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
