//! Stores documents of the hub that this home follows.

use memory::Scope;
use serde_json::Value;

use crate::api::sync::{ConcurrentVersion, ErasedLineItem, IdentityItem, MemoryItem};
use crate::documents::{CONTENT_BYTES_MAX, Document, Version, core_block_of};
use crate::erasure::{ERASURE_EDITOR, ErasedLine};
use crate::error::HubError;
use crate::names::{DiaryDate, DiaryName, DocumentName, FileName, InstanceId};
use crate::ports::{DocumentErasure, ExchangePosition, RemotePage};
use crate::service::{Caller, Hub};
use crate::transaction::HubTransaction;
use crate::version_vector::{COUNTER_MAX, VersionVector};
use crate::versions::ROLL_UP_EDITOR;
use crate::versions::{MergeOutcome, have_different_content, merge_version};

use super::merge::{self, Admission, merge_versions};

/// A document of this hub before a change is merged.
pub(super) struct MergeTarget {
    name: DocumentName,
    prompt_label: Option<String>,
    /// The live versions of the document, each with its own version vector, the shown one first.
    heads: Vec<Version>,
    erased: Vec<ErasedLine>,
    name_erased: bool,
}

/// Parses the documents of a page. For those that are skipped, returns what they are and why.
pub(super) fn read_page(page: &RemotePage) -> (Vec<MergeTarget>, Vec<String>) {
    let (mut documents, mut passed_over) = (Vec::new(), Vec::new());
    let identity = page.identity_files.values().flatten().map(read_identity);
    for read in identity.chain(page.memories.iter().map(read_memory)) {
        match read {
            Ok(document) => documents.push(document),
            Err(reason) => passed_over.push(reason),
        }
    }
    (documents, passed_over)
}

fn read_identity(value: &Value) -> Result<MergeTarget, String> {
    let item: IdentityItem = serde_json::from_value(value.clone())
        .map_err(|error| format!("the document {}: {error}", name_field(value, "filename")))?;
    let filename: FileName = item.filename.parse().map_err(|error| format!("{}: {error}", item.filename))?;
    let name = DocumentName::Identity(item.category, filename);
    let shown = Version {
        number: 0,
        content: item.content.filter(|_| !item.deleted),
        vector: item.version_vector,
        author: item.source_instance,
        edited_by: item.modified_by,
        by_person: item.by_person,
        chat_ids: Default::default(),
        participants: Default::default(),
        written_at: item.deleted_at.unwrap_or(item.last_modified),
    };
    let prompt_label = Some(item.prompt_label).filter(|label| *label != name.stem());
    incoming_version(
        name,
        prompt_label,
        shown,
        item.concurrent_versions,
        &item.erased_lines,
        item.name_erased,
    )
}

fn read_memory(value: &Value) -> Result<MergeTarget, String> {
    let item: MemoryItem = serde_json::from_value(value.clone())
        .map_err(|error| format!("the memory {}: {error}", name_field(value, "date")))?;
    let wrong = |error: crate::names::InvalidName| format!("the memory {}: {error}", item.date);
    let granularity = item.granularity.parse().map_err(wrong)?;
    let date: DiaryDate = item.date.parse().map_err(wrong)?;
    let slug = item.slug.as_deref().map(str::parse).transpose().map_err(wrong)?;
    let name = DiaryName::new(granularity, date, Some(item.source_instance.clone()), slug).map_err(wrong)?;
    let shown = Version {
        number: 0,
        content: item.content.filter(|_| !item.deleted),
        vector: item.version_vector,
        author: item.source_instance,
        edited_by: item.edited_by,
        by_person: false,
        chat_ids: item.chat_ids.into_iter().collect(),
        participants: item.participating_instances.into_iter().collect(),
        written_at: item.deleted_at.unwrap_or(item.updated_at),
    };
    let name = DocumentName::Diary(name);
    incoming_version(name, None, shown, item.concurrent_versions, &item.erased_lines, item.name_erased)
}

fn name_field<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or("without a name")
}

