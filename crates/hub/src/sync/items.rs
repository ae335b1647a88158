//! Converts documents to items of a pull, and items of a push to versions.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::api::sync::{
    ConcurrentVersion, ErasedLineItem, Erasure, IdentityChange, IdentityItem, ItemResult, ItemStatus,
    MemoryChange, MemoryItem,
};
use crate::documents::{Document, Version};
use crate::erasure::{ERASURE_EDITOR, ErasedLine};
use crate::names::{DiaryDate, DiaryName, DocumentName, FileName, InstanceId};
use crate::version_vector::VersionVector;
use crate::versions::vector_of_shown;

/// Maximum time ahead of this hub's clock. A later time is replaced by the time of receipt: otherwise that version
/// would win against all others until then.
pub(super) const TIME_AHEAD_MAX: SignedDuration = SignedDuration::from_hours(24);

/// A checked item of a push.
#[derive(Clone, Debug)]
pub(super) struct PushedItem {
    pub(super) name: DocumentName,
    /// `None` for a deletion.
    pub(super) content: Option<String>,
    /// True if erased lines were removed from `content`. The author's copy still has them.
    pub(super) is_shortened: bool,
    pub(super) written_at: Timestamp,
    /// A correction that was made on receipt, to report to the pushing instance.
    pub(super) note: Option<String>,
    /// All changes that the version includes, its own too; `None` from a client without version vectors.
    pub(super) vector: Option<VersionVector>,
    pub(super) author: InstanceId,
    pub(super) edited_by: String,
    pub(super) by_person: bool,
    pub(super) chat_ids: BTreeSet<String>,
    pub(super) participants: BTreeSet<InstanceId>,
}

pub(super) fn identity_item(document: &Document, erased: &[ErasedLine]) -> Option<IdentityItem> {
    let DocumentName::Identity(category, filename) = &document.name else { return None };
    let shown = document.shown_version()?;
    let deleted = shown.content.is_none();
    Some(IdentityItem {
        category: *category,
        filename: filename.to_string(),
        content: shown.content.clone(),
        prompt_label: document.prompt_label.clone().unwrap_or_else(|| document.name.stem()),
        version: shown.number,
        last_modified: shown.written_at,
        modified_by: shown.edited_by.clone(),
        source_instance: shown.author.clone(),
        by_person: shown.by_person,
        version_vector: vector_of_shown(&document.heads),
        deleted,
        deleted_at: deleted.then_some(shown.written_at),
        concurrent_versions: concurrent_versions(document),
        erased_lines: erased.iter().map(erased_line).collect(),
        name_erased: is_name_erased(shown),
    })
}

/// The live versions whose text differs from the shown one.
fn concurrent_versions(document: &Document) -> Vec<ConcurrentVersion> {
    let shown = document.shown_version().map(|shown| &shown.content);
    let others = document.heads.iter().filter(|head| Some(&head.content) != shown);
    let concurrent = others.map(|head| ConcurrentVersion {
        content: head.content.clone(),
        source_instance: head.author.clone(),
        edited_by: head.edited_by.clone(),
        by_person: head.by_person,
        updated_at: head.written_at,
        version_vector: head.vector.clone(),
        deleted: head.content.is_none(),
    });
    concurrent.collect()
}

pub(super) fn memory_item(document: &Document, erased: &[ErasedLine]) -> Option<MemoryItem> {
    let DocumentName::Diary(name) = &document.name else { return None };
    let shown = document.shown_version()?;
    let deleted = shown.content.is_none();
    Some(MemoryItem {
        id: name.id(),
        granularity: name.granularity().as_str().to_owned(),
        date: name.date().to_string(),
        slug: name.slug().map(ToString::to_string),
        content: shown.content.clone(),
        chat_ids: shown.chat_ids.iter().cloned().collect(),
        source_instance: crate::memories::source_instance(name, shown),
        participating_instances: shown.participants.iter().cloned().collect(),
        version: shown.number,
        created_at: document.created_at,
        updated_at: shown.written_at,
        edited_by: shown.edited_by.clone(),
        version_vector: vector_of_shown(&document.heads),
        deleted,
        deleted_at: deleted.then_some(shown.written_at),
        concurrent_versions: concurrent_versions(document),
        erased_lines: erased.iter().map(erased_line).collect(),
        name_erased: is_name_erased(shown),
    })
}

fn erased_line(line: &ErasedLine) -> ErasedLineItem {
    ErasedLineItem { digest: hex::encode(line.digest), author: line.author.clone(), counter: line.counter }
}

/// True if only a digest of the document's name is left. That is not a stored version.
fn is_name_erased(shown: &Version) -> bool {
    shown.number == 0 && shown.content.is_none() && shown.edited_by == ERASURE_EDITOR
}

/// Parses an identity item; the error says what is wrong with it.
pub(super) fn read_identity(
    item: &IdentityChange,
    pusher: &InstanceId,
    now: Timestamp,
) -> Result<PushedItem, String> {
    let filename: FileName = item.filename.parse().map_err(invalid_name_text)?;
    let category = item.category.parse().map_err(invalid_name_text)?;
    let content = checked_content(item.deleted, item.content.as_ref())?;
    let modified = item.modified_by.clone().unwrap_or_else(|| pusher.to_string());
    let author = item.source_instance.as_ref().unwrap_or(&modified);
    let (written_at, note) = checked_time(item.deleted, &item.deleted_at, &item.last_modified, now)?;
    Ok(PushedItem {
        name: DocumentName::Identity(category, filename),
        written_at,
        note,
        vector: item.version_vector.clone(),
        // `modified_by` may name a person, which is no instance.
        author: author.parse().unwrap_or_else(|_| pusher.clone()),
        edited_by: modified,
        by_person: item.by_person,
        chat_ids: BTreeSet::new(),
        participants: BTreeSet::new(),
        is_shortened: false,
        content,
    })
}

