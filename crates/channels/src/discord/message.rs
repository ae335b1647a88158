//! Messages in Discord's format, and their conversion for the persona.

use memory::messages::MESSAGE_LENGTH_MAX;
use memory::ports::ReceivedPosition;
use runtime::{ExternalMessage, VOICE_MESSAGE};
use serde::Deserialize;
use serde_json::Value;

use crate::channel::{PieceOrigin, Update, UpdateKind, with_quote};

/// Period, as a difference of message ids, whose messages may be repeated or arrive in another order. The upper bits
/// of an id are milliseconds.
pub(super) const SNOWFLAKE_OVERLAP: i64 = (5 * 60 * 1_000) << SNOWFLAKE_TIME_SHIFT;
/// Bits below the time in an id of Discord.
const SNOWFLAKE_TIME_SHIFT: u32 = 22;
/// The platform's epoch, 2015-01-01, in Unix milliseconds: ids count from there.
const PLATFORM_EPOCH: i64 = 1_420_070_400_000;
/// Kinds of messages that people write: an ordinary one, a reply.
const PERSON_MESSAGE_KINDS: [u8; 2] = [0, 19];
/// Name of the file into which the platform's apps turn a long text.
const PASTE_NAME: &str = "message.txt";
/// Largest pasted file that is read, in bytes: no message may be longer.
pub(super) const PASTE_BYTES_MAX: usize = 4 * MESSAGE_LENGTH_MAX;
/// Message flag of a voice message, as Discord documents it.
pub(super) const VOICE_MESSAGE_FLAG: u64 = 1 << 13;

#[derive(Deserialize)]
pub(super) struct Message {
    id: String,
    channel_id: String,
    guild_id: Option<String>,
    author: Option<Author>,
    content: Option<String>,
    #[serde(rename = "type", default)]
    kind: u8,
    webhook_id: Option<String>,
    #[serde(default)]
    flags: u64,
    #[serde(default)]
    mentions: Vec<Author>,
    #[serde(default)]
    attachments: Vec<Attachment>,
    #[serde(default)]
    sticker_items: Vec<Sticker>,
    poll: Option<Value>,
    /// The message that the message replies to; missing if that was deleted.
    referenced_message: Option<Box<QuotedMessage>>,
    #[serde(default)]
    message_snapshots: Vec<Snapshot>,
    nonce: Option<Value>,
    edited_timestamp: Option<String>,
}

#[derive(Deserialize)]
struct QuotedMessage {
    #[serde(default)]
    content: String,
}

/// The content of a forwarded message at the time of forwarding.
#[derive(Deserialize)]
struct Snapshot {
    message: SnapshotMessage,
}

#[derive(Deserialize)]
struct SnapshotMessage {
    #[serde(default)]
    content: String,
    #[serde(default)]
    attachments: Vec<Attachment>,
}

#[derive(Deserialize)]
struct Author {
    id: String,
    username: Option<String>,
    global_name: Option<String>,
    #[serde(default)]
    bot: bool,
}

#[derive(Deserialize)]
struct Attachment {
    #[serde(default)]
    filename: String,
    content_type: Option<String>,
    #[serde(default)]
    size: u64,
    url: Option<String>,
    /// The file's text; set for pastes that were fetched.
    #[serde(skip)]
    text: Option<String>,
}

/// A long text that the platform turned into a file.
pub(super) struct Paste<'a> {
    pub(super) address: &'a str,
    /// Receives the file's text.
    pub(super) text: &'a mut Option<String>,
}

#[derive(Deserialize)]
struct Sticker {
    #[serde(default)]
    name: String,
}

/// The smallest id of a message written at this time, in Unix milliseconds; at least zero.
pub(super) fn first_number_at(milliseconds: i64) -> i64 {
    milliseconds.saturating_sub(PLATFORM_EPOCH).max(0) << SNOWFLAKE_TIME_SHIFT
}

impl Message {
    /// The id of the message as a number; 0 if it is not one.
    pub(super) fn number(&self) -> i64 {
        self.id.parse().unwrap_or_default()
    }

    /// Time at which the message was written, in milliseconds.
    pub(super) fn written_at(&self) -> i64 {
        (self.number() >> SNOWFLAKE_TIME_SHIFT) + PLATFORM_EPOCH
    }

    /// True if the message was edited after it was sent.
    pub(super) fn is_edited(&self) -> bool {
        self.edited_timestamp.is_some()
    }

    /// True if `self` is this part of a reply: sent by a bot after the part was created, with the same nonce or text.
    pub(super) fn is_delivered_piece(&self, nonce: &str, text: &str, written_at: i64) -> bool {
        let is_bot = self.author.as_ref().is_some_and(|author| author.bot);
        let has_nonce = self.nonce.as_ref().and_then(Value::as_str) == Some(nonce);
        let has_text = self.content.as_deref() == Some(text) && self.written_at() >= written_at;
        is_bot && (has_nonce || has_text)
    }

    /// True if the message came from a server, where others read it.
    pub(super) fn is_in_server(&self) -> bool {
        self.guild_id.is_some()
    }

