//! Server events: names and fields are part of the HTTP API and the same on every channel.

use memory::{PersonaId, Scope, UserId};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::events::bodies::{
    AccessCreated, ImportProgress, MessageDeleted, MessageEdited, MoodUpdate, ReplyDone, SessionBoundary,
    SettingsUpdated, Token, TurnFailed, TypingStarted, UserAppended, VoiceReady, VoiceSentence,
};
use crate::events::memory_bodies::{
    ConflictOpened, EntityConfirmed, EntityDescribed, EventCreated, MemoryForgotten, NodeUpdated,
    ThoughtCreated, WorkFailed,
};

/// Data of a server event. It reports something that has happened and is stored; only a [`Token`] is part of a reply
/// that is still being written.
pub trait EventData: Serialize {
    /// Name of the event on the wire, such as `chat.message.done`.
    const NAME: &'static str;
}

/// An event with its scope.
#[derive(Clone, Debug, PartialEq)]
pub struct WireEvent {
    /// Only subscribers that may see this scope receive the event.
    pub scope: Scope,
    /// Name on the wire: an [`EventData::NAME`].
    pub name: &'static str,
    /// Fields on the wire.
    pub data: Value,
}

impl WireEvent {
    /// Adds the scope to the data; for a `chat.` event also the channel and the turn, null if there is none.
    pub fn new<E: EventData>(scope: Scope, data: &E) -> Self {
        let mut data = json!(data);
        if let Some(fields) = data.as_object_mut() {
            fields.insert("persona_id".to_owned(), json!(scope.persona));
            fields.insert("user_id".to_owned(), json!(scope.user));
            if E::NAME.starts_with("chat.") {
                fields.entry("source_channel_id").or_insert(Value::Null);
                fields.entry("turn_id").or_insert(Value::Null);
            }
        }
        Self { scope, name: E::NAME, data }
    }
}

/// Declares every event: its name on the wire and the type of its data.
macro_rules! server_events {
    ($($field:ident: $data:ident = $name:literal,)*) => {
        $(impl EventData for $data {
            const NAME: &'static str = $name;
        })*

        /// The data of each event with a scope, by the event's name.
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "names the events in the API document")]
        pub struct ServerEvents {
            $(#[serde(rename = $name)] $field: ScopedFields<$data>,)*
        }
    };
}

server_events! {
    user_appended: UserAppended = "chat.message.user_appended",
    typing_started: TypingStarted = "chat.message.typing_started",
    token: Token = "chat.message.token",
    done: ReplyDone = "chat.message.done",
    voice_sentence: VoiceSentence = "chat.message.voice_sentence",
    voice_ready: VoiceReady = "chat.message.voice_ready",
    failed: TurnFailed = "chat.message.failed",
    edited: MessageEdited = "chat.message.edited",
    deleted: MessageDeleted = "chat.message.deleted",
    mood: MoodUpdate = "chat.mood.update",
    boundary: SessionBoundary = "chat.session.boundary",
    settings: SettingsUpdated = "chat.settings.updated",
    event: EventCreated = "memory.event.created",
    thought: ThoughtCreated = "memory.thought.created",
    entity: EntityConfirmed = "memory.entity.confirmed",
    entity_described: EntityDescribed = "memory.entity.description_updated",
    node: NodeUpdated = "memory.node.updated",
    forgotten: MemoryForgotten = "memory.forgotten",
    work_failed: WorkFailed = "work.failed",
    import: ImportProgress = "import.progress",
    conflict: ConflictOpened = "sync.conflict",
    access: AccessCreated = "access.created",
}

/// Fields of every event about a scope.
#[derive(JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "describes events in the API document")]
struct ScopedFields<T> {
    persona_id: PersonaId,
    user_id: UserId,
    #[serde(flatten)]
    data: T,
}
