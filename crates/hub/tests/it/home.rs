//! A hub on a real database in a temporary folder.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use hub::api::identity::IdentityText;
use hub::api::memories::{MemoryCreate, MemoryRef};
use hub::api::sync::{MemoryChange, PushingInstance, SyncPush, SyncPushed};
use hub::ports::{SummaryError, SummaryRequest};
use hub::{Caller, Hub, HubParts, HubSettings, Summariser};
use jiff::tz::TimeZone;
use memory::ports::{Clock, Embedder, PersonaStore as _, UserStore as _};
use memory::{PersonaId, Scope, UserId};
use store::{HomeStore, StoreOptions};
use tempfile::TempDir;
use testkit::{SequentialIds, SimulatedClock, WordHashEmbedder};

/// A mock model that writes one bullet with its input, or fails.
#[derive(Default)]
pub(crate) struct Scribe {
    pub(crate) failing: Mutex<bool>,
    pub(crate) asked: Mutex<Vec<SummaryRequest>>,
}

#[async_trait]
impl Summariser for Scribe {
    async fn summarise(&self, request: SummaryRequest) -> Result<Vec<String>, SummaryError> {
        self.asked.lock().unwrap().push(request.clone());
        if *self.failing.lock().unwrap() {
            return Err(SummaryError("the model is away".to_owned()));
        }
        let told: Vec<String> = request
            .sources
            .iter()
            .flat_map(|(_, text)| text.lines())
            .map(|line| line.trim_start_matches("- ").to_owned())
            .filter(|line| !line.is_empty())
            .collect();
        Ok(vec![told.join("; ")])
    }

    fn source_tokens_max(&self) -> u32 {
        2_000
    }
}

pub(crate) struct Home {
    pub(crate) folder: Arc<TempDir>,
    pub(crate) hub: Hub,
    pub(crate) store: Arc<HomeStore>,
    pub(crate) clock: SimulatedClock,
    pub(crate) scribe: Arc<Scribe>,
    pub(crate) caller: Caller,
}

impl Home {
    pub(crate) async fn open() -> Self {
        Self::for_instance("home", Arc::new(TempDir::new().unwrap()), "home.db").await
    }

    /// A hub without files.
    pub(crate) async fn without_files() -> Self {
        Self::with("home", Arc::new(TempDir::new().unwrap()), "home.db", false, 7).await
    }

    /// A hub of this instance on a database in the folder.
    pub(crate) async fn for_instance(instance: &str, folder: Arc<TempDir>, database: &str) -> Self {
        Self::with(instance, folder, database, true, 7).await
    }

    pub(crate) async fn with(
        instance: &str,
        folder: Arc<TempDir>,
        database: &str,
        files: bool,
        seed: u64,
    ) -> Self {
        let path = folder.path().join(database);
        let store = Arc::new(HomeStore::open(&path, StoreOptions::default()).unwrap());
        let clock = SimulatedClock::new("2026-07-15T12:00:00Z".parse().unwrap());
        let scope = Scope::new(PersonaId::new("default").unwrap(), UserId::new("self").unwrap());
        let scribe = Arc::new(Scribe::default());
        let hub = Hub::new(HubParts {
            store: store.clone(),
            personas: store.clone(),
            corrections: store.clone(),
            users: store.clone(),
            embedder: Some(Arc::new(WordHashEmbedder::new())),
            summariser: Some(scribe.clone()),
            links: None,
            listener: None,
            clock: Arc::new(clock.clone()),
            ids: Arc::new(SequentialIds::new(seed)),
            settings: HubSettings {
                instance: instance.parse().unwrap(),
                default_scope: scope.clone(),
                zone: TimeZone::UTC,
                snapshot_retention: Duration::from_secs(30 * 86_400),
                priority: Vec::new(),
                users_read_custom: false,
                mirror: files.then(|| folder.path().to_owned()),
            },
        });
        store.ensure_persona(&scope.persona, "Luna", clock.now()).await.unwrap();
        store.ensure_user(&scope.user, clock.now()).await.unwrap();
        hub.start().await.unwrap();
        let caller = Caller {
            scope,
            instance: instance.parse().unwrap(),
            is_person: false,
            is_bound: false,
            is_of_one_user: false,
        };
        Self { folder, hub, store, clock, scribe, caller }
    }

