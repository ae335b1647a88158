use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::card::{Card, Lorebook};
use crate::message_time::MessageTime;

/// One thing found in a source, in the file's order.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// Messages of this conversation follow. Doesn't count as found. A conversation may start more than once.
    Conversation(Conversation),
    /// A message that was shown.
    Message(Box<Message>),
    /// Text that is not talk: diary, notes, letters, a project's file.
    Document(Document),
    Card(Box<Card>),
    /// A lorebook that belongs to no card.
    Lorebook(Lorebook),
    /// Draft for a core block; a person confirms it.
    CoreDraft(CoreDraft),
    /// A memory that the other program had saved about its user; a person decides about it.
    SavedMemory(SavedMemory),
    /// Found, but not taken.
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
    /// Stable between exports, unique within the format: the publisher's id, or one built of what doesn't change.
    pub id: String,
    /// The publisher's title or the chat's name.
    pub title: Option<String>,
    /// True if the owner marked the conversation, for instance with a star.
    pub is_starred: bool,
}

/// Identity of a message between two imports.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExternalId {
    /// The publisher's id, unique within its conversation.
    Given(String),
    /// Hex digest of conversation, speaker, time, text, and which of the equal ones it is. The format has no ids.
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
    /// Somebody else, or the format doesn't say.
    Other,
}

/// A shown message, verbatim.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Unique within the conversation.
    pub id: ExternalId,
    /// [`Conversation::id`] of the conversation that started last.
    pub conversation: String,
    /// A name for all that the id is unique in, if that is more than the conversation: conversations that are copies of one
    /// another up to a point share these messages.
    pub id_space: Option<String>,
    /// The speaker, as the format names it. Never empty.
    pub speaker: String,
    /// The speaker's role according to the format.
    pub role: Role,
    pub time: MessageTime,
    /// Verbatim; empty only if there are attachments.
    pub text: String,
    /// Versions that were not shown: swipes, edits, branches. They prove nothing.
    pub alternatives: Vec<Alternative>,
    /// Zero-based place of the shown text among the versions with `follows: None`, for "2 / 4".
    pub shown_index: usize,
    /// Files that came with it; their bytes are not read.
    pub attachments: Vec<Attachment>,
    /// Language model that wrote the message.
    pub model: Option<String>,
    /// True if bytes that are not UTF-8 were replaced.
    pub is_cleaned: bool,
    /// File and line, or file and element, for a person to find it again.
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
    /// The alternative or message that it follows. `None`: it is a version of the message that holds it.
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
    /// Film or moving picture.
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

/// A file that came with a message.
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

/// Text that is not talk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Stable between exports: the publisher's id, else the name.
    pub id: String,
    /// Name to show, with folders (`memory/2026-01-05.md`). Never a path to write to.
    pub name: String,
    /// Day that the document is about, as a diary's is.
    pub day: Option<Date>,
    pub text: String,
    /// True if bytes that are not UTF-8 were replaced.
    pub is_cleaned: bool,
    /// File that the document is from, for a person to find it again.
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
    /// Rules for the way of speaking.
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
    /// File that the draft is from, for a person to find it again.
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
    /// File that the memory is from, for a person to find it again.
    pub place: String,
}

/// Something found that is not taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SkippedItem")]
pub struct Skip {
    /// File and line, or file and element.
    #[serde(rename = "where")]
    pub place: String,
    /// Why, in words for a person.
    pub reason: String,
}

impl Skip {
    pub(crate) fn new(place: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { place: place.into(), reason: reason.into() }
    }
}