/// Parses a memory item; the error says what is wrong with it.
pub(super) fn read_memory(
    item: &MemoryChange,
    pusher: &InstanceId,
    now: Timestamp,
) -> Result<PushedItem, String> {
    let granularity = item.granularity.parse().map_err(invalid_name_text)?;
    let date: DiaryDate = item.date.parse().map_err(invalid_name_text)?;
    let slug = item.slug.as_deref().map(str::parse).transpose().map_err(invalid_name_text)?;
    let author = match item.source_instance.as_deref().filter(|id| !id.is_empty()) {
        Some(id) => id.parse().map_err(invalid_name_text)?,
        None => pusher.clone(),
    };
    let name = DiaryName::new(granularity, date, Some(author.clone()), slug).map_err(invalid_name_text)?;
    let participants: Result<BTreeSet<InstanceId>, _> =
        item.participating_instances.iter().map(|id| id.parse()).collect();
    let (written_at, note) = checked_time(item.deleted, &item.deleted_at, &item.updated_at, now)?;
    Ok(PushedItem {
        name: DocumentName::Diary(name),
        content: checked_content(item.deleted, item.content.as_ref())?,
        is_shortened: false,
        written_at,
        note,
        vector: item.version_vector.clone(),
        edited_by: item.edited_by.clone().unwrap_or_else(|| author.to_string()),
        author,
        by_person: false,
        chat_ids: item.chat_ids.iter().cloned().collect(),
        participants: participants.map_err(invalid_name_text)?,
    })
}

fn invalid_name_text(error: crate::names::InvalidName) -> String {
    error.to_string()
}

fn checked_content(deleted: bool, content: Option<&String>) -> Result<Option<String>, String> {
    match (deleted, content) {
        (true, _) => Ok(None),
        (false, Some(content)) => Ok(Some(content.clone())),
        (false, None) => Err("`content` is missing; for a deletion, send `deleted: true`".to_owned()),
    }
}

/// Time of an item's change, and a note if it was corrected. An unreadable time is an error, because it decides
/// between concurrent versions.
fn checked_time(
    deleted: bool,
    deleted_at: &Option<String>,
    written_at: &Option<String>,
    now: Timestamp,
) -> Result<(Timestamp, Option<String>), String> {
    let given = if deleted { deleted_at.as_ref().or(written_at.as_ref()) } else { written_at.as_ref() };
    let Some(text) = given else { return Ok((now, None)) };
    let time: Timestamp = text.parse().map_err(|_| format!("`{text}` is not a time (RFC 3339)"))?;
    if time.duration_since(now) <= TIME_AHEAD_MAX {
        return Ok((time, None));
    }
    let hours = TIME_AHEAD_MAX.as_hours();
    let note = format!(
        "`{text}` is more than {hours} hours ahead of this hub's clock; the time of receipt, {now}, is used \
            instead"
    );
    Ok((now, Some(note)))
}

/// Parses an erasure: the document and digests of lines. The error says what is wrong with it.
pub(super) fn read_erasure(
    erasure: &Erasure,
    pusher: &InstanceId,
) -> Result<(DocumentName, Vec<[u8; 32]>), String> {
    let name = match (&erasure.category, &erasure.granularity) {
        (Some(category), _) => {
            let filename =
                erasure.filename.as_deref().unwrap_or_default().parse().map_err(invalid_name_text)?;
            DocumentName::Identity(category.parse().map_err(invalid_name_text)?, filename)
        }
        (None, Some(granularity)) => {
            let date = erasure.date.as_deref().unwrap_or_default().parse().map_err(invalid_name_text)?;
            let slug = erasure.slug.as_deref().map(str::parse).transpose().map_err(invalid_name_text)?;
            let granularity = granularity.parse().map_err(invalid_name_text)?;
            DocumentName::Diary(
                DiaryName::new(granularity, date, Some(pusher.clone()), slug).map_err(invalid_name_text)?,
            )
        }
        (None, None) => {
            return Err("an erasure needs `granularity` and `date`, or `category` and `filename`".to_owned());
        }
    };
    let digest = |text: &String| {
        let bytes = hex::decode(text).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        bytes.ok_or_else(|| format!("`{text}` is not the digest of a line: 64 hexadecimal digits"))
    };
    Ok((name, erasure.lines.iter().map(digest).collect::<Result<_, _>>()?))
}

/// The result of an erasure.
pub(super) fn erasure_result(erasure: &Erasure, status: ItemStatus, reason: Option<String>) -> ItemResult {
    ItemResult {
        category: erasure.category.clone(),
        granularity: erasure.granularity.clone(),
        filename: erasure.filename.clone(),
        date: erasure.date.clone(),
        slug: erasure.slug.clone(),
        status,
        reason,
    }
}

/// The result of an identity item.
pub(super) fn identity_result(
    item: &IdentityChange,
    status: ItemStatus,
    reason: Option<String>,
) -> ItemResult {
    ItemResult {
        category: Some(item.category.clone()),
        granularity: None,
        filename: Some(item.filename.clone()),
        date: None,
        slug: None,
        status,
        reason,
    }
}

/// The result of a memory item.
pub(super) fn memory_result(item: &MemoryChange, status: ItemStatus, reason: Option<String>) -> ItemResult {
    ItemResult {
        category: None,
        granularity: Some(item.granularity.clone()),
        filename: None,
        date: Some(item.date.clone()),
        slug: item.slug.clone(),
        status,
        reason,
    }
}
