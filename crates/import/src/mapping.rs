use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::ImportError;
use crate::item::{Item, Message, Role, Skip};
use crate::preview::ImportPreview;

/// The speaker of a message, as decided by a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    Persona,
    User,
    /// Somebody else, by this name. Such messages are no evidence about the user.
    Other(String),
}

/// Decisions of a person before an import is recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "ImportMapping")]
pub struct Mapping {
    /// Names of speakers that are the persona; they must match exactly.
    pub persona: BTreeSet<String>,
    /// Names of speakers that are the user; they must match exactly.
    pub user: BTreeSet<String>,
    /// If true, speakers in neither set get the role of the format (ChatGPT's assistant is the persona); otherwise
    /// they are others. `None` means true, except for a role for which a set is given.
    pub use_roles: Option<bool>,
    /// IANA zone of times without one; UTC if absent.
    pub zone: Option<String>,
    /// First day to import, in the zone.
    pub since: Option<Date>,
    /// Last day to import, in the zone.
    pub until: Option<Date>,
    /// Ids of the conversations to import; `None` for all.
    pub conversations: Option<BTreeSet<String>>,
    /// Replaces `{{char}}` in cards and messages.
    pub persona_name: Option<String>,
    pub user_name: Option<String>,
}

/// Maximum fields of a file to list in an error. An export can have hundreds, and the first ones identify the file.
const NAMED_FIELDS_MAX: usize = 20;

impl Mapping {
    /// The speaker for a name and a role.
    pub fn speaker(&self, name: &str, role: Role) -> Speaker {
        if self.persona.contains(name) {
            return Speaker::Persona;
        }
        if self.user.contains(name) {
            return Speaker::User;
        }
        match role {
            Role::Persona if self.use_roles.unwrap_or(self.persona.is_empty()) => Speaker::Persona,
            Role::User if self.use_roles.unwrap_or(self.user.is_empty()) => Speaker::User,
            _ => Speaker::Other(name.to_owned()),
        }
    }

    /// Checks that the mapping fits the files: somebody is the user or the persona, every name occurs, the zone
    /// exists.
    pub fn check(&self, look: &ImportPreview) -> Result<(), MappingError> {
        let is_taken = look.messages + look.saved_memories + look.documents > 0;
        if !is_taken && look.cards + look.core_drafts + look.lorebooks > 0 {
            let reason = ": this describes a character, for a new persona";
            return Err(MappingError::NoMessages(reason.to_owned()));
        }
        if !is_taken {
            let fields: Vec<&str> = look.fields.iter().take(NAMED_FIELDS_MAX).map(String::as_str).collect();
            let reason = match look.skipped.first() {
                _ if !fields.is_empty() => {
                    format!(": map its fields to text, from and time: {}", fields.join(", "))
                }
                Some(skip) => format!(" ({}: {})", skip.place, skip.reason),
                None => String::new(),
            };
            return Err(MappingError::NoMessages(reason));
        }
        self.time_zone().map_err(|error| MappingError::Zone(error.to_string()))?;
        if look.messages == 0 {
            return Ok(());
        }
        let speakers = || {
            let names =
                look.speakers.iter().map(|speaker| format!("{} ({})", speaker.name, speaker.messages));
            names.collect::<Vec<_>>().join(", ")
        };
        let lists_all = look.speaker_count == look.speakers.len() as u64;
        let is_there = |name: &String| look.speakers.iter().any(|speaker| speaker.name == *name);
        if let Some(name) = self.user.iter().chain(&self.persona).find(|name| lists_all && !is_there(name)) {
            return Err(MappingError::UnknownSpeaker { name: name.clone(), speakers: speakers() });
        }
        let is_somebody = |speaker: Speaker| {
            look.speakers.iter().any(|counted| self.speaker(&counted.name, counted.role) == speaker)
        };
        if !is_somebody(Speaker::User) && !is_somebody(Speaker::Persona) {
            return Err(MappingError::Nobody { speakers: speakers() });
        }
        Ok(())
    }

    fn time_zone(&self) -> Result<TimeZone, ImportError> {
        self.zone.as_deref().map_or(Ok(TimeZone::UTC), |name| {
            TimeZone::get(name).map_err(|_| ImportError::UnknownZone(name.to_owned()))
        })
    }
}

