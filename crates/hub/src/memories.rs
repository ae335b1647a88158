//! Operations on memories as documents: write, correct, read, list, delete.

use memory::Scope;

use crate::api::Outcome;
use crate::api::memories::{
    ListedMemory, MemoryCreate, MemoryEntry, MemoryList, MemoryListing, MemoryReadResult, MemoryRef,
    MemoryUpdate, MemoryWritten,
};
use crate::daily;
use crate::documents::{Document, IMPORT_EDITOR, Version};
use crate::error::HubError;
use crate::names::{DiaryName, DocumentName, Granularity, InstanceId, NAME_LENGTH_MAX, Slug};
use crate::service::{Caller, Hub};

/// Characters of a memory in a list.
const PREVIEW_LENGTH: usize = 100;

impl Hub {
    /// Writes a memory. A daily is merged into the existing one; other memories replace the existing one, which stays
    /// as a version.
    pub async fn memory_create(
        &self,
        caller: &Caller,
        input: MemoryCreate,
    ) -> Result<MemoryWritten, HubError> {
        let slug = match (input.granularity, input.slug) {
            (Granularity::Significant, None) => Some(slug_from_title(&input.content)?),
            (_, slug) => slug,
        };
        let instance = Some(input.instance_id.clone());
        let name = DiaryName::new(input.granularity, input.date, instance, slug)?;
        let id = name.id();
        let document_name = DocumentName::Diary(name);
        let _turn = self.lock_writes().await;
        loop {
            let (mut act, before) = self.begin_with_document(caller, &document_name).await?;
            let old = before.as_ref().and_then(Document::content);
            let content = match (input.granularity, old) {
                (Granularity::Daily, Some(old)) => daily::merge_diaries(old, &input.content),
                _ => format!("{}\n", input.content.trim_end()),
            };
            act.check(&document_name, Some(&content))?;
            let written = |message: &str| MemoryWritten {
                success: true,
                message: format!("{message} {document_name}"),
                memory_id: Some(id.clone()),
            };
            if old == Some(content.as_str()) {
                return Ok(written("nothing new for"));
            }
            let heads = before.map(|document| document.heads).unwrap_or_default();
            let (mut version, beside) = act.edit(heads, Some(content));
            version.author = input.instance_id.clone();
            version.edited_by = input.instance_id.to_string();
            version.chat_ids.extend(input.chat_ids.iter().cloned());
            version.participants.extend(input.participating_instances.iter().cloned());
            act.write_edit(&document_name, version, beside);
            if act.commit().await? {
                return Ok(written("wrote"));
            }
        }
    }

    /// Writes documents of an import in one transaction. Existing documents are left as they are.
    ///
    /// # Errors
    ///
    /// If a document is too long, or storage fails; then nothing was written.
    pub async fn import_documents(
        &self,
        caller: &Caller,
        documents: &[(DiaryName, String)],
    ) -> Result<(), HubError> {
        let names: Vec<DocumentName> =
            documents.iter().map(|(name, _)| DocumentName::Diary(name.clone())).collect();
        let _turn = self.lock_writes().await;
        loop {
            let (mut act, before) = self.begin_with_all(caller, &names).await?;
            for ((name, (_, text)), before) in names.iter().zip(documents).zip(before) {
                if before.as_ref().and_then(Document::content).is_some() {
                    continue;
                }
                let content = format!("{}\n", text.trim_end());
                act.check(name, Some(&content))?;
                let heads = before.map(|document| document.heads).unwrap_or_default();
                let (mut version, beside) = act.edit(heads, Some(content));
                version.edited_by = IMPORT_EDITOR.to_owned();
                act.write_edit(name, version, beside);
            }
            if act.commit.documents.is_empty() || act.commit().await? {
                return Ok(());
            }
        }
    }

