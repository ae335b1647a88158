//! Conflicts: versions that are not shown, until a person decides.

use std::collections::BTreeSet;

use memory::Scope;
use uuid::Uuid;

use crate::api::Outcome;
use crate::api::conflicts::{
    ConflictEntry, ConflictQuery, ConflictResolve, ConflictSide, Conflicts, Resolution,
};
use crate::documents::{Conflict, Version};
use crate::error::HubError;
use crate::names::DocumentName;
use crate::service::{Caller, Hub};
use crate::transaction::HubTransaction;
use crate::versions::ROLL_UP_EDITOR;

impl Hub {
    /// Conflicts, the newest first.
    pub async fn conflict_list(&self, caller: &Caller, input: ConflictQuery) -> Result<Conflicts, HubError> {
        let conflicts = self.shared_parts().parts.store.conflicts(&caller.scope, !input.all).await?;
        let seen = conflicts.iter().filter(|conflict| self.may_read(caller, &conflict.name));
        Ok(Conflicts { conflicts: seen.map(conflict_entry).collect() })
    }

    /// Publishes the conflicts that were opened. Two versions have at most one open conflict.
    pub(crate) async fn publish_opened(&self, scope: &Scope, ids: &BTreeSet<Uuid>) {
        let Some(listener) = self.shared_parts().parts.listener.as_ref().filter(|_| !ids.is_empty()) else {
            return;
        };
        match self.shared_parts().parts.store.conflicts(scope, true).await {
            Ok(open) => open
                .iter()
                .rev()
                .filter(|conflict| ids.contains(&conflict.id))
                .for_each(|conflict| listener.conflict_opened(scope, conflict)),
            Err(error) => {
                tracing::warn!(%error, "the event for a new conflict could not be published; lists show the \
                    conflict")
            }
        }
    }

    /// Settles a conflict. The resulting version includes both sides, so that they do not conflict again.
    pub async fn conflict_resolve(
        &self,
        caller: &Caller,
        input: ConflictResolve,
    ) -> Result<Outcome, HubError> {
        let _turn = self.lock_writes().await;
        loop {
            // Begun before anything is read, so that a concurrent write, or erasure, makes the transaction start
            // again.
            let mut act = self.begin(caller).await?;
            let open = self.shared_parts().parts.store.conflicts(&caller.scope, true).await?;
            let Some(conflict) = open.iter().find(|open| open.id.to_string() == input.conflict_id) else {
                let message =
                    format!("open conflict {} not found; `conflict_list` lists them", input.conflict_id);
                return Ok(Outcome::failed(message));
            };
            let Some(document) = self.document(&caller.scope, &conflict.name).await? else {
                return Ok(Outcome::failed(format!("{} no longer exists", conflict.name)));
            };
            let shown = document.content().map(str::to_owned);
            let (content, how) = match input.resolution {
                Resolution::Shown => (shown, "shown"),
                Resolution::Dismiss => (shown, "dismissed"),
                Resolution::Kept => (conflict.kept.content.clone(), "kept"),
                Resolution::Merge => match &input.content {
                    Some(content) => (Some(content.clone()), "merged"),
                    None => {
                        return Err(HubError::Invalid(
                            "`merge` needs the merged text in `content`".to_owned(),
                        ));
                    }
                },
            };
            act.check(&conflict.name, content.as_deref())?;
            let others = open.iter().filter(|other| other.name == conflict.name && other.id != conflict.id);
            let waiting: BTreeSet<i64> = others.map(|other| other.kept.number).collect();
            // The decision covers the two shown texts. A third one stays, with a conflict of its own.
            let decided =
                [document.content().map(str::to_owned), conflict.kept.content.clone(), content.clone()];
            let (still, seen): (Vec<Version>, Vec<Version>) = document.heads.into_iter().partition(|head| {
                head.number != conflict.kept.number
                    && (waiting.contains(&head.number) || !decided.contains(&head.content))
            });
            let mut seen = seen;
            seen.push(conflict.kept.clone());
            let mut chosen = act.successor_beside(&seen, &still, content);
            // An automatic roll-up that was chosen is replaced by later ones, like any other.
            if how == "kept" && conflict.kept.edited_by == ROLL_UP_EDITOR {
                chosen.edited_by = ROLL_UP_EDITOR.to_owned();
            }
            let mut heads = vec![chosen];
            heads.extend(still.iter().filter(|head| !waiting.contains(&head.number)).cloned());
            act.open_conflicts(&conflict.name, &heads);
            heads.truncate(1);
            heads.extend(still);
            act.write(&conflict.name, heads);
            act.commit.settled.push((conflict.id, how.to_owned()));
            let message = format!("{} settled: {how}", conflict.name);
            if act.commit().await? {
                return Ok(Outcome::success(message));
            }
        }
    }
}

/// Converts a conflict to its wire format.
pub(crate) fn conflict_entry(conflict: &Conflict) -> ConflictEntry {
    let side = |version: &Version| ConflictSide {
        content: version.content.clone(),
        source_instance: version.author.clone(),
        edited_by: version.edited_by.clone(),
        updated_at: version.written_at,
    };
    ConflictEntry {
        id: conflict.id.to_string(),
        kind: conflict.name.kind().to_owned(),
        filename: format!("{}.md", conflict.name.stem()),
        shown: side(&conflict.shown),
        kept: side(&conflict.kept),
        created_at: conflict.opened_at,
        open: conflict.settled_at.is_none(),
        resolution: conflict.settled.clone(),
    }
}

impl HubTransaction<'_> {
    /// Opens a conflict for every live version whose text differs from the shown one. Returns the opened conflicts.
    pub(crate) fn open_conflicts(&mut self, name: &DocumentName, heads: &[Version]) -> Vec<Conflict> {
        let Some(shown) = heads.first() else { return Vec::new() };
        let mut opened = Vec::new();
        for kept in heads.iter().skip(1).filter(|head| head.content != shown.content) {
            opened.push(Conflict {
                id: self.hub.shared_parts().parts.ids.next(self.now),
                name: name.clone(),
                kept: kept.clone(),
                shown: shown.clone(),
                opened_at: self.now,
                settled_at: None,
                settled: None,
            });
        }
        self.commit.opened.extend(opened.iter().cloned());
        opened
    }
}
