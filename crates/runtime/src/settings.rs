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
    /// The persona for requests that name none.
    pub persona: PersonaId,
    /// The persona's first name; afterwards the one in the store is used.
    pub persona_name: String,
    /// The zone of users without one.
    pub zone: TimeZone,
    pub session: SessionPolicy,
    /// Interval of the scan for quiet sessions.
    pub scan_every: Duration,
    /// Interval of the scan for sessions to consolidate; the worker also wakes when a session ends.
    pub poll_every: Duration,
    pub consolidate: ConsolidateSettings,
    pub recall: RecallSettings,
    /// Messages of the recent window.
    pub recent_window: u32,
    /// Delay before a reply, by channel; zero for a channel that is not listed.
    pub debounce: HashMap<String, Duration>,
    /// Maximum tokens of a reply's prompt.
    pub prompt_tokens: u32,
    /// Maximum duration of one turn.
    pub turn_timeout: Duration,
    /// Maximum age of a turn, interrupted by a crash, that is still answered.
    pub answer_within: Duration,
    pub trace: TraceSettings,
    /// Settings of proactive messages.
    pub proactive: ProactiveSettings,
    /// US dollars per day above which background work waits.
    pub daily_spend_cap: Option<f64>,
}

/// Settings of proactive messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProactiveSettings {
    /// True if proactive messages are enabled.
    pub enabled: bool,
    /// Interval of the checks for a trigger.
    pub tick: Duration,
    /// First hour of the night, 0 to 23, in the user's zone.
    pub quiet_hours_start: i8,
    /// First hour after the night. If it is the same as the start, there is no night.
    pub quiet_hours_end: i8,
    /// Maximum messages in any 24 hours.
    pub max_per_24h: u32,
    /// Unanswered messages after which the persona waits for the user; 0 never waits.
    pub cold_user_threshold: u32,
    /// Time without an answer after which the next message is not sent.
    pub cold_user_response_window: Duration,
    /// Silence of the user that is a trigger.
    pub long_silence: Duration,
    /// True to speak such messages, if replies are spoken.
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
    /// True if new traces are stored.
    pub enabled: bool,
    /// Age at which they are deleted.
    pub retention: Duration,
}

impl Default for TraceSettings {
    fn default() -> Self {
        Self { enabled: true, retention: Duration::from_secs(14 * 86_400) }
    }
}