    /// Corrects an existing memory. Its instance and its name stay.
    pub async fn memory_update(
        &self,
        caller: &Caller,
        input: MemoryUpdate,
    ) -> Result<MemoryWritten, HubError> {
        let wanted = MemoryRef {
            granularity: input.granularity,
            date: input.date,
            slug: input.slug,
            instance_id: input.instance_id,
        };
        let found = self.find_memory(&caller.scope, &wanted).await?;
        let name = match found {
            Ok(document) => document.name,
            Err(message) => return Ok(MemoryWritten { success: false, message, memory_id: None }),
        };
        let _turn = self.lock_writes().await;
        loop {
            let (mut act, before) = self.begin_with_document(caller, &name).await?;
            act.check(&name, Some(&input.content))?;
            let Some(before) = before else {
                let message = format!("{name} not found");
                return Ok(MemoryWritten { success: false, message, memory_id: None });
            };
            let content = format!("{}\n", input.content.trim_end());
            let (mut version, beside) = act.edit(before.heads.clone(), Some(content));
            if let Some(shown) = before.shown_version() {
                version.author = shown.author.clone();
            }
            version.edited_by = input.edited_by.clone().unwrap_or_else(|| caller.instance.to_string());
            act.write_edit(&name, version, beside);
            if act.commit().await? {
                let memory_id = diary_name(&name).map(DiaryName::id);
                return Ok(MemoryWritten { success: true, message: format!("corrected {name}"), memory_id });
            }
        }
    }

    pub async fn memory_read(&self, caller: &Caller, input: MemoryRef) -> Result<MemoryReadResult, HubError> {
        Ok(match self.find_memory(&caller.scope, &input).await? {
            Ok(document) => {
                let memory = memory_entry(&document);
                MemoryReadResult { success: memory.is_some(), memory, message: None }
            }
            Err(message) => MemoryReadResult { success: false, memory: None, message: Some(message) },
        })
    }

    /// Deletes a memory and leaves a tombstone, so that no instance brings it back. Roll-ups that include it are
    /// written again.
    pub async fn memory_delete(&self, caller: &Caller, input: MemoryRef) -> Result<Outcome, HubError> {
        let name = match self.find_memory(&caller.scope, &input).await? {
            Ok(document) => document.name,
            Err(message) => return Ok(Outcome::failed(message)),
        };
        match self.delete_document(caller, &name).await? {
            true => Ok(Outcome::success(format!("deleted {name}; roll-ups based on it will be rewritten"))),
            false => Ok(Outcome::failed(format!("{name} not found"))),
        }
    }

    /// Memories, the newest first.
    pub async fn memory_list(&self, caller: &Caller, input: MemoryList) -> Result<MemoryListing, HubError> {
        let mut names = self.shared_parts().parts.store.memory_names(&caller.scope).await?;
        names.retain(|name| {
            let date = name.date();
            input.granularity.is_none_or(|granularity| granularity == name.granularity())
                && input.before_date.is_none_or(|before| date.first_day() <= before)
                && input.after_date.is_none_or(|after| date.last_day() >= after)
        });
        names.sort_by(|one, other| other.date().cmp(&one.date()).then_with(|| one.cmp(other)));
        let total = names.len();
        let limit = input.limit.unwrap_or(20).clamp(1, 100) as usize;
        let from = input.offset.unwrap_or(0) as usize;
        let mut memories = Vec::with_capacity(limit.min(total));
        for name in names.into_iter().skip(from).take(limit) {
            // A memory that was just deleted is not shown.
            let document = self.document(&caller.scope, &name.clone().into()).await?;
            let there = document.filter(|document| document.content().is_some());
            memories.extend(there.map(|document| list_entry(&name, &document)));
        }
        Ok(MemoryListing { memories, total })
    }