    pub(super) fn is_by_person(&self) -> bool {
        self.webhook_id.is_none()
            && PERSON_MESSAGE_KINDS.contains(&self.kind)
            && self.author.as_ref().is_some_and(|author| !author.bot)
    }

    /// The update for a message that a person wrote to the bot; `None` for all other messages.
    pub(super) fn to_update(&self, bot: &str, is_direct: bool) -> Option<Update> {
        let (sender, external, text) = self.to_inbound_message(bot, is_direct)?;
        let recording = self.is_voice_message().then(|| external.to_string());
        Some(Update {
            position: Some(self.received_position()),
            kind: UpdateKind::Written { sender, external, is_direct, text, recording, written_at: None },
        })
    }

    fn is_voice_message(&self) -> bool {
        self.flags & VOICE_MESSAGE_FLAG != 0 && self.attachments.len() == 1
    }

    /// The address of a voice message's file.
    pub(super) fn address_of_recording(&self) -> Option<&str> {
        self.attachments.first().and_then(|attachment| attachment.url.as_deref())
    }

    /// The files into which the platform's apps turn a text that is too long for a message.
    pub(super) fn pasted_files(&mut self) -> impl Iterator<Item = Paste<'_>> {
        self.attachments.iter_mut().filter(|attachment| attachment.is_paste()).filter_map(|attachment| {
            Some(Paste { address: attachment.url.as_deref()?, text: &mut attachment.text })
        })
    }

    /// The update for a message that a person has edited. Voice messages have none: their text is our transcript.
    pub(super) fn to_edit_update(&self, bot: &str) -> Option<Update> {
        if self.is_voice_message() {
            return None;
        }
        let (sender, external, text) = self.to_inbound_message(bot, !self.is_in_server())?;
        Some(Update { position: None, kind: UpdateKind::Edited { sender, external, text } })
    }

    /// The update for a message that is skipped and not looked at again.
    pub(super) fn to_skipped_update(&self) -> Update {
        Update { position: Some(self.received_position()), kind: UpdateKind::Other }
    }

    fn to_inbound_message(&self, bot: &str, is_direct: bool) -> Option<(String, ExternalMessage, String)> {
        let is_mentioned = self.mentions.iter().any(|mention| mention.id == bot);
        if !self.is_by_person() || self.number() == 0 || !(is_direct || is_mentioned) {
            return None;
        }
        let sender = self.author.as_ref()?.id.clone();
        let text = self.readable_text(bot)?;
        Some((sender, external_message(&self.channel_id, &self.id), text))
    }

    fn received_position(&self) -> ReceivedPosition {
        ReceivedPosition::Conversation {
            conversation: self.channel_id.clone(),
            number: self.number(),
            overlap: SNOWFLAKE_OVERLAP,
        }
    }

    /// The text of the message, with names for mentions. Attachments are named, as they can't be read.
    fn readable_text(&self, bot: &str) -> Option<String> {
        let mut words = self.content.clone()?;
        for mention in &self.mentions {
            let name = mention.global_name.as_ref().or(mention.username.as_ref());
            let shown = match name {
                Some(name) if mention.id != bot => format!("@{name}"),
                _ => String::new(),
            };
            for form in [format!("<@{}>", mention.id), format!("<@!{}>", mention.id)] {
                words = words.replace(&form, &shown);
            }
        }
        let words = emoji_by_name(words.trim());
        let pasted: Vec<&str> =
            self.attachments.iter().filter_map(|attachment| attachment.text.as_deref()).collect();
        let attachments = self.attachments.iter().filter(|attachment| attachment.text.is_none());
        let attachments = attachments.map(|attachment| attachment.display_name(self.flags));
        let stickers = self.sticker_items.iter().map(|sticker| attachment_label("sticker", &sticker.name));
        let poll = self.poll.iter().map(|_| "[poll]".to_owned());
        let forwarded = self.message_snapshots.iter().map(|snapshot| snapshot.message.readable_text());
        let parts: Vec<String> =
            attachments.chain(stickers).chain(poll).chain(forwarded).chain([words]).collect();
        let words = [&[parts.join(" ").trim()], &pasted[..]].concat().join("\n\n").trim().to_owned();
        Some(with_quote(self.referenced_message.as_ref().map(|quoted| quoted.content.as_str()), words))
    }
}

impl SnapshotMessage {
    fn readable_text(&self) -> String {
        let attachments = self.attachments.iter().map(|attachment| attachment.display_name(0));
        let parts: Vec<String> = attachments.chain([emoji_by_name(self.content.trim())]).collect();
        format!("[forwarded: {}]", parts.join(" ").trim().replace(['[', ']'], ""))
    }
}

impl Attachment {
    fn is_paste(&self) -> bool {
        let is_text = self.content_type.as_deref().is_some_and(|kind| kind.starts_with("text/plain"));
        is_text && self.filename == PASTE_NAME && self.size <= PASTE_BYTES_MAX as u64
    }

