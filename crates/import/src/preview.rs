use std::collections::{BTreeMap, HashMap};

use jiff::ToSpan as _;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::ImportError;
use crate::formats::{field_names_of, field_samples_of};
use crate::head::Head;
use crate::item::{Item, Message, Role, Skip};
use crate::languages::language_of;
use crate::limits::PREVIEW_LIST_MAX;
use crate::message_time::MessageTime;
use crate::read::{ReadOptions, ReadPosition, read};
use crate::sources::Sources;

/// A preview of an import that writes nothing. Lists have at most [`PREVIEW_LIST_MAX`] entries; counts are exact.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImportPreview {
    /// Ids of the formats, joined by a comma; empty if nothing was recognised.
    pub format: String,
    /// Number of messages in shown branches.
    pub messages: u64,
    /// Bytes of their texts in UTF-8: what a language model will have to read.
    pub text_bytes: u64,
    /// Parts of conversations without half an hour of silence: about as many sessions will be consolidated.
    pub sessions: u64,
    /// Versions that were not shown.
    pub alternatives: u64,
    /// Number of documents about the user.
    pub documents: u64,
    /// Number of character cards.
    pub cards: u64,
    /// Lorebooks without a card.
    pub lorebooks: u64,
    /// Drafts for core blocks.
    pub core_drafts: u64,
    /// Statements about the user that the other program had saved.
    #[serde(default)]
    pub saved_memories: u64,
    /// Speakers, those with most messages first.
    pub speakers: Vec<SpeakerCount>,
    /// Total number of speakers.
    pub speaker_count: u64,
    /// Earliest time of a message, ISO 8601; without an offset if the file names no zone.
    pub first: Option<String>,
    /// Latest time of a message.
    pub last: Option<String>,
    /// True if times have no zone, so that the mapping should name one.
    pub needs_zone: bool,
    /// Messages without any time.
    pub undated: u64,
    /// Messages in which bytes that are not UTF-8 were replaced.
    pub cleaned: u64,
    /// Languages, those with most messages first.
    pub languages: Vec<LanguageCount>,
    /// Conversations in the files' order.
    pub conversations: Vec<ConversationSummary>,
    /// Total number of conversations.
    pub conversation_count: u64,
    /// Names of the fields in the first JSON or CSV file, for a person to map, if there are no messages.
    #[serde(default)]
    pub fields: Vec<String>,
    /// Values of the fields in the first message, shortened, in the same order; empty without a text or number.
    #[serde(default)]
    pub field_samples: Vec<String>,
    /// Entries that can't be imported, each with the reason.
    pub skipped: Vec<Skip>,
    /// Total number of skipped entries.
    pub skipped_count: u64,
    /// Number of all counted items: messages, documents, cards, lorebooks, drafts, saved memories, skips.
    pub found: u64,
}

/// A speaker with the number of messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpeakerCount {
    /// The speaker's name, as the format has it.
    pub name: String,
    /// Number of messages in shown branches.
    pub messages: u64,
    /// The speaker's role according to the format.
    pub role: Role,
}

/// Messages in a language.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LanguageCount {
    /// The language as an ISO 639-1 code.
    pub language: String,
    /// Number of messages in shown branches.
    pub messages: u64,
}

/// A conversation with its period and counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationSummary {
    /// An id for [`crate::Mapping::conversations`].
    pub id: String,
    /// Title of the conversation in its source.
    pub title: Option<String>,
    /// True if its owner had marked it in the source.
    #[serde(default)]
    pub starred: bool,
    /// Number of messages in shown branches.
    pub messages: u64,
    /// Earliest time, as in [`ImportPreview::first`].
    pub first: Option<String>,
    /// The latest time in the conversation.
    pub last: Option<String>,
}

/// Maximum conversations that a preview distinguishes. It bounds its memory.
const CONVERSATIONS_MAX: usize = 20_000;

/// Minutes of silence after which a message begins another session. It is the default of the setting, so that a
/// preview estimates the sessions of the import.
const SESSION_SILENCE_MINUTES: i64 = 30;

/// Maximum speakers that a preview distinguishes; messages of further ones are only counted. It bounds its memory.
const SPEAKERS_MAX: usize = 20_000;

/// Reads everything once and counts it.
pub fn preview(sources: &Sources, options: &ReadOptions) -> Result<ImportPreview, ImportError> {
    let mut tally = PreviewCounter::default();
    for found in read(sources, options, ReadPosition::default())? {
        let found = found?;
        if !found.format.is_empty() && !tally.formats.contains(&found.format) {
            tally.formats.push(found.format);
        }
        tally.add(found.item);
    }
    let mut look = tally.finish_file();
    let is_unread = look.messages + look.cards + look.core_drafts + look.lorebooks == 0
        && look.saved_memories + look.documents == 0;
    if let Some(source) = sources.list().first().filter(|_| is_unread) {
        let head = Head::read(source)?;
        look.fields = field_names_of(&head);
        look.fields.truncate(PREVIEW_LIST_MAX);
        look.field_samples = field_samples_of(&head, &look.fields);
    }
    Ok(look)
}

#[derive(Default)]
struct PreviewCounter {
    look: ImportPreview,
    formats: Vec<&'static str>,
    speakers: HashMap<(String, Role), u64>,
    languages: BTreeMap<&'static str, u64>,
    conversations: HashMap<String, usize>,
    spans: Vec<TimeSpan>,
    whole: TimeSpan,
}

