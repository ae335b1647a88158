use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::card::{Card, Lorebook};
use crate::message_time::MessageTime;

/// One item found in a source; items come in the file's order.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// Start of a conversation, whose messages follow. It does not count as found. A conversation may start more than
    /// once.
    Conversation(Conversation),
    /// A message that was shown.
    Message(Box<Message>),
    /// Text that is not a conversation: diary, notes, letters, a project's file.
    Document(Document),
    Card(Box<Card>),
    /// A lorebook without a card.
    Lorebook(Lorebook),
    /// Draft for a core block, for a person to confirm.
    CoreDraft(CoreDraft),
    /// A memory that the other program had saved about its user; a person decides about it.
    SavedMemory(SavedMemory),
    /// An item that was found but is not imported.
    Skip(Skip),
}

impl Item {
    /// True if it counts in `found = recorded + already_there + skipped`: everything but the start of a conversation.
    pub fn is_counted(&self) -> bool {
        !matches!(self, Self::Conversation(_))
    }
}

/// Start of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversation {
    /// Id that is the same in later exports and unique within the format: the publisher's id, or one computed from
    /// fields that don't change.
    pub id: String,
    /// The publisher's title or the chat's name.
    pub title: Option<String>,
    /// True if the owner marked the conversation, for instance with a star.
    pub is_starred: bool,
}

/// Identifies a message across imports.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExternalId {
    /// The publisher's id, unique within its conversation.
    Given(String),
    /// Hex digest of conversation, speaker, time, text, and its number among equal ones, for formats without ids.
    Digest(String),
}

impl ExternalId {
    /// The id or digest, without its kind.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Given(id) | Self::Digest(id) => id,
        }
    }
}

/// The speaker's role according to the format. A [`crate::Mapping`] decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SpeakerRole")]
pub enum Role {
    /// The assistant or the character.
    Persona,
    /// The account that made the export.
    User,
    /// Somebody else, or the format does not say.
    Other,
}

/// A shown message, verbatim.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Unique within the conversation.
    pub id: ExternalId,
    /// [`Conversation::id`] of the conversation that started last.
    pub conversation: String,
    /// Name of the set in which the id is unique, if that is more than the conversation. Conversations that are
    /// copies of one another up to a point share these messages.
    pub id_space: Option<String>,
    /// The speaker, as the format names it. Never empty.
    pub speaker: String,
    /// The speaker's role according to the format.
    pub role: Role,
    pub time: MessageTime,
    /// Verbatim; empty only if there are attachments.
    pub text: String,
    /// Versions that were not shown: swipes, edits, branches. They are no evidence for memories.
    pub alternatives: Vec<Alternative>,
    /// Zero-based index of the shown text among the versions with `follows: None`, to show "2 / 4".
    pub shown_index: usize,
    /// Attached files, without their content.
    pub attachments: Vec<Attachment>,
    /// Language model that wrote the message.
    pub model: Option<String>,
    /// True if bytes that are not UTF-8 were replaced.
    pub is_cleaned: bool,
    /// File and line, or file and element, for a person to find the message.
    pub place: String,
}

impl Message {
    /// The text with a line such as `[image: cat.jpg]` for each attachment.
    pub fn text_with_attachments(&self) -> String {
        let mut text = self.text.clone();
        for attachment in &self.attachments {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&attachment.to_string());
        }
        text
    }
}

/// A version that was not shown, or a message of a branch that was not shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Alternative {
    /// Unique within the conversation; the format's id, or `<message id>#<index>`.
    pub id: String,
    /// The alternative or message that it follows; `None` if it is a version of the message that contains it.
    pub follows: Option<String>,
    pub speaker: String,
    pub role: Role,
    pub time: MessageTime,
    pub text: String,
    /// The model that wrote the version, as [`Message::model`].
    pub model: Option<String>,
}

/// Kind of an attached file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachmentKind {
    Image,
    /// Video or animated picture.
    Video,
    /// Voice message or music.
    Audio,
    Sticker,
    File,
}

impl AttachmentKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Video => "video",
            Self::Audio => "audio",
            Self::Sticker => "sticker",
            Self::File => "file",
        }
    }
}

/// A file attached to a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// Kind, as far as the format says.
    pub kind: AttachmentKind,
    /// File name or caption, without folders; `None` if the format omits it.
    pub name: Option<String>,
}

impl std::fmt::Display for Attachment {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.name {
            Some(name) => write!(formatter, "[{}: {name}]", self.kind.as_str()),
            None => write!(formatter, "[{}]", self.kind.as_str()),
        }
    }
}

/// A text that is not a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Id that is the same in later exports: the publisher's id, else the name.
    pub id: String,
    /// Name to show, with folders (`memory/2026-01-05.md`). Never a path to write to.
    pub name: String,
    /// Day that the document is about, such as that of a diary.
    pub day: Option<Date>,
    pub text: String,
    /// True if bytes that are not UTF-8 were replaced.
    pub is_cleaned: bool,
    /// File of the document, for a person to find it.
    pub place: String,
}

/// The core block that a draft is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "DraftedBlock")]
pub enum CoreBlock {
    /// Text about the persona.
    Persona,
    /// Text about the user.
    User,
    /// Rules for the persona's way of speaking.
    Style,
}

/// Text that could be a core block once a person confirms it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreDraft {
    /// The core block that the draft would go to.
    pub block: CoreBlock,
    /// The title in the source: "Custom instructions", "SOUL.md".
    pub title: String,
    pub text: String,
    /// File of the draft, for a person to find it.
    pub place: String,
}

/// A statement about the user that another program had saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedMemory {
    pub text: String,
    /// Day on which the memory was saved.
    pub day: Option<Date>,
    /// The program: `ChatGPT`, `Claude`, `OpenClaw`.
    pub source: String,
    /// File of the memory, for a person to find it.
    pub place: String,
}

/// An item that is not imported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SkippedItem")]
pub struct Skip {
    /// File and line, or file and element.
    #[serde(rename = "where")]
    pub place: String,
    /// The reason, in words for a person.
    pub reason: String,
}

impl Skip {
    pub(crate) fn new(place: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { place: place.into(), reason: reason.into() }
    }
}