    /// The memory that a reference names; without slug or instance, the only one of that date.
    async fn find_memory(
        &self,
        scope: &Scope,
        wanted: &MemoryRef,
    ) -> Result<Result<Document, String>, HubError> {
        if !wanted.date.matches_granularity(wanted.granularity) {
            let what =
                format!("`{}` is not a valid date for a {} memory", wanted.date, wanted.granularity.as_str());
            return Err(HubError::Invalid(what));
        }
        let exact =
            DiaryName::new(wanted.granularity, wanted.date, wanted.instance_id.clone(), wanted.slug.clone());
        let not_found = || format!("no {} memory of {}", wanted.granularity.as_str(), wanted.date);
        if let Ok(name) = exact {
            let document = self.document(scope, &name.into()).await?;
            let there = document.filter(|document| document.content().is_some());
            return Ok(there.ok_or_else(not_found));
        }
        let mut found = self.shared_parts().parts.store.memory_names(scope).await?;
        found.retain(|name| name.granularity() == wanted.granularity && name.date() == wanted.date);
        found.sort();
        match found.as_slice() {
            [] => Ok(Err(not_found())),
            [only] => {
                let document = self.document(scope, &only.clone().into()).await?;
                Ok(document.filter(|document| document.content().is_some()).ok_or_else(not_found))
            }
            several => {
                let names: Vec<String> = several.iter().map(DiaryName::stem).collect();
                Ok(Err(format!(
                    "several memories have this date: {}. Choose one by `slug` or `instanceId`",
                    names.join(", ")
                )))
            }
        }
    }
}

/// The name of a memory; `None` for an identity document.
pub(crate) fn diary_name(name: &DocumentName) -> Option<&DiaryName> {
    match name {
        DocumentName::Diary(name) => Some(name),
        DocumentName::Identity(..) => None,
    }
}

/// The instance of a memory: a daily belongs to one, others to their author's.
pub(crate) fn source_instance(name: &DiaryName, version: &Version) -> InstanceId {
    shown_instance(name, &version.author)
}

/// The instance to which the author of a memory's shown version belongs.
pub(crate) fn shown_instance(name: &DiaryName, author: &InstanceId) -> InstanceId {
    name.instance().unwrap_or(author).clone()
}

fn is_roll_up(name: &DiaryName) -> bool {
    matches!(name, DiaryName::RollUp(..))
}

fn list_entry(name: &DiaryName, document: &Document) -> ListedMemory {
    let content = document.content().unwrap_or_default();
    let mut preview: String = content.chars().take(PREVIEW_LENGTH).collect();
    if content.chars().count() > PREVIEW_LENGTH {
        preview.push_str("...");
    }
    let date = match name.slug() {
        Some(slug) => format!("{}_{slug}", name.date()),
        None => name.date().to_string(),
    };
    ListedMemory {
        id: name.id(),
        granularity: name.granularity(),
        date,
        preview,
        source_instance: document.shown_version().map(|shown| source_instance(name, shown)),
        stale: is_roll_up(name).then_some(document.stale),
    }
}

/// Converts a memory to its wire format; `None` if it was deleted.
pub(crate) fn memory_entry(document: &Document) -> Option<MemoryEntry> {
    let name = diary_name(&document.name)?;
    let shown = document.shown_version()?;
    Some(MemoryEntry {
        id: name.id(),
        granularity: name.granularity(),
        date: name.date(),
        content: shown.content.clone()?,
        chat_ids: shown.chat_ids.iter().cloned().collect(),
        source_instance: source_instance(name, shown),
        participating_instances: shown.participants.iter().cloned().collect(),
        slug: name.slug().cloned(),
        version: shown.number,
        created_at: document.created_at,
        updated_at: shown.written_at,
        edited_by: shown.edited_by.clone(),
        stale: is_roll_up(name).then_some(document.stale),
    })
}

/// Makes a slug from a title.
pub(crate) fn slug_from_title(content: &str) -> Result<Slug, HubError> {
    let title = content.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let mut slug = String::new();
    for word in title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if slug.chars().count() + word.chars().count() >= NAME_LENGTH_MAX {
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.push_str(&word.to_lowercase());
    }
    slug.parse()
        .map_err(|_| HubError::Invalid("a significant memory needs a `slug`; nothing was written".to_owned()))
}
