//! `chat.message.error`: the only event of the earlier API for a turn without a reply.

use memory::identifiers::TurnId;
use memory::{PersonaId, UserId};
use runtime::{EventData as _, TurnFailed, WireEvent};
use schemars::JsonSchema;
use serde_json::{Value, json};

const NAME: &str = "chat.message.error";

/// The data of each event of the earlier API, by the event's name.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "names the events in the API document")]
pub(crate) struct LegacyEvents {
    #[serde(rename = "chat.message.error")]
    error: TurnError,
}

#[derive(JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "describes what `legacy_event` returns")]
struct TurnError {
    persona_id: PersonaId,
    user_id: UserId,
    message_id: TurnId,
    turn_id: TurnId,
    source_channel_id: String,
    error: String,
}

/// Name and data of an additional event for clients that don't know this one.
pub(crate) fn legacy_event(event: &WireEvent) -> Option<(&'static str, Value)> {
    let data = &event.data;
    // The message has the id of the one that typing announced.
    (event.name == TurnFailed::NAME).then(|| {
        let error = json!({
            "persona_id": data["persona_id"], "user_id": data["user_id"], "message_id": data["turn_id"],
            "turn_id": data["turn_id"], "source_channel_id": data["source_channel_id"], "error": data["reason"],
        });
        (NAME, error)
    })
}
