//! The door.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::tz::TimeZone;
use memory::Scope;
use memory::ports::{Clock, Embedder, Ids};
use tokio::sync::Mutex;

use crate::door::Outcome;
use crate::door::archive::{EntityExport, EntityImport, EntityImported};
use crate::door::conflicts::{ConflictQuery, ConflictResolve, Conflicts};
use crate::door::identity::{
    CustomFile, IdentityAll, IdentityText, Meta, MetaQuery, MetaText, SectionText, Written,
};
use crate::door::memories::{
    Consolidations, GrepResults, MemoryConsolidate, MemoryCreate, MemoryGrep, MemoryList, MemoryListing,
    MemoryReadResult, MemoryRef, MemorySearch, MemoryUpdate, MemoryWritten, Purged, Rebuilt, SearchResults,
};
use crate::door::snapshots::{SnapshotQuery, SnapshotRef, SnapshotText, Snapshots};
use crate::door::sync::{SyncPull, SyncPulled, SyncPush, SyncPushed, SyncStatus};
use crate::error::HubError;
use crate::names::InstanceId;
use crate::port::{HubStore, MemoryLinks, Summariser};

/// Who asks, and for whose memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The persona and the user.
    pub scope: Scope,
    /// The instance that speaks.
    pub instance: InstanceId,
    /// Whether it is a person's own act: only people write core blocks.
    pub is_person: bool,
}

/// What a person can set.
#[derive(Clone, Debug)]
pub struct HubSettings {
    /// The instance that this hub is.
    pub instance: InstanceId,
    /// The persona and user whose documents lie directly in the home's folders.
    pub default_scope: Scope,
    /// The zone where a persona or user has told none.
    pub zone: TimeZone,
    /// How long snapshots are kept.
    pub snapshot_retention: Duration,
    /// Instances whose version is shown among equally late ones, the first before the others.
    pub priority: Vec<InstanceId>,
    /// The folder that `identity` and `memories` lie in; none for a hub without files.
    pub mirror: Option<PathBuf>,
}

/// What a hub is made of.
pub struct HubParts {
    /// Where documents are kept.
    pub store: Arc<dyn HubStore>,
    /// Who knows personas and users.
    pub personas: Arc<dyn memory::ports::PersonaStore>,
    /// Who makes vectors; none where words must do.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Who writes roll-ups.
    pub summariser: Option<Arc<dyn Summariser>>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Ids of what is written.
    pub ids: Arc<dyn Ids>,
    /// What a person can set.
    pub settings: HubSettings,
}

/// The shared self, seen from outside. Cheap to clone.
#[derive(Clone)]
pub struct Hub {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) parts: HubParts,
    /// Writers come one after the other, so that none has to begin anew; the store checks it too.
    pub(crate) writing: Mutex<()>,
    pub(crate) links: OnceLock<Arc<dyn MemoryLinks>>,
}

impl Hub {
    /// Puts the parts together.
    pub fn new(parts: HubParts) -> Self {
        Self { inner: Arc::new(Inner { parts, writing: Mutex::new(()), links: OnceLock::new() }) }
    }

    /// Lets the graph tell which memories are linked to what a query names. The first call counts.
    pub fn link(&self, links: Arc<dyn MemoryLinks>) {
        // A second one is passed over, as said.
        let _ = self.inner.links.set(links);
    }

    /// What a person has set.
    pub fn settings(&self) -> &HubSettings {
        &self.inner.parts.settings
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.inner
    }
}

impl Hub {
    /// All identity documents.
    pub async fn identity_get_all(&self, caller: &Caller) -> Result<IdentityAll, HubError> {
        pending(caller)
    }

    /// Writes a document whole.
    pub async fn identity_write(&self, caller: &Caller, input: IdentityText) -> Result<Written, HubError> {
        drop(input);
        pending(caller)
    }

    /// Adds a text at the end.
    pub async fn identity_append(&self, caller: &Caller, input: IdentityText) -> Result<Written, HubError> {
        drop(input);
        pending(caller)
    }

    /// Adds a text at the beginning.
    pub async fn identity_prepend(&self, caller: &Caller, input: IdentityText) -> Result<Written, HubError> {
        drop(input);
        pending(caller)
    }

    /// Adds a text to a section.
    pub async fn identity_update_section(
        &self,
        caller: &Caller,
        input: SectionText,
    ) -> Result<Written, HubError> {
        drop(input);
        pending(caller)
    }

    /// Replaces the text of a section.
    pub async fn identity_rewrite_section(
        &self,
        caller: &Caller,
        input: SectionText,
    ) -> Result<Written, HubError> {
        drop(input);
        pending(caller)
    }

    /// Deletes a custom document.
    pub async fn identity_delete_custom(
        &self,
        caller: &Caller,
        input: CustomFile,
    ) -> Result<Outcome, HubError> {
        drop(input);
        pending(caller)
    }

