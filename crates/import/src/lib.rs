//! Readers for exports of other programs: conversations, character cards, documents; and writers for some of the
//! formats.
//!
//! Pure: bytes in, items out. No database, no network, no clock. Nothing is summarised and nothing is dropped
//! silently: what can't be imported is a [`Skip`] with its place and reason.
//!
//! The steps of an import:
//! 1. [`Sources::open`] lists the content of files, folders and zip archives;
//! 2. [`preview()`] reads everything once and counts formats, speakers, days, languages, conversations and skips;
//! 3. a person decides on a [`Mapping`]: the speakers' roles, the zone of times without one, the first day, the
//!    conversations;
//! 4. [`read()`] yields the items again, each with the [`ReadPosition`] after it, and a [`Mapper`] applies the
//!    mapping.
//!
//! Files that describe a character become a [`CharacterDraft`] by [`draft_character`].
//!
//! Memory is bounded for files of any size: large formats are streamed, and one element may have at most
//! [`limits::ELEMENT_BYTES_MAX`].

mod error;
mod item;
mod card;
mod character;
mod macros;
mod field_names;
mod message_time;
mod mapping;
mod preview;
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
pub use macros::resolve_macros;
pub use mapping::{MappedItem, MappedMessage, MappedVersion, Mapper, Mapping, MappingError, Speaker};
pub use message_time::MessageTime;
pub use preview::{ConversationSummary, ImportPreview, LanguageCount, SpeakerCount, preview};
pub use read::{FoundItem, Items, ReadOptions, ReadPosition, read};
pub use sources::{FolderListing, Input, Source, Sources};
