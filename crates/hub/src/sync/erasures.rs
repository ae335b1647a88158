//! Text that a person has erased at a pushing instance.

use memory::Scope;

use crate::api::sync::{Erasure, ItemStatus};
use crate::documents::{Version, core_block_of};
use crate::erasure::{ErasedLine, line_digest};
use crate::error::HubError;
use crate::names::DocumentName;
use crate::ports::DocumentErasure;
use crate::transaction::{HubTransaction, check_caller_access};

use super::items;
use super::merge::stored_versions;
use super::push::Push;

impl Push {
    /// Removes text that a person has erased at the pushing home. A bound pusher can remove only what it wrote: lines
    /// that first appeared in a version of its own, and its own dailies.
    pub(super) async fn follow_erasure(
        &self,
        act: &mut HubTransaction<'_>,
        erasure: &Erasure,
    ) -> Result<(ItemStatus, Option<String>), HubError> {
        let (name, mut digests) = match items::read_erasure(erasure, &self.pusher) {
            Ok(read) => read,
            Err(reason) => return Ok((ItemStatus::Refused, Some(reason))),
        };
        let refused = |reason: String| Ok((ItemStatus::Refused, Some(reason)));
        if core_block_of(&name, &act.caller.scope).is_some() {
            return refused(format!("{name} is a core block, which only people edit; nothing was erased"));
        }
        if let Err(error) = check_caller_access(act.caller, &name) {
            return refused(error.to_string());
        }
        let versions = stored_versions(act, &name, u32::MAX).await?;
        if versions.is_empty() {
            return Ok((ItemStatus::Known, None));
        }
        let is_own_day =
            matches!(&name, DocumentName::Diary(memory) if memory.instance() == Some(&self.pusher));
        let asked = digests.len();
        if self.is_bound && !is_own_day {
            let scope = &act.caller.scope;
            digests.retain(|digest| {
                oldest_version_with_line(scope, &name, &versions, digest)
                    .is_none_or(|first| self.is_text_of_pusher(first))
            });
            if erasure.name_erased && versions.iter().any(|version| !self.is_text_of_pusher(version)) {
                return refused(format!(
                    "{name} was also written by others; erase it here. Nothing was erased"
                ));
            }
        }
        let (author, counter) = (act.state.author.clone(), 0);
        let line = |digest| ErasedLine { digest, author: author.clone(), counter };
        act.commit.erasures.push(DocumentErasure {
            name: name.clone(),
            lines: digests.iter().copied().map(line).collect(),
            takes_name: erasure.name_erased,
            is_own_change: true,
        });
        let left = asked - digests.len();
        Ok(match left {
            0 => (ItemStatus::Applied, None),
            _ => (
                ItemStatus::Refused,
                Some(format!(
                    "{left} lines in {name} were written by others and are unchanged; erase them here"
                )),
            ),
        })
    }

    /// True if the text of a version comes from the pusher: it is the author, or its text was merged into another's.
    fn is_text_of_pusher(&self, version: &Version) -> bool {
        version.author == self.pusher || version.edited_by == self.pusher.as_str()
    }
}

/// Returns the oldest version that contains this line.
fn oldest_version_with_line<'a>(
    scope: &Scope,
    name: &DocumentName,
    versions: &'a [Version],
    digest: &[u8; 32],
) -> Option<&'a Version> {
    let holds = |version: &&Version| {
        let content = version.content.as_deref().unwrap_or_default();
        content.lines().any(|line| line_digest(scope, name, line).as_ref() == Some(digest))
    };
    versions.iter().filter(holds).min_by_key(|version| version.number)
}
