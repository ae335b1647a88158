use std::io::{self, Write};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::item::{Message, Role};
use crate::message_time::MessageTime;

/// Writes one chat as SillyTavern's JSON Lines: a header, then a line for each message with its swipes.
pub struct SillyTavernWriter<W> {
    out: W,
    left_out: u64,
}

impl<W: Write> SillyTavernWriter<W> {
    /// Writes the header. A later import recognises the chat by `id`.
    pub fn new(
        mut out: W,
        id: &str,
        persona_name: &str,
        user_name: &str,
        created: Timestamp,
    ) -> io::Result<Self> {
        let header = json!({
            "user_name": user_name,
            "character_name": persona_name,
            "create_date": created.to_string(),
            "chat_metadata": {"integrity": id},
        });
        writeln!(out, "{header}")?;
        Ok(Self { out, left_out: 0 })
    }

    /// Writes a message with its speaker's name; names of attachments are added to the text.
    pub fn write(&mut self, message: &Message) -> io::Result<()> {
        let shown = message.text_with_attachments();
        let mut line = json!({
            "name": message.speaker,
            "is_user": message.role == Role::User,
            "is_system": false,
            "send_date": send_date(message.time),
            "mes": shown,
            "extra": extra_fields(message.model.as_deref()),
        });
        let versions: Vec<_> =
            message.alternatives.iter().filter(|version| version.follows.is_none()).collect();
        self.left_out += (message.alternatives.len() - versions.len()) as u64;
        if !versions.is_empty() {
            let at = message.shown_index.min(versions.len());
            let mut swipes: Vec<&str> = versions.iter().map(|version| version.text.as_str()).collect();
            let mut info: Vec<Value> = versions
                .iter()
                .map(|version| json!({"send_date": send_date(version.time), "extra": extra_fields(version.model.as_deref())}))
                .collect();
            swipes.insert(at, &shown);
            info.insert(at, json!({"send_date": send_date(message.time), "extra": line["extra"]}));
            line["swipe_id"] = json!(at);
            line["swipes"] = json!(swipes);
            line["swipe_info"] = json!(info);
        }
        writeln!(self.out, "{line}")
    }

    /// Ends the chat. Returns the output, and the number of messages of branches that were left out, because a swipe
    /// has no continuation.
    pub fn finish(mut self) -> io::Result<(W, u64)> {
        self.out.flush()?;
        Ok((self.out, self.left_out))
    }
}

fn extra_fields(model: Option<&str>) -> Value {
    model.map_or_else(|| json!({}), |model| json!({"model": model}))
}

fn send_date(time: MessageTime) -> Value {
    match time {
        MessageTime::Unknown => Value::Null,
        time => Value::String(time.to_string()),
    }
}
