//! Builds messages for all readers, with the common checks.

use super::digests::stable_id;
use crate::item::{Attachment, AttachmentKind, Conversation, ExternalId, Item, Message, Role, Skip};
use crate::limits::{ATTACHMENTS_MAX, ID_BYTES_MAX, MESSAGE_BYTES_MAX, NAME_CHARS_MAX};
use crate::message_time::MessageTime;

/// Maximum length of a message's place, in characters. It is part of a message's key, and folders may be nested
/// deeply.
const PLACE_CHARS_MAX: usize = 2_000;

/// The id, or a digest of it if it is too long.
fn bounded_id(id: &str) -> String {
    if id.len() <= ID_BYTES_MAX { id.to_owned() } else { stable_id(&[id]) }
}

/// Name of a speaker without a name in the file.
const UNNAMED_SPEAKER: &str = "unknown";

/// A message with the fields that every format has.
pub(super) fn build_message(
    id: ExternalId,
    conversation: &str,
    (speaker, role): (&str, Role),
    time: MessageTime,
    text: String,
    place: String,
) -> Message {
    let id = match id {
        ExternalId::Given(id) => ExternalId::Given(bounded_id(&id)),
        ExternalId::Digest(id) => ExternalId::Digest(id),
    };
    Message {
        id,
        conversation: bounded_id(conversation),
        id_space: None,
        speaker: speaker_name(speaker),
        role,
        time,
        text,
        alternatives: Vec::new(),
        shown_index: 0,
        attachments: Vec::new(),
        model: None,
        is_cleaned: false,
        place,
    }
}

/// The message, or a skip if it has neither text nor files, or is too long.
pub(super) fn check_message(mut message: Message) -> Item {
    message.model = message.model.map(|model| shorten_name(&model));
    message.place = message.place.chars().take(PLACE_CHARS_MAX).collect();
    let more = message.attachments.len().saturating_sub(ATTACHMENTS_MAX);
    if more > 0 {
        message.attachments.truncate(ATTACHMENTS_MAX);
        message
            .attachments
            .push(Attachment { kind: AttachmentKind::File, name: Some(format!("{more} more")) });
    }
    if message.text.len() > MESSAGE_BYTES_MAX {
        let reason = format!("the message is longer than {MESSAGE_BYTES_MAX} bytes");
        return Item::Skip(Skip::new(message.place, reason));
    }
    if message.text.trim().is_empty() && message.attachments.is_empty() {
        return Item::Skip(Skip::new(message.place, "the message is empty"));
    }
    Item::Message(Box::new(message))
}

/// The start of a conversation, its title cut to the limit. Most formats have no stars.
pub(super) fn begin_conversation(id: &str, title: Option<&str>) -> Item {
    conversation_with_star(id, title, false)
}

/// Like [`begin_conversation`], for formats in which an owner can mark conversations.
pub(super) fn conversation_with_star(id: &str, title: Option<&str>, is_starred: bool) -> Item {
    let title = title.map(|title| shorten_name(title.trim())).filter(|title| !title.is_empty());
    Item::Conversation(Conversation { id: bounded_id(id), title, is_starred })
}

/// The name without surrounding white space and invisible characters, cut to its limit; never empty.
pub(super) fn speaker_name(name: &str) -> String {
    let name = shorten_name(
        name.trim_matches(|character: char| character.is_whitespace() || is_invisible_mark(character)),
    );
    if name.is_empty() { UNNAMED_SPEAKER.to_owned() } else { name }
}

/// True for invisible characters such as marks of writing direction.
pub(super) fn is_invisible_mark(character: char) -> bool {
    matches!(character, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2069}' | '\u{FEFF}')
}

fn shorten_name(name: &str) -> String {
    name.chars().filter(|character| !character.is_control()).take(NAME_CHARS_MAX).collect()
}

/// An attachment by its file name: the part after the last separator; the kind by its extension.
pub(super) fn attachment_from_path(path: &str) -> Attachment {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let name = shorten_name(path.rsplit(['/', '\\']).next().unwrap_or_default().trim());
    Attachment { kind: kind_by_ending(&name), name: (!name.is_empty()).then_some(name) }
}

fn kind_by_ending(name: &str) -> AttachmentKind {
    let ending = name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    match ending.as_str() {
        "jpg" | "jpeg" | "png" | "gif" | "webp" | "heic" | "bmp" | "avif" => AttachmentKind::Image,
        "mp4" | "mov" | "webm" | "mkv" | "3gp" | "avi" => AttachmentKind::Video,
        "opus" | "ogg" | "oga" | "mp3" | "m4a" | "aac" | "wav" | "amr" | "flac" | "silk" => {
            AttachmentKind::Audio
        }
        "tgs" => AttachmentKind::Sticker,
        _ => AttachmentKind::File,
    }
}

/// Role for a word; `None` for messages that are not part of a conversation: system messages, tools.
pub(super) fn role_from_word(word: &str) -> Option<Role> {
    match word.trim().to_lowercase().as_str() {
        "user" | "human" | "me" | "you" | "self" | "prompter" | "我" => Some(Role::User),
        "assistant" | "ai" | "bot" | "model" | "persona" | "character" | "char" | "gpt" | "chatgpt"
        | "claude" => Some(Role::Persona),
        "system" | "tool" | "function" | "developer" => None,
        _ => Some(Role::Other),
    }
}
