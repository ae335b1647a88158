//! Names in the earlier API for tasks, tiers and the ends of sessions.

use memory::sessions::Session;
use serde_json::json;

/// Characters of the error that are appended to the trigger of a failed session.
const REASON_LENGTH_MAX: usize = 60;

/// The name of a task of the language model.
pub(crate) fn feature_of(task: &str) -> &str {
    match task {
        "reply" => "chat",
        "extraction" => "consolidate",
        "import_extraction" => "import",
        "persona_draft" => "unknown",
        known => known,
    }
}

/// The name of a tier of models.
pub(crate) fn tier_name(tier: &str) -> &str {
    match tier {
        "small" => "fast",
        "medium" => "judge",
        "large" => "main",
        other => other,
    }
}

/// Trigger of a failed session, with its error.
pub(crate) fn failed_trigger(session: &Session) -> String {
    let trigger = json!(session.close_trigger);
    let trigger = trigger.as_str().unwrap_or_default();
    let reason = session.last_error.as_deref().unwrap_or("unknown");
    format!("{trigger}|failed:{}", reason.chars().take(REASON_LENGTH_MAX).collect::<String>())
}
