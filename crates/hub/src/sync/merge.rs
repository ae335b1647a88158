//! Merges a version from elsewhere with the stored ones. A push and a pull use the same steps.

use memory::Scope;

use crate::daily;
use crate::documents::Version;
use crate::erasure::{ERASURE_EDITOR, ErasedLine, without_erased};
use crate::error::HubError;
use crate::names::{DocumentName, Granularity};
use crate::sections;
use crate::transaction::HubTransaction;
use crate::version_vector::VersionVector;

/// Number of earlier versions among which a common base of two versions is searched. If there is none, they conflict
/// and a person decides.
pub(super) const VERSIONS_READ: u32 = 100;

/// A received text after this home's erasures.
pub(super) enum Admission {
    /// The text contains nothing that was erased here.
    Whole,
    /// The text without the lines that were erased here.
    Without(String),
    /// Every line of the text was erased here.
    Nothing,
}

/// Checks if a text contains lines that were erased here without its author knowing. Called before any merge, so that
/// erased text does not return in a merged document or a conflict.
pub(super) fn admit(
    scope: &Scope,
    name: &DocumentName,
    content: &str,
    seen: &VersionVector,
    heads: &[Version],
    erased: &[ErasedLine],
) -> Admission {
    let is_unseen_erasure = |head: &Version| {
        head.number == 0
            && head.content.is_none()
            && head.edited_by == ERASURE_EDITOR
            && !seen.covers(&head.vector)
    };
    if heads.iter().any(is_unseen_erasure) {
        return Admission::Nothing;
    }
    match without_erased(scope, name, content, seen, erased) {
        None => Admission::Whole,
        Some(left) if left.trim().is_empty() => Admission::Nothing,
        Some(left) => Admission::Without(left),
    }
}

/// Stored versions of a document, including those of this transaction, the newest first.
pub(super) async fn stored_versions(
    act: &HubTransaction<'_>,
    name: &DocumentName,
    limit: u32,
) -> Result<Vec<Version>, HubError> {
    let store = &act.hub.shared_parts().parts.store;
    let stored = store.document_versions(&act.caller.scope, name, limit).await?;
    let pushed = act.commit.documents.iter().filter(|write| write.name == *name);
    let mut versions: Vec<Version> =
        pushed.flat_map(|write| write.heads.iter().chain(&write.merged_from)).cloned().collect();
    versions.extend(stored);
    Ok(versions)
}

/// Merges two versions if that loses nothing of either: bullets of a day, or changes in different sections.
pub(super) async fn merge_versions(
    act: &mut HubTransaction<'_>,
    name: &DocumentName,
    heads: &[Version],
) -> Result<Option<Version>, HubError> {
    let [one, other] = heads else { return Ok(None) };
    let (Some(text), Some(other_text)) = (&one.content, &other.content) else { return Ok(None) };
    if text == other_text {
        return Ok(None);
    }
    let together = match name {
        DocumentName::Diary(memory) if memory.granularity() == Granularity::Daily => {
            let (first, second) =
                if one.written_at <= other.written_at { (text, other_text) } else { (other_text, text) };
            Some(daily::merge_diaries(first, second))
        }
        DocumentName::Diary(_) => None,
        DocumentName::Identity(..) => {
            let versions = stored_versions(act, name, VERSIONS_READ).await?;
            let base = versions
                .iter()
                .find(|version| one.vector.covers(&version.vector) && other.vector.covers(&version.vector));
            let base = base.and_then(|base| base.content.as_deref());
            base.and_then(|base| sections::merge_sections(base, text, other_text))
        }
    };
    Ok(together.map(|content| {
        let mut version = act.successor(heads, Some(content));
        version.author = one.author.clone();
        version.by_person = one.by_person && other.by_person;
        version
    }))
}