/// Why a mapping doesn't fit the files.
#[derive(Debug, thiserror::Error)]
pub enum MappingError {
    /// The files hold no messages.
    #[error("no messages were found{0}")]
    NoMessages(String),
    /// A name that no speaker has.
    #[error("no speaker is named {name:?} in these files; the speakers are: {speakers}")]
    UnknownSpeaker {
        name: String,
        /// Names with the numbers of their messages.
        speakers: String,
    },
    /// No speaker is mapped to the user or the persona.
    #[error(
        "the roles of the speakers are unknown: name the user and the persona. The speakers are: \
        {speakers}"
    )]
    Nobody {
        /// Names with the numbers of their messages.
        speakers: String,
    },
    /// The zone is unknown.
    #[error("{0}")]
    Zone(String),
}

/// A message with its speaker and time resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct MappedMessage {
    pub speaker: Speaker,
    /// The time. A message without one gets that of the message before it in its conversation; `None` if there is
    /// none.
    pub at: Option<Timestamp>,
    /// The message as read, without its versions.
    pub message: Box<Message>,
    /// The versions that were not shown.
    pub versions: Vec<MappedVersion>,
}

/// A version that was not shown, with its speaker and time resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct MappedVersion {
    /// The publisher's id, as in [`crate::Alternative::id`].
    pub id: String,
    /// The publisher's id of what it follows, as in [`crate::Alternative::follows`].
    pub follows: Option<String>,
    pub speaker: Speaker,
    /// The time, if the file has one.
    pub at: Option<Timestamp>,
    pub text: String,
    /// Language model that wrote the version.
    pub model: Option<String>,
}

/// An item after the mapping.
#[derive(Clone, Debug, PartialEq)]
pub enum MappedItem {
    Message(MappedMessage),
    /// Any item but a message. A message that the mapping excludes is a [`Skip`] here.
    Item(Item),
}

/// Applies a mapping to the items of several sources, one after another.
#[derive(Debug)]
pub struct Mapper {
    mapping: Mapping,
    zone: TimeZone,
    /// Time of the last message of each conversation.
    previous: HashMap<String, Timestamp>,
}

/// Maximum conversations whose last time is remembered. Beyond it all are forgotten, which affects only messages
/// without a time.
const REMEMBERED_CONVERSATIONS_MAX: usize = 100_000;

impl Mapper {
    /// Fails if the zone is unknown.
    pub fn new(mapping: Mapping) -> Result<Self, ImportError> {
        let zone = mapping.time_zone()?;
        Ok(Self { mapping, zone, previous: HashMap::new() })
    }

    /// Sets the time of the last message of a conversation, for a resumed run. Otherwise the next message without a
    /// time would have none.
    pub fn resume_conversation(&mut self, conversation: impl Into<String>, last: Timestamp) {
        self.previous.insert(conversation.into(), last);
    }

    /// Maps a message to its speaker and time, or gives the reason why it is left out.
    pub fn map_record(&mut self, item: Item) -> MappedItem {
        let Item::Message(mut message) = item else { return MappedItem::Item(item) };
        if let Some(chosen) = &self.mapping.conversations
            && !chosen.contains(&message.conversation)
        {
            return MappedItem::Item(Item::Skip(Skip::new(message.place, "its conversation was not chosen")));
        }
        let previous = self.previous.get(&message.conversation).copied();
        let at = message.time.to_instant(&self.zone, previous).or(previous);
        if let Some(at) = at {
            if self.previous.len() >= REMEMBERED_CONVERSATIONS_MAX {
                self.previous.clear();
            }
            self.previous.insert(message.conversation.clone(), at);
        }
        let day = at.map(|at| at.to_zoned(self.zone.clone()).date());
        if let Some(since) = self.mapping.since
            && day.is_none_or(|day| day < since)
        {
            return MappedItem::Item(Item::Skip(Skip::new(
                message.place,
                format!("it is from before {since}"),
            )));
        }
        if let Some(until) = self.mapping.until
            && day.is_none_or(|day| day > until)
        {
            return MappedItem::Item(Item::Skip(Skip::new(
                message.place,
                format!("it is from after {until}"),
            )));
        }
        let speaker = self.mapping.speaker(&message.speaker, message.role);
        let versions = std::mem::take(&mut message.alternatives).into_iter().map(|version| MappedVersion {
            speaker: self.mapping.speaker(&version.speaker, version.role),
            follows: version.follows,
            id: version.id,
            at: version.time.to_instant(&self.zone, at),
            text: version.text,
            model: version.model,
        });
        MappedItem::Message(MappedMessage { speaker, at, versions: versions.collect(), message })
    }
}
