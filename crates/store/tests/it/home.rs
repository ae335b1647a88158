//! A home in a temporary folder, and messages for it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use jiff::civil::date;
use memory::identifiers::{MessageId, SessionId};
use memory::messages::Role;
use memory::ports::{NewMessage, PersonaStore, UserStore};
use memory::{PersonaId, Scope, UserId};
use store::{HomeStore, StoreOptions};
use tempfile::TempDir;
use uuid::Uuid;

pub(crate) struct Home {
    pub(crate) folder: TempDir,
    pub(crate) path: PathBuf,
    pub(crate) store: HomeStore,
    pub(crate) scope: Scope,
    made: AtomicU64,
}

impl Home {
    pub(crate) async fn open() -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("home.db");
        let store = HomeStore::open(&path, StoreOptions::default()).unwrap();
        let scope = Scope::new(PersonaId::new("luna").unwrap(), UserId::new("self").unwrap());
        store.ensure_persona(&scope.persona, "Luna", at(0)).await.unwrap();
        store.ensure_user(&scope.user, at(0)).await.unwrap();
        Self { folder, path, store, scope, made: AtomicU64::new(1) }
    }

    fn id(&self) -> Uuid {
        Uuid::from_u128(u128::from(self.made.fetch_add(1, Ordering::Relaxed)))
    }

    pub(crate) fn line(&self, content: &str) -> NewMessage {
        NewMessage {
            id: MessageId(self.id()),
            session_id_if_new: SessionId(self.id()),
            scope: self.scope.clone(),
            channel_id: "web".to_owned(),
            turn_id: None,
            role: Role::User,
            speaker: None,
            content: content.to_owned(),
            token_count: 1,
            terms: content.to_owned(),
            day: date(2024, 10, 4),
            created_at: at(1),
            incomplete: false,
            external_ref: None,
            channel_write: None,
        }
    }
}

pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + seconds).unwrap()
}