    fn display_name(&self, flags: u64) -> String {
        let kind = self.content_type.as_deref().and_then(|kind| kind.split('/').next());
        match kind {
            _ if flags & VOICE_MESSAGE_FLAG != 0 => VOICE_MESSAGE.to_owned(),
            Some("image") => attachment_label("photo", &self.filename),
            Some("video") => attachment_label("video", &self.filename),
            Some("audio") => attachment_label("audio", &self.filename),
            _ => attachment_label("file", &self.filename),
        }
    }
}

fn attachment_label(kind: &str, name: &str) -> String {
    if name.is_empty() { format!("[{kind}]") } else { format!("[{kind} {name}]") }
}

pub(super) fn external_message(channel: &str, message: &str) -> ExternalMessage {
    ExternalMessage { conversation: channel.to_owned(), message: message.to_owned() }
}

/// Turns `<:wave:123>` into `:wave:`, which is how people read an emoji.
fn emoji_by_name(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let (before, tail) = rest.split_at(start);
        out.push_str(before);
        match server_emoji(tail) {
            Some((name, length)) => {
                out.push_str(&format!(":{name}:"));
                rest = &tail[length..];
            }
            None => {
                out.push('<');
                rest = &tail[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// The name of the server's own emoji at the beginning of the text, and its length there.
fn server_emoji(text: &str) -> Option<(&str, usize)> {
    let end = text.find('>')?;
    let inner = text[..end].strip_prefix("<a:").or_else(|| text[..end].strip_prefix("<:"))?;
    let (name, id) = inner.split_once(':')?;
    let is_name = !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    let is_id = !id.is_empty() && id.bytes().all(|digit| digit.is_ascii_digit());
    (is_name && is_id).then_some((name, end + 1))
}

/// The name of a piece in at most 25 characters, the longest nonce that Discord accepts.
pub(super) fn nonce(origin: PieceOrigin<'_>) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let digits = |mut number: u128, length: usize| {
        let mut text = String::new();
        for _ in 0..length {
            text.push(char::from(DIGITS[usize::try_from(number % 62).unwrap_or_default()]));
            number /= 62;
        }
        text
    };
    format!("{}{}", digits(origin.message.0.as_u128(), 22), digits(u128::from(origin.number), 3))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text_of(fields: Value) -> Option<String> {
        let mut message =
            json!({"id": "1", "channel_id": "2", "author": {"id": "7", "username": "ann"}, "content": ""});
        message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let message: Message = serde_json::from_value(message).unwrap();
        match message.to_update("99", message.guild_id.is_none())?.kind {
            UpdateKind::Written { text, .. } => Some(text),
            _ => None,
        }
    }

    #[test]
    fn attachments_are_named() {
        let photo =
            json!({"content": "look", "attachments": [{"filename": "cat.png", "content_type": "image/png"}]});
        assert_eq!(text_of(photo).unwrap(), "[photo cat.png] look");
        let voice =
            json!({"flags": 8_192, "attachments": [{"filename": "v.ogg", "content_type": "audio/ogg"}]});
        assert_eq!(text_of(voice).unwrap(), "[voice message]");
        assert_eq!(text_of(json!({"sticker_items": [{"name": "Wave"}]})).unwrap(), "[sticker Wave]");
        assert_eq!(
            text_of(json!({"content": "hi <:wave:1> <a:b_c:22> <b> <:x"})).unwrap(),
            "hi :wave: :b_c: <b> <:x"
        );
    }

    #[test]
    fn replied_to_and_forwarded_messages_are_quoted() {
        let reply = json!({"type": 19, "content": "yes, that one", "referenced_message": {"content": "The [blue]\nkettle?"}});
        assert_eq!(text_of(reply).unwrap(), "[in reply to: The blue kettle?] yes, that one");
        let gone = json!({"type": 19, "content": "yes", "referenced_message": null});
        assert_eq!(text_of(gone).unwrap(), "yes");
        let photo = json!({"filename": "map.png", "content_type": "image/png"});
        let forwarded =
            json!({"message_snapshots": [{"message": {"content": "Meet at 6", "attachments": [photo]}}]});
        assert_eq!(text_of(forwarded).unwrap(), "[forwarded: photo map.png Meet at 6]");
        let long = json!({"type": 19, "content": "so?", "referenced_message": {"content": "字".repeat(300)}});
        assert_eq!(text_of(long).unwrap(), format!("[in reply to: {}…] so?", "字".repeat(200)));
    }

    #[test]
    fn in_a_server_only_a_mention_is_for_the_persona() {
        let mentions = json!([{"id": "99", "username": "echo"}, {"id": "8", "username": "bob"}]);
        let mentioned = json!({"guild_id": "3", "content": "<@99> ask <@!8>", "mentions": mentions});
        assert_eq!(text_of(mentioned).unwrap(), "ask @bob");
        assert_eq!(text_of(json!({"guild_id": "3", "content": "hello all"})), None);
    }

    #[test]
    fn bots_webhooks_and_notices_are_not_people() {
        assert_eq!(text_of(json!({"content": "x", "author": {"id": "5", "bot": true}})), None);
        assert_eq!(text_of(json!({"content": "x", "webhook_id": "5"})), None);
        assert_eq!(text_of(json!({"content": "x", "type": 7})), None);
        assert_eq!(text_of(json!({"content": "x", "id": "no number"})), None);
    }
}