fn incoming_version(
    name: DocumentName,
    prompt_label: Option<String>,
    shown: Version,
    others: Vec<ConcurrentVersion>,
    erased: &[ErasedLineItem],
    name_erased: bool,
) -> Result<MergeTarget, String> {
    if shown.vector.is_empty() {
        return Err(format!("{name}: it has no version vector"));
    }
    let others = others.into_iter().map(|other| Version {
        number: 0,
        content: other.content.filter(|_| !other.deleted),
        vector: other.version_vector,
        author: other.source_instance,
        edited_by: other.edited_by,
        by_person: other.by_person,
        chat_ids: shown.chat_ids.clone(),
        participants: shown.participants.clone(),
        written_at: other.updated_at,
    });
    let heads: Vec<Version> = std::iter::once(shown.clone()).chain(others).collect();
    for head in &heads {
        if head.vector.iter().any(|(_, counter)| counter > COUNTER_MAX) {
            return Err(format!("{name}: its version vector exceeds 2^53"));
        }
        if head.content.as_ref().is_some_and(|content| content.len() > CONTENT_BYTES_MAX) {
            return Err(format!("{name}: it is longer than {CONTENT_BYTES_MAX} bytes"));
        }
    }
    let line = |line: &ErasedLineItem| {
        let digest = hex::decode(&line.digest).ok().and_then(|bytes| bytes.try_into().ok());
        let digest =
            digest.ok_or_else(|| format!("{name}: `{}` is not the digest of a line", line.digest))?;
        Ok(ErasedLine { digest, author: line.author.clone(), counter: line.counter })
    };
    let erased = erased.iter().map(line).collect::<Result<_, String>>()?;
    Ok(MergeTarget { name, prompt_label, heads, erased, name_erased })
}

impl Hub {
    /// Stores documents of the hub, in one transaction with the position after them. Storing them again changes
    /// nothing. Returns how many documents changed, and from how many text was erased.
    pub(super) async fn receive(
        &self,
        scope: &Scope,
        documents: &[MergeTarget],
        position: &ExchangePosition,
    ) -> Result<(usize, usize), HubError> {
        let caller = self.caller_of_exchange(scope);
        let _turn = self.lock_writes().await;
        loop {
            let mut act = self.begin(&caller).await?;
            let names: Vec<DocumentName> = documents.iter().map(|document| document.name.clone()).collect();
            let store = &self.shared_parts().parts.store;
            let (_, known) = store.hub_state_with(scope, &names).await?;
            let erased = store.erased_lines(scope, &names).await?;
            let mut changed = 0;
            for ((incoming, known), erased) in documents.iter().zip(known).zip(erased) {
                changed += usize::from(receive_one(&mut act, incoming, known, erased).await?);
            }
            act.commit.exchange = Some(position.clone());
            let (erased, written) = (act.commit.erasures.len(), names);
            if act.commit().await? {
                if erased > 0 {
                    self.drop_vectors(scope);
                    for name in &written {
                        self.mirror_document(scope, name).await;
                    }
                }
                return Ok((changed, erased));
            }
        }
    }

    /// The author of changes that come from the hub.
    pub(super) fn caller_of_exchange(&self, scope: &Scope) -> Caller {
        Caller {
            scope: scope.clone(),
            instance: self.instance_id(),
            is_person: false,
            is_bound: false,
            is_of_one_user: false,
        }
    }
}

/// Merges one document; true if it changed.
async fn receive_one(
    act: &mut HubTransaction<'_>,
    incoming: &MergeTarget,
    known: Option<Document>,
    mut erased: Vec<ErasedLine>,
) -> Result<bool, HubError> {
    let name = &incoming.name;
    let before = known.map(|document| document.heads).unwrap_or_default();
    if incoming.name_erased {
        return Ok(erase_name(act, incoming, before));
    }
    if core_block_of(name, &act.caller.scope).is_some() {
        return Ok(replace_core_block(act, incoming, &before));
    }
    erased.extend(incoming.erased.iter().cloned());
    let mut heads = before.clone();
    if matches!(name, DocumentName::Diary(DiaryName::RollUp(..))) {
        // Only the hub writes these. One that was created or erased here is replaced.
        heads.retain(|head| {
            !matches!(head.edited_by.as_str(), ROLL_UP_EDITOR | ERASURE_EDITOR)
                || incoming.heads.iter().any(|newer| head.vector.covers(&newer.vector))
        });
    }
    let mut merged_from = Vec::new();
    for head in &incoming.heads {
        let Some(version) = without_erased(act, name, head, &heads, &erased) else { continue };
        let version = reissue_if_copied(act, version, &mut heads);
        let (met, outcome) = merge_version(heads, version.clone(), &act.hub.settings().priority);
        heads = met;
        if outcome == MergeOutcome::Concurrent
            && let Some(merged) = merge_versions(act, name, &heads).await?
        {
            merged_from.push(version);
            heads = vec![merged];
        }
    }
    if !incoming.erased.is_empty() {
        act.commit.erasures.push(DocumentErasure {
            name: name.clone(),
            lines: incoming.erased.clone(),
            takes_name: false,
            is_own_change: false,
        });
    }
    if heads == before || heads.is_empty() {
        return Ok(!incoming.erased.is_empty());
    }
    if have_different_content(&heads) {
        act.open_conflicts(name, &heads);
    }
    write(act, incoming, heads, merged_from);
    Ok(true)
}

