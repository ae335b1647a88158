//! Snapshots of identity documents.

use jiff::SignedDuration;
use jiff::tz::TimeZone;

use crate::api::Outcome;
use crate::api::snapshots::{SnapshotEntry, SnapshotQuery, SnapshotRef, SnapshotText, Snapshots};
use crate::documents::Document;
use crate::error::HubError;
use crate::names::DocumentName;
use crate::ports::Snapshot;
use crate::service::{Caller, Hub};

impl Hub {
    /// Stores a snapshot of every identity document, and deletes those that are too old.
    pub async fn snapshot_create(&self, caller: &Caller) -> Result<Snapshots, HubError> {
        let _turn = self.lock_writes().await;
        let made = loop {
            let mut act = self.begin(caller).await?;
            for document in self.identity_documents(&caller.scope).await? {
                let content = document.content().filter(|content| !content.trim().is_empty());
                if let Some(content) = content.filter(|_| self.may_read(caller, &document.name)) {
                    act.store_snapshot(&document.name, content, "manual");
                }
            }
            let made = act.commit.snapshots.clone();
            if act.commit().await? {
                break made;
            }
        };
        self.prune_snapshots().await?;
        Ok(Snapshots { success: true, snapshots: made.iter().filter_map(snapshot_entry).collect() })
    }

    /// Deletes snapshots older than the retention; returns their number.
    pub async fn prune_snapshots(&self) -> Result<u64, HubError> {
        let kept =
            SignedDuration::try_from(self.settings().snapshot_retention).unwrap_or(SignedDuration::MAX);
        let Ok(before) = self.now().checked_sub(kept) else { return Ok(0) };
        Ok(self.shared_parts().parts.store.prune_snapshots(before).await?)
    }

    /// Snapshots, the newest first.
    pub async fn snapshot_list(&self, caller: &Caller, input: SnapshotQuery) -> Result<Snapshots, HubError> {
        let snapshots = self.snapshots(caller).await?;
        let wanted = |entry: &SnapshotEntry| {
            input.category.is_none_or(|category| category == entry.category)
                && input.filename.as_ref().is_none_or(|filename| *filename == entry.filename)
        };
        Ok(Snapshots {
            success: true,
            snapshots: snapshots.iter().filter_map(snapshot_entry).filter(wanted).collect(),
        })
    }

    /// The text of a snapshot.
    pub async fn snapshot_get(&self, caller: &Caller, input: SnapshotRef) -> Result<SnapshotText, HubError> {
        Ok(match self.snapshot(caller, &input.snapshot_id).await? {
            Some(snapshot) => SnapshotText { success: true, content: Some(snapshot.content), error: None },
            None => SnapshotText {
                success: false,
                content: None,
                error: Some(format!("Snapshot {} not found", input.snapshot_id)),
            },
        })
    }

    /// Writes a snapshot's text as a new version. The present text is stored as a snapshot too.
    pub async fn snapshot_restore(&self, caller: &Caller, input: SnapshotRef) -> Result<Outcome, HubError> {
        let Some(snapshot) = self.snapshot(caller, &input.snapshot_id).await? else {
            return Ok(Outcome::failed(format!("Snapshot {} not found", input.snapshot_id)));
        };
        let _turn = self.lock_writes().await;
        loop {
            let (mut act, before) = self.begin_with_document(caller, &snapshot.name).await?;
            act.check(&snapshot.name, Some(&snapshot.content))?;
            if let Some(content) = before.as_ref().and_then(Document::content) {
                act.store_snapshot(&snapshot.name, content, "pre-replace");
            }
            let heads = before.map(|document| document.heads).unwrap_or_default();
            let (version, beside) = act.edit(heads, Some(snapshot.content.clone()));
            act.write_edit(&snapshot.name, version, beside);
            if act.commit().await? {
                return Ok(Outcome::success(format!("restored {} from {}", snapshot.name, snapshot.id)));
            }
        }
    }

    async fn snapshot(&self, caller: &Caller, id: &str) -> Result<Option<Snapshot>, HubError> {
        Ok(self.snapshots(caller).await?.into_iter().find(|snapshot| snapshot.id == id))
    }

    async fn snapshots(&self, caller: &Caller) -> Result<Vec<Snapshot>, HubError> {
        let mut snapshots = self.shared_parts().parts.store.snapshots(&caller.scope).await?;
        snapshots.retain(|snapshot| self.may_read(caller, &snapshot.name));
        Ok(snapshots)
    }
}

fn snapshot_entry(snapshot: &Snapshot) -> Option<SnapshotEntry> {
    let DocumentName::Identity(category, filename) = &snapshot.name else { return None };
    Some(SnapshotEntry {
        id: snapshot.id.clone(),
        category: *category,
        filename: filename.clone(),
        timestamp: snapshot.created_at,
        date: snapshot.created_at.to_zoned(TimeZone::UTC).date().to_string(),
        reason: snapshot.reason.clone(),
        source: snapshot.source.clone(),
    })
}
