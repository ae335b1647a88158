//! Settings of the runtime.

use std::collections::HashMap;
use std::time::Duration;

use jiff::tz::TimeZone;
use memory::PersonaId;
use memory::consolidate::ConsolidateSettings;
use memory::recall::RecallSettings;
use memory::sessions::SessionPolicy;

/// Settings of the runtime that a person can change.
#[derive(Clone, Debug)]
pub struct RuntimeSettings {
    /// The persona that answers when a request names none.
    pub persona: PersonaId,
    /// The persona's first name; afterwards the store holds it.
    pub persona_name: String,
    /// The zone of users who have not told theirs.
    pub zone: TimeZone,
    pub session: SessionPolicy,
    /// Interval of the scan for quiet sessions.
    pub scan_every: Duration,
    /// Interval of the scan for sessions to consolidate; the end of a session also wakes the worker.
    pub poll_every: Duration,
    pub consolidate: ConsolidateSettings,
    pub recall: RecallSettings,
    /// Messages of the recent window.
    pub recent_window: u32,
    /// Delay of a burst's reply, by channel; zero for a channel that is not listed.
    pub debounce: HashMap<String, Duration>,
    /// Tokens that a reply's prompt may take.
    pub prompt_tokens: u32,
    /// Maximum duration of one turn.
    pub turn_timeout: Duration,
    /// Age up to which a turn that a crash interrupted is still answered.
    pub answer_within: Duration,
    pub trace: TraceSettings,
    /// Messages that nobody asked for.
    pub proactive: ProactiveSettings,
    /// US dollars a day from which work in the background waits.
    pub daily_spend_cap: Option<f64>,
}

/// Settings of proactive messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProactiveSettings {
    /// True if the persona may write first.
    pub enabled: bool,
    /// Interval of the checks for an occasion.
    pub tick: Duration,
    /// First hour of the night, 0 to 23, in the user's zone.
    pub quiet_hours_start: i8,
    /// First hour after it. The same as the start: there is no night.
    pub quiet_hours_end: i8,
    /// Most messages in any 24 hours.
    pub max_per_24h: u32,
    /// Unanswered messages after which the persona waits for the user; 0 never waits.
    pub cold_user_threshold: u32,
    /// Time that a user has to answer before the next message is held back.
    pub cold_user_response_window: Duration,
    /// Silence of the user that is an occasion.
    pub long_silence: Duration,
    /// True if such a message is spoken too, where replies are.
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

/// Settings of traces: data about the making of replies and memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceSettings {
    /// True if new traces are kept.
    pub enabled: bool,
    /// Age at which they are deleted.
    pub retention: Duration,
}

impl Default for TraceSettings {
    fn default() -> Self {
        Self { enabled: true, retention: Duration::from_secs(14 * 86_400) }
    }
}
