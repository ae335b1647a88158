//! Readers of what other programs export: conversations, character cards, documents; and writers of two of their forms.
//!
//! Pure: bytes in, items out. No database, no network, no clock. Nothing is summarised and nothing is left out silently:
//! what can't be taken is a [`Skip`] with its place and reason.
//!
//! The walk of a run:
//! 1. [`Sources::open`] lists what the files, folders and zip archives hold;
//! 2. [`look()`] reads all of it once and counts: formats, speakers, days, languages, conversations, skips;
//! 3. a person decides on a [`Mapping`]: who is who, the zone of times without one, since when, which conversations;
//! 4. [`read()`] yields the items again, each with the [`ReadPosition`] after it, and a [`Mapper`] applies the mapping.
//!
//! What describes a character becomes a [`CharacterDraft`] by [`draft_character`].
//!
//! Memory is bounded for files of any size: large formats are read as streams, and one element of them may have
//! at most [`limits::ELEMENT_BYTES_MAX`].

mod error;
mod item;
mod card;
mod character;
mod macros;
mod field_names;
mod message_time;
mod mapping;
mod look;
mod read;
mod formats;
mod sources;
mod head;
mod json;
mod lines;
mod csv;
mod languages;
pub mod export;
pub mod limits;

pub use card::{Card, LoreEntry, Lorebook, Picture};
pub use character::{CharacterDraft, DraftOptions, LorebookSummary, Overflow, draft_character};
pub use error::ImportError;
pub use field_names::{FieldKind, FieldNames, InvalidFieldName};
pub use formats::{Format, formats};
pub use item::{
    Alternative, Attachment, AttachmentKind, Conversation, CoreBlock, CoreDraft, Document, ExternalId, Item,
    Message, Role, SavedMemory, Skip,
};
pub use look::{ConversationSummary, LanguageCount, Look, SpeakerCount, look};
pub use macros::resolve_macros;
pub use mapping::{MappedItem, MappedMessage, MappedVersion, Mapper, Mapping, MappingError, Speaker};
pub use message_time::MessageTime;
pub use read::{FoundItem, Items, ReadOptions, ReadPosition, read};
pub use sources::{FolderListing, Input, Source, Sources};
