use std::io::{self, Write};

use serde_json::{Value, json};

use crate::item::{Alternative, Message, Role};
use crate::message_time::MessageTime;

/// Writes conversations as ChatGPT's `conversations.json`: each is a tree of nodes with all its branches.
pub struct ChatGptWriter<W> {
    out: W,
    has_conversations: bool,
    open: Option<OpenConversation>,
}

/// The conversation that is being written.
struct OpenConversation {
    id: String,
    title: String,
    created: Option<f64>,
    has_nodes: bool,
    /// The node whose children are known once the next message arrives.
    last: LastNode,
}

struct LastNode {
    id: String,
    parent: Option<String>,
    message: Value,
    /// Ids of branches after it that were not shown.
    branches: Vec<String>,
}

impl<W: Write> ChatGptWriter<W> {
    pub fn new(mut out: W) -> io::Result<Self> {
        out.write_all(b"[")?;
        Ok(Self { out, has_conversations: false, open: None })
    }

    /// Begins a conversation, and ends the one before.
    pub fn begin(&mut self, id: &str, title: &str, created: MessageTime) -> io::Result<()> {
        self.write_end()?;
        if std::mem::replace(&mut self.has_conversations, true) {
            self.out.write_all(b",\n")?;
        }
        self.out.write_all(b"{\"mapping\":{")?;
        let root =
            LastNode { id: format!("root-{id}"), parent: None, message: Value::Null, branches: Vec::new() };
        let (id, title) = (id.to_owned(), title.to_owned());
        self.open = Some(OpenConversation {
            id,
            title,
            created: unix_seconds(created),
            has_nodes: false,
            last: root,
        });
        Ok(())
    }

    /// Writes a message of the conversation that began last; fails if there is none.
    pub fn write(&mut self, message: &Message) -> io::Result<()> {
        let Some(open) = &mut self.open else { return Err(io::Error::other("no conversation has begun")) };
        let parent = open.last.id.clone();
        let id = message.id.as_str().to_owned();
        let versions = message.alternatives.iter().filter(|version| version.follows.is_none());
        let mut children: Vec<String> = versions.map(|version| version.id.clone()).collect();
        children.insert(message.shown_index.min(children.len()), id.clone());
        write_last(&mut self.out, open, children)?;
        for version in &message.alternatives {
            let below = |other: &&Alternative| other.follows.as_deref() == Some(version.id.as_str());
            let children = message.alternatives.iter().filter(below).map(|other| other.id.clone()).collect();
            let said = message_node(
                &version.id,
                (version.role, ""),
                version.time,
                &version.text,
                version.model.as_deref(),
            );
            let parent = version.follows.clone().unwrap_or_else(|| parent.clone());
            write_node(&mut self.out, open, &version.id, Some(&parent), said, children)?;
        }
        let after = message.alternatives.iter().filter(|version| version.follows.as_ref() == Some(&id));
        let branches = after.map(|version| version.id.clone()).collect();
        let text = message.text_with_attachments();
        let said = message_node(
            &id,
            (message.role, &message.speaker),
            message.time,
            &text,
            message.model.as_deref(),
        );
        open.last = LastNode { id, parent: Some(parent), message: said, branches };
        Ok(())
    }

    fn write_end(&mut self) -> io::Result<()> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        let current = open.last.id.clone();
        write_last(&mut self.out, &mut open, Vec::new())?;
        let rest = json!({
            "title": open.title,
            "create_time": open.created,
            "conversation_id": open.id,
            "current_node": current,
        });
        // The tree is the first field, so that it need not be held until the end.
        write!(self.out, "}},{}", &rest.to_string()[1..])
    }

    /// Ends the list and returns the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.write_end()?;
        self.out.write_all(b"]\n")?;
        self.out.flush()?;
        Ok(self.out)
    }
}

fn write_last(
    out: &mut impl Write,
    open: &mut OpenConversation,
    mut children: Vec<String>,
) -> io::Result<()> {
    children.append(&mut open.last.branches);
    let (id, parent) = (open.last.id.clone(), open.last.parent.clone());
    let message = std::mem::take(&mut open.last.message);
    write_node(out, open, &id, parent.as_deref(), message, children)
}

fn write_node(
    out: &mut impl Write,
    open: &mut OpenConversation,
    id: &str,
    parent: Option<&str>,
    message: Value,
    children: Vec<String>,
) -> io::Result<()> {
    if std::mem::replace(&mut open.has_nodes, true) {
        out.write_all(b",")?;
    }
    let node = json!({"id": id, "message": message, "parent": parent, "children": children});
    write!(out, "{}:{node}", Value::from(id))
}

fn message_node(
    id: &str,
    (role, speaker): (Role, &str),
    time: MessageTime,
    text: &str,
    model: Option<&str>,
) -> Value {
    // There are two roles. A name marks another speaker on the user's side.
    let name = (role == Role::Other && !speaker.is_empty()).then_some(speaker);
    let role = if role == Role::Persona { "assistant" } else { "user" };
    json!({
        "id": id,
        "author": {"role": role, "name": name, "metadata": {}},
        "create_time": unix_seconds(time),
        "content": {"content_type": "text", "parts": [text]},
        "status": "finished_successfully",
        "weight": 1.0,
        "metadata": model.map_or_else(|| json!({}), |model| json!({"model_slug": model})),
        "recipient": "all",
    })
}

/// Seconds since 1970; a local time is taken as UTC.
#[expect(clippy::cast_precision_loss, reason = "microseconds since 1970 fit a double until the year 2255")]
fn unix_seconds(time: MessageTime) -> Option<f64> {
    let at = match time {
        MessageTime::Instant(at) => at,
        MessageTime::Local(at) => at.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp(),
        MessageTime::Unknown => return None,
    };
    Some(at.as_microsecond() as f64 / 1e6)
}