/// First and last time of a conversation, with the keys to order them by.
#[derive(Clone, Copy, Default)]
struct TimeSpan {
    first: Option<(DateTime, MessageTime)>,
    last: Option<(DateTime, MessageTime)>,
    /// Time of the former message.
    previous: Option<DateTime>,
}

impl TimeSpan {
    /// True if the message begins a session.
    fn begins_session(&self, time: MessageTime) -> bool {
        match (self.previous, order_of(time)) {
            (None, _) => false,
            (Some(_), None) => false,
            (Some(previous), Some(at)) => {
                previous.checked_add(SESSION_SILENCE_MINUTES.minutes()).is_ok_and(|end| at > end)
            }
        }
    }

    fn add(&mut self, time: MessageTime) {
        let Some(order) = order_of(time) else { return };
        self.previous = Some(order);
        if self.first.is_none_or(|(first, _)| order < first) {
            self.first = Some((order, time));
        }
        if self.last.is_none_or(|(last, _)| order >= last) {
            self.last = Some((order, time));
        }
    }

    fn first_day(&self) -> Option<String> {
        self.first.map(|(_, time)| time.to_string())
    }

    fn last_day(&self) -> Option<String> {
        self.last.map(|(_, time)| time.to_string())
    }
}

/// Sorting key of a time, with or without a zone.
fn order_of(time: MessageTime) -> Option<DateTime> {
    match time {
        MessageTime::Instant(at) => Some(at.to_zoned(TimeZone::UTC).datetime()),
        MessageTime::Local(at) => Some(at),
        MessageTime::Unknown => None,
    }
}

impl PreviewCounter {
    fn add(&mut self, item: Item) {
        self.look.found += u64::from(item.is_counted());
        match item {
            Item::Conversation(conversation) => {
                let at = self.conversation(&conversation.id);
                if let Some(summary) = at.and_then(|at| self.look.conversations.get_mut(at)) {
                    summary.starred |= conversation.is_starred;
                    summary.title = summary.title.take().or(conversation.title);
                }
            }
            Item::Message(message) => self.add_message(*message),
            Item::Document(_) => self.look.documents += 1,
            Item::Card(_) => self.look.cards += 1,
            Item::Lorebook(_) => self.look.lorebooks += 1,
            Item::CoreDraft(_) => self.look.core_drafts += 1,
            Item::SavedMemory(_) => self.look.saved_memories += 1,
            Item::Skip(skip) => {
                self.look.skipped_count += 1;
                if self.look.skipped.len() < PREVIEW_LIST_MAX {
                    self.look.skipped.push(skip);
                }
            }
        }
    }

    fn add_message(&mut self, message: Message) {
        self.look.messages += 1;
        self.look.text_bytes += message.text.len() as u64;
        self.look.alternatives += message.alternatives.len() as u64;
        self.look.cleaned += u64::from(message.is_cleaned);
        self.look.needs_zone |= matches!(message.time, MessageTime::Local(_));
        self.look.undated += u64::from(message.time == MessageTime::Unknown);
        self.whole.add(message.time);
        if let Some(at) = self.conversation(&message.conversation) {
            let is_first = self.look.conversations[at].messages == 0;
            self.look.sessions += u64::from(is_first || self.spans[at].begins_session(message.time));
            self.look.conversations[at].messages += 1;
            self.spans[at].add(message.time);
        }
        if let Some(language) = language_of(&message.text) {
            *self.languages.entry(language).or_default() += 1;
        }
        let key = (message.speaker, message.role);
        if let Some(count) = self.speakers.get_mut(&key) {
            *count += 1;
        } else if self.speakers.len() < SPEAKERS_MAX {
            self.speakers.insert(key, 1);
        }
    }

    /// Index of the conversation's summary; `None` once there are too many.
    fn conversation(&mut self, id: &str) -> Option<usize> {
        if let Some(at) = self.conversations.get(id) {
            return Some(*at);
        }
        self.look.conversation_count += 1;
        if self.look.conversations.len() >= CONVERSATIONS_MAX {
            return None;
        }
        let at = self.look.conversations.len();
        self.look
            .conversations
            .push(ConversationSummary { id: id.to_owned(), ..ConversationSummary::default() });
        self.spans.push(TimeSpan::default());
        self.conversations.insert(id.to_owned(), at);
        Some(at)
    }

    fn finish_file(mut self) -> ImportPreview {
        let mut look = self.look;
        look.format = self.formats.join(",");
        look.first = self.whole.first_day();
        look.last = self.whole.last_day();
        for (summary, span) in look.conversations.iter_mut().zip(&self.spans) {
            summary.first = span.first_day();
            summary.last = span.last_day();
        }
        look.speaker_count = self.speakers.len() as u64;
        let speakers = self.speakers.drain();
        look.speakers =
            speakers.map(|((name, role), messages)| SpeakerCount { name, messages, role }).collect();
        look.speakers
            .sort_by(|one, other| other.messages.cmp(&one.messages).then_with(|| one.name.cmp(&other.name)));
        look.speakers.truncate(PREVIEW_LIST_MAX);
        look.languages = self
            .languages
            .into_iter()
            .map(|(language, messages)| LanguageCount { language: language.to_owned(), messages })
            .collect();
        look.languages.sort_by_key(|language| std::cmp::Reverse(language.messages));
        look
    }
}
