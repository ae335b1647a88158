//! The service of the hub: its settings and state.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use memory::Scope;
use memory::ports::{Clock, Embedder, IdGenerator};
use tokio::sync::{Mutex, Notify};

use crate::error::HubError;
use crate::extraction::ExtractionLog;
use crate::lore::cache::LoreCache;
use crate::names::{DiaryName, InstanceId};
use crate::ports::{DiaryLinks, HubListener, HubStore, Summariser};
use crate::retries::Retries;
use crate::search::vectors::ChunkVectorCache;
use crate::search::watermark::EmbeddingWatermark;

/// The author of a request, and the scope that it may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The persona and the user.
    pub scope: Scope,
    /// The instance that makes the request.
    pub instance: InstanceId,
    /// True if the user or owner acts in person: only people write core blocks.
    pub is_person: bool,
    /// True if the token or connection may act only for `instance`. Its statements about people and other instances
    /// are not trusted.
    pub is_bound: bool,
    /// True if the caller acts only for the user of `scope`. It can't write documents that all users of the persona
    /// share, and reads the category `custom` only if [`HubSettings::users_read_custom`] is set.
    pub is_of_one_user: bool,
}

/// Settings of the hub that a person can change.
#[derive(Clone, Debug)]
pub struct HubSettings {
    /// The hub's own instance at the start.
    pub instance: InstanceId,
    /// The persona and user whose documents lie directly in the home's folders.
    pub default_scope: Scope,
    /// The zone for a persona or user without one.
    pub zone: TimeZone,
    /// Period after which snapshots are deleted.
    pub snapshot_retention: Duration,
    /// Instances whose version is preferred among versions of the same time, in this order.
    pub priority: Vec<InstanceId>,
    /// True if callers that act for one user read documents of the category `custom`.
    pub users_read_custom: bool,
    /// The folder of `identity` and `memories`; `None` for a hub without files.
    pub mirror: Option<PathBuf>,
}

/// The dependencies of a hub.
pub struct HubParts {
    pub store: Arc<dyn HubStore>,
    pub personas: Arc<dyn memory::ports::PersonaStore>,
    /// Storage of users, to find a document's scope.
    pub users: Arc<dyn memory::ports::UserStore>,
    pub corrections: Arc<dyn memory::ports::CorrectionStore>,
    /// The embedder; without one, documents are found by words alone.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// The summariser; without one, weeks, months and years are not summarised.
    pub summariser: Option<Arc<dyn Summariser>>,
    /// Links between memories and entities for searches; `None` without a graph.
    pub links: Option<Arc<dyn DiaryLinks>>,
    /// Listener for changes that arrive from other homes.
    pub listener: Option<Arc<dyn HubListener>>,
    pub clock: Arc<dyn Clock>,
    /// Ids of what is written.
    pub ids: Arc<dyn IdGenerator>,
    pub settings: HubSettings,
}

/// Interface of the shared self: documents and their synchronisation. Cheap to clone.
#[derive(Clone)]
pub struct Hub {
    inner: Arc<HubInner>,
}

pub(crate) struct HubInner {
    pub(crate) parts: HubParts,
    /// Locked by the writer, so that none has to start again because of another; the store checks this too.
    pub(crate) writing: Mutex<()>,
    /// Signals a write, which may make diaries or roll-ups due.
    pub(crate) written: Notify,
    /// Signals that a document was written, so that chunks may need vectors.
    pub(crate) unembedded: Notify,
    /// Signals a local change, which this home's hub has not received.
    pub(crate) unsent: Notify,
    pub(crate) extraction: ExtractionLog,
    pub(crate) vectors: ChunkVectorCache,
    pub(crate) embedded: EmbeddingWatermark,
    pub(crate) lore: LoreCache,
    pub(crate) failures: Retries<(Scope, DiaryName)>,
    instance: ArcSwap<InstanceId>,
    /// Time of the last switch to a new author, which happens at most once an hour.
    last_renewal: parking_lot::Mutex<Option<Timestamp>>,
    /// The address of the hub that this home follows.
    followed: ArcSwapOption<String>,
}

impl HubInner {
    /// Time at which this hub last noticed that it had lost changes.
    pub(crate) fn last_renewal(&self) -> Option<Timestamp> {
        *self.last_renewal.lock()
    }

    pub(crate) fn note_renewal(&self, at: Timestamp) {
        *self.last_renewal.lock() = Some(at);
    }
}

impl Hub {
    /// Creates a hub from its parts.
    pub fn new(parts: HubParts) -> Self {
        let instance = ArcSwap::from_pointee(parts.settings.instance.clone());
        Self {
            inner: Arc::new(HubInner {
                parts,
                instance,
                last_renewal: parking_lot::Mutex::default(),
                followed: ArcSwapOption::empty(),
                writing: Mutex::new(()),
                written: Notify::new(),
                unembedded: Notify::new(),
                unsent: Notify::new(),
                extraction: ExtractionLog::default(),
                vectors: ChunkVectorCache::default(),
                embedded: EmbeddingWatermark::default(),
                lore: LoreCache::default(),
                failures: Retries::default(),
            }),
        }
    }

    /// State of extracting facts from memories: the extractor updates it, `sync_status` reports it.
    pub fn extraction(&self) -> &ExtractionLog {
        &self.inner.extraction
    }

    /// The settings of the hub.
    pub fn settings(&self) -> &HubSettings {
        &self.inner.parts.settings
    }

    /// The hub's own instance.
    pub fn instance_id(&self) -> InstanceId {
        self.inner.instance.load().as_ref().clone()
    }

    /// The address of the hub that this home follows; `None` if it follows none.
    pub fn followed_hub(&self) -> Option<Arc<String>> {
        self.inner.followed.load_full()
    }

    /// Makes this home follow the hub at this address, as this instance, or follow none.
    ///
    /// # Errors
    ///
    /// When storage fails.
    pub async fn follow_hub(&self, address: Option<String>, instance: InstanceId) -> Result<(), HubError> {
        let store = &self.inner.parts.store;
        let stored = store.own_instance().await?;
        if stored.as_ref() != Some(&instance) {
            if let (Some(before), Some(_)) = (&stored, &address) {
                self.rename_days(before, &instance).await?;
            }
            // Also for a home that was never started: otherwise changes would be counted without a name.
            store.set_own_instance(&instance).await?;
            self.inner.instance.store(Arc::new(instance));
        }
        self.inner.followed.store(address.map(Arc::new));
        Ok(())
    }

    pub(crate) fn shared_parts(&self) -> &HubInner {
        &self.inner
    }
}
