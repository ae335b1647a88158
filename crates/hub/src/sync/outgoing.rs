//! Changes that a home sends to its hub: those that the hub's version vector does not include.

use jiff::Timestamp;
use memory::Scope;

use crate::api::sync::{Erasure, IdentityChange, ItemResult, MemoryChange};
use crate::documents::{Document, Version, core_block_of};
use crate::erasure::ERASURE_EDITOR;
use crate::error::HubError;
use crate::names::{DiaryName, DocumentName};
use crate::ports::{DocumentOutline, PendingErasure};
use crate::service::Hub;
use crate::version_vector::VersionVector;
use crate::versions::ROLL_UP_EDITOR;

/// Maximum versions in one push. After a lost connection one push is repeated.
const PUSHED_ITEMS_MAX: usize = 200;
/// Bytes of text after which a push ends; it has at least one version. Proxies limit bodies, often to 1 MB.
const PUSHED_BYTES_MAX: usize = 1024 * 1024;
/// Changes of this home that the hub has not received.
#[derive(Default)]
pub(super) struct OutgoingChanges {
    pub(super) identity: Vec<IdentityChange>,
    pub(super) memories: Vec<MemoryChange>,
    /// Counters of the last of these changes, by author.
    pub(super) counters: VersionVector,
}

impl Hub {
    /// True if versions of a document are sent to the hub. Core blocks belong to the hub, and dailies of other
    /// programs to those.
    pub(super) fn is_sent(&self, scope: &Scope, name: &DocumentName) -> bool {
        let is_of_other = matches!(name, DocumentName::Diary(DiaryName::Daily(_, instance)) if *instance != self.instance_id());
        !is_of_other && core_block_of(name, scope).is_none()
    }

    /// Documents with changes of this home that the hub has not received.
    pub(super) async fn unsent_documents(
        &self,
        scope: &Scope,
        there: &VersionVector,
    ) -> Result<Vec<Document>, HubError> {
        let own = self.instance_id();
        let store = &self.shared_parts().parts.store;
        let is_unsent = |outline: &DocumentOutline| {
            outline.seen.authors_ahead_of(there).any(|(author, _)| author.is_part_of(&own))
                && self.is_sent(scope, &outline.name)
        };
        let outlines = store.document_outlines(scope, 0).await?;
        let names: Vec<DocumentName> =
            outlines.into_iter().filter(is_unsent).map(|outline| outline.name).collect();
        let (_, documents) = store.hub_state_with(scope, &names).await?;
        let mut documents: Vec<Document> = documents.into_iter().flatten().collect();
        documents
            .retain(|document| document.heads.iter().any(|head| !is_written_by_hub(&document.name, head)));
        Ok(documents)
    }

    /// The versions that the hub has not received, in the order of their creation, so that an interrupted push leaves
    /// no gap.
    pub(super) fn versions_to_send(
        &self,
        documents: &[Document],
        there: &VersionVector,
    ) -> Vec<(DocumentName, Version, Timestamp)> {
        let own = self.instance_id();
        let mut versions = Vec::new();
        for document in documents {
            for head in &document.heads {
                let is_new = head.vector.authors_ahead_of(there).any(|(author, _)| author.is_part_of(&own));
                if is_new && !is_written_by_hub(&document.name, head) {
                    versions.push((document.name.clone(), head.clone(), document.created_at));
                }
            }
        }
        let order = |vector: &VersionVector| {
            vector.iter().filter(|(author, _)| author.is_part_of(&own)).map(|(_, counter)| counter).max()
        };
        versions.sort_by_key(|(_, version, _)| order(&version.vector));
        versions
    }
}

/// True if a version of a roll-up was not written by a person: the hub writes its own.
fn is_written_by_hub(name: &DocumentName, version: &Version) -> bool {
    matches!(name, DocumentName::Diary(DiaryName::RollUp(..)))
        && matches!(version.edited_by.as_str(), ROLL_UP_EDITOR | ERASURE_EDITOR)
}

/// The first versions that fit into one push, and their number.
pub(super) fn next_push(versions: &[(DocumentName, Version, Timestamp)]) -> (OutgoingChanges, usize) {
    let (mut outgoing, mut count, mut bytes) = (OutgoingChanges::default(), 0, 0);
    for (name, version, created_at) in versions {
        let length = version.content.as_ref().map_or(0, String::len);
        if count == PUSHED_ITEMS_MAX || count > 0 && bytes + length > PUSHED_BYTES_MAX {
            break;
        }
        count += 1;
        bytes += length;
        outgoing.counters.join(&version.vector);
        match name {
            DocumentName::Identity(category, filename) => outgoing.identity.push(IdentityChange {
                category: category.as_str().to_owned(),
                filename: filename.to_string(),
                content: version.content.clone(),
                version: version.number,
                last_modified: Some(version.written_at.to_string()),
                modified_by: Some(version.edited_by.clone()),
                source_instance: Some(version.author.to_string()),
                by_person: version.by_person,
                version_vector: Some(version.vector.clone()),
                deleted: version.content.is_none(),
                deleted_at: version.content.is_none().then(|| version.written_at.to_string()),
            }),
            DocumentName::Diary(memory) => outgoing.memories.push(MemoryChange {
                granularity: memory.granularity().as_str().to_owned(),
                date: memory.date().to_string(),
                slug: memory.slug().map(ToString::to_string),
                content: version.content.clone(),
                chat_ids: version.chat_ids.iter().cloned().collect(),
                source_instance: Some(memory.instance().unwrap_or(&version.author).to_string()),
                participating_instances: version.participants.iter().map(ToString::to_string).collect(),
                version: version.number,
                created_at: Some(created_at.to_string()),
                updated_at: Some(version.written_at.to_string()),
                edited_by: Some(version.edited_by.clone()),
                version_vector: Some(version.vector.clone()),
                deleted: version.content.is_none(),
                deleted_at: version.content.is_none().then(|| version.written_at.to_string()),
            }),
        }
    }
    (outgoing, count)
}

pub(super) fn erasure_item(erasure: &PendingErasure) -> Erasure {
    let lines = erasure.lines.iter().map(|line| hex::encode(line.digest)).collect();
    let item = Erasure { lines, name_erased: erasure.name_erased, ..Erasure::default() };
    match &erasure.name {
        DocumentName::Identity(category, filename) => Erasure {
            category: Some(category.as_str().to_owned()),
            filename: Some(filename.to_string()),
            ..item
        },
        DocumentName::Diary(memory) => Erasure {
            granularity: Some(memory.granularity().as_str().to_owned()),
            date: Some(memory.date().to_string()),
            slug: memory.slug().map(ToString::to_string),
            ..item
        },
    }
}

pub(super) fn refusal_text(result: &ItemResult) -> String {
    let kind = result.category.as_deref().or(result.granularity.as_deref()).unwrap_or_default();
    let name = result.filename.as_deref().or(result.date.as_deref()).unwrap_or_default();
    let reason = result.reason.as_deref().unwrap_or("the hub gave no reason");
    format!("{kind} {name}: {reason}")
}