fn write(
    act: &mut HubTransaction<'_>,
    incoming: &MergeTarget,
    heads: Vec<Version>,
    merged_from: Vec<Version>,
) {
    act.write(&incoming.name, heads);
    if let Some(write) = act.commit.documents.last_mut() {
        write.merged_from = merged_from;
        write.prompt_label.clone_from(&incoming.prompt_label);
    }
}

/// Erases a document with its name; only a digest of the name stays.
fn erase_name(act: &mut HubTransaction<'_>, incoming: &MergeTarget, before: Vec<Version>) -> bool {
    if before.iter().all(|head| head.number == 0) {
        return false;
    }
    write(act, incoming, incoming.heads.clone(), Vec::new());
    act.commit.erasures.push(DocumentErasure {
        name: incoming.name.clone(),
        lines: Vec::new(),
        takes_name: true,
        is_own_change: false,
    });
    true
}

/// Replaces a core block by the hub's text, as core blocks belong to the hub. The former text stays as a version.
fn replace_core_block(act: &mut HubTransaction<'_>, incoming: &MergeTarget, before: &[Version]) -> bool {
    let Some(shown) = incoming.heads.first() else { return false };
    if before.first().is_some_and(|own| own.content == shown.content) && before.len() == 1 {
        return false;
    }
    write(act, incoming, vec![shown.clone()], Vec::new());
    true
}

/// The version without lines erased here since; `None` if nothing else is left.
fn without_erased(
    act: &mut HubTransaction<'_>,
    name: &DocumentName,
    head: &Version,
    heads: &[Version],
    erased: &[ErasedLine],
) -> Option<Version> {
    let Some(content) = &head.content else { return Some(head.clone()) };
    match merge::admit(&act.caller.scope, name, content, &head.vector, heads, erased) {
        Admission::Whole => Some(head.clone()),
        Admission::Nothing => None,
        Admission::Without(left) => {
            let beside: Vec<Version> =
                heads.iter().filter(|own| !head.vector.covers(&own.vector)).cloned().collect();
            let vector = act.with_next_change(head.vector.clone(), &beside);
            Some(Version { content: Some(left), vector, ..head.clone() })
        }
    }
}

/// Gives a new version vector to a text that arrived under the vector of another text, because a copy of this home
/// wrote it. It is stored beside that text. If the version exists here already, the hub's time is used, so that both
/// homes show the same one.
fn reissue_if_copied(act: &mut HubTransaction<'_>, version: Version, heads: &mut [Version]) -> Version {
    let Some(same) = heads.iter_mut().find(|head| head.vector == version.vector) else { return version };
    if same.content == version.content {
        same.written_at = version.written_at;
        return version;
    }
    let own: InstanceId = act.hub.instance_id();
    let vector = VersionVector::default().with_change(&act.single_author(&own, "kept"), 1);
    Version { vector, ..version }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn impossible_claims_of_a_hub_are_ignored() {
        let memory = |slug: &str, vector: Value, content: &str| {
            json!({
                "id": "x", "granularity": "significant", "date": "2026-07-01", "slug": slug, "content": content,
                "chatIds": [], "sourceInstance": "home", "participatingInstances": [], "version": 1,
                "createdAt": "2026-07-01T00:00:00Z", "updatedAt": "2026-07-01T00:00:00Z", "editedBy": "home",
                "versionVector": vector,
            })
        };
        let long = "x".repeat(CONTENT_BYTES_MAX + 1);
        let page = RemotePage {
            memories: vec![
                memory("good", json!({"home": 1}), "text"),
                memory("../../bad", json!({"home": 2}), "text"),
                memory("counter", json!({"home": u64::MAX}), "text"),
                memory("empty", json!({}), "text"),
                memory("long", json!({"home": 3}), &long),
                json!({"granularity": "hourly"}),
                json!(7),
            ],
            ..RemotePage::default()
        };
        let (documents, passed_over) = read_page(&page);
        let names: Vec<String> = documents.iter().map(|document| document.name.to_string()).collect();
        assert_eq!(names, ["significant/2026-07-01_good.md"]);
        assert_eq!(passed_over.len(), 6, "{passed_over:?}");
    }
}