    /// Another hub on the same database, with another clock or model.
    pub(crate) fn beside(&self, clock: Arc<dyn Clock>, embedder: Arc<dyn Embedder>) -> Hub {
        Hub::new(HubParts {
            store: self.store.clone(),
            personas: self.store.clone(),
            corrections: self.store.clone(),
            users: self.store.clone(),
            embedder: Some(embedder),
            summariser: Some(self.scribe.clone()),
            links: None,
            listener: None,
            clock,
            ids: Arc::new(SequentialIds::new(8)),
            settings: self.hub.settings().clone(),
        })
    }

    pub(crate) fn person(&self) -> Caller {
        Caller { is_person: true, ..self.caller.clone() }
    }

    pub(crate) fn file(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(crate) async fn create(&self, granularity: &str, date: &str, content: &str) -> String {
        self.create_as("home", granularity, date, content).await
    }

    pub(crate) async fn create_as(
        &self,
        instance: &str,
        granularity: &str,
        date: &str,
        content: &str,
    ) -> String {
        let (date, slug) = date.split_once('/').map_or((date, None), |(date, slug)| (date, Some(slug)));
        let input = MemoryCreate {
            granularity: granularity.parse().unwrap(),
            date: date.parse().unwrap(),
            content: content.to_owned(),
            chat_ids: Vec::new(),
            instance_id: instance.parse().unwrap(),
            participating_instances: Vec::new(),
            slug: slug.map(|slug| slug.parse().unwrap()),
        };
        let written = self.hub.memory_create(&self.caller, input).await.unwrap();
        assert!(written.success, "{}", written.message);
        written.memory_id.unwrap()
    }

    pub(crate) async fn text(&self, granularity: &str, date: &str) -> Option<String> {
        let read = self.hub.memory_read(&self.caller, reference(granularity, date)).await.unwrap();
        read.memory.map(|memory| memory.content)
    }

    pub(crate) async fn identity(&self, name: &str) -> Option<String> {
        let all = self.hub.identity_get_all(&self.caller).await.unwrap();
        let files = [all.own, all.user, all.relationship, all.custom].concat();
        files.into_iter().find(|file| file.filename.as_str() == name).map(|file| file.content)
    }

    pub(crate) async fn push(&self, instance: &str, changes: Vec<MemoryChange>) -> SyncPushed {
        let input = SyncPush {
            instance: PushingInstance {
                id: instance.parse().unwrap(),
                kind: "other".to_owned(),
                name: None,
                version: 1,
            },
            identity_changes: Vec::new(),
            memory_changes: changes,
            erasures: Vec::new(),
            last_sync_version: None,
        };
        self.hub.sync_push(&self.caller, input).await.unwrap()
    }
}

pub(crate) fn reference(granularity: &str, date: &str) -> MemoryRef {
    let (date, slug) = date.split_once('/').map_or((date, None), |(date, slug)| (date, Some(slug)));
    MemoryRef {
        granularity: granularity.parse().unwrap(),
        date: date.parse().unwrap(),
        slug: slug.map(|slug| slug.parse().unwrap()),
        instance_id: None,
    }
}

pub(crate) fn identity_text(category: &str, filename: &str, content: &str) -> IdentityText {
    IdentityText {
        category: category.parse().unwrap(),
        filename: filename.parse().unwrap(),
        content: content.to_owned(),
        instance_id: "home".parse().unwrap(),
    }
}

/// A pushed significant memory of 1 July; `vector` has the form `a:1 b:2`, or there is none.
pub(crate) fn change(slug: &str, content: Option<&str>, at: &str, vector: &str) -> MemoryChange {
    let mut seen = hub::VersionVector::default();
    for part in vector.split_whitespace() {
        let (author, counter) = part.split_once(':').unwrap();
        seen.note_seen(&author.parse().unwrap(), counter.parse().unwrap());
    }
    MemoryChange {
        granularity: "significant".to_owned(),
        date: "2026-07-01".to_owned(),
        slug: Some(slug.to_owned()),
        content: content.map(str::to_owned),
        chat_ids: Vec::new(),
        source_instance: None,
        participating_instances: Vec::new(),
        version: 1,
        created_at: None,
        updated_at: Some(at.to_owned()),
        edited_by: None,
        version_vector: (!vector.is_empty()).then_some(seen),
        deleted: content.is_none(),
        deleted_at: content.is_none().then(|| at.to_owned()),
    }
}