    /// Prompt labels.
    pub async fn identity_get_meta(&self, caller: &Caller, input: MetaQuery) -> Result<Meta, HubError> {
        drop(input);
        pending(caller)
    }

    /// Sets a prompt label.
    pub async fn identity_set_meta(&self, caller: &Caller, input: MetaText) -> Result<Outcome, HubError> {
        drop(input);
        pending(caller)
    }

    /// Writes a memory; a daily is merged.
    pub async fn memory_create(
        &self,
        caller: &Caller,
        input: MemoryCreate,
    ) -> Result<MemoryWritten, HubError> {
        drop(input);
        pending(caller)
    }

    /// Memories about a text.
    pub async fn memory_search(
        &self,
        caller: &Caller,
        input: MemorySearch,
    ) -> Result<SearchResults, HubError> {
        drop(input);
        pending(caller)
    }

    /// Memories that hold words.
    pub async fn memory_grep(&self, caller: &Caller, input: MemoryGrep) -> Result<GrepResults, HubError> {
        drop(input);
        pending(caller)
    }

    /// Memories, the newest first.
    pub async fn memory_list(&self, caller: &Caller, input: MemoryList) -> Result<MemoryListing, HubError> {
        drop(input);
        pending(caller)
    }

    /// One memory.
    pub async fn memory_read(&self, caller: &Caller, input: MemoryRef) -> Result<MemoryReadResult, HubError> {
        drop(input);
        pending(caller)
    }

    /// Corrects a memory.
    pub async fn memory_update(
        &self,
        caller: &Caller,
        input: MemoryUpdate,
    ) -> Result<MemoryWritten, HubError> {
        drop(input);
        pending(caller)
    }

    /// Deletes a memory and leaves a tombstone.
    pub async fn memory_delete(&self, caller: &Caller, input: MemoryRef) -> Result<Outcome, HubError> {
        drop(input);
        pending(caller)
    }

    /// Writes roll-ups now.
    pub async fn memory_consolidate(
        &self,
        caller: &Caller,
        input: MemoryConsolidate,
    ) -> Result<Consolidations, HubError> {
        drop(input);
        pending(caller)
    }

    /// Takes the vectors of memories away.
    pub async fn memory_embedding_purge(&self, caller: &Caller) -> Result<Purged, HubError> {
        pending(caller)
    }

    /// Makes the vectors of memories anew.
    pub async fn memory_embedding_rebuild(&self, caller: &Caller) -> Result<Rebuilt, HubError> {
        pending(caller)
    }

    /// What an instance has not seen.
    pub async fn sync_pull(&self, caller: &Caller, input: SyncPull) -> Result<SyncPulled, HubError> {
        drop(input);
        pending(caller)
    }

    /// Takes the changes of an instance.
    pub async fn sync_push(&self, caller: &Caller, input: SyncPush) -> Result<SyncPushed, HubError> {
        drop(input);
        pending(caller)
    }

    /// Where the hub stands.
    pub async fn sync_status(&self, caller: &Caller) -> Result<SyncStatus, HubError> {
        pending(caller)
    }

    /// Keeps a copy of every identity document.
    pub async fn snapshot_create(&self, caller: &Caller) -> Result<Snapshots, HubError> {
        pending(caller)
    }

    /// Snapshots, the newest first.
    pub async fn snapshot_list(&self, caller: &Caller, input: SnapshotQuery) -> Result<Snapshots, HubError> {
        drop(input);
        pending(caller)
    }

    /// The text of a snapshot.
    pub async fn snapshot_get(&self, caller: &Caller, input: SnapshotRef) -> Result<SnapshotText, HubError> {
        drop(input);
        pending(caller)
    }

    /// Writes a snapshot's text as a new version.
    pub async fn snapshot_restore(&self, caller: &Caller, input: SnapshotRef) -> Result<Outcome, HubError> {
        drop(input);
        pending(caller)
    }

    /// Conflicts, the newest first.
    pub async fn conflict_list(&self, caller: &Caller, input: ConflictQuery) -> Result<Conflicts, HubError> {
        drop(input);
        pending(caller)
    }

    /// Settles a conflict.
    pub async fn conflict_resolve(
        &self,
        caller: &Caller,
        input: ConflictResolve,
    ) -> Result<Outcome, HubError> {
        drop(input);
        pending(caller)
    }

    /// The whole hub in one archive.
    pub async fn entity_export(&self, caller: &Caller) -> Result<EntityExport, HubError> {
        pending(caller)
    }

    /// Takes an archive, all of it or nothing.
    pub async fn entity_import(
        &self,
        caller: &Caller,
        input: EntityImport,
    ) -> Result<EntityImported, HubError> {
        drop(input);
        pending(caller)
    }
}

fn pending<T>(caller: &Caller) -> Result<T, HubError> {
    Err(HubError::Refused(format!("not there yet for {}", caller.instance)))
}
