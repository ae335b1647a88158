//! A status request that runs while an import ends.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use memory::identifiers::{ImportId, RejectedId, SessionId};
use memory::nodes::{Node, NodeKind};
use memory::ports::{
    ImportMemories, ImportPage, ImportRun, ImportSkip, ImportStatus, ImportStore, ImportedDocument,
    ImportedSession, NewImport, RecordedPage, Remembering, ReplacedMessages, StoreError,
};
use memory::sessions::SessionPolicy;
use runtime::OptionalParts;
use serde_json::json;
use store::HomeStore;
use tokio::sync::Notify;

use crate::home::{Home, imports, until};
use crate::imports::{CHAT, path, upload, who};

/// A store whose answers about a running import arrive after it has ended.
struct LateReads {
    store: Arc<HomeStore>,
    was_read: Notify,
    has_ended: Arc<Notify>,
}

#[async_trait]
impl ImportStore for LateReads {
    async fn import_run(&self, id: ImportId) -> Result<Option<ImportRun>, StoreError> {
        let run = self.store.import_run(id).await?;
        if run.as_ref().is_some_and(|run| run.status == ImportStatus::Recording) {
            self.was_read.notify_one();
            self.has_ended.notified().await;
        }
        Ok(run)
    }

    async fn begin_import(&self, new: NewImport) -> Result<ImportRun, StoreError> {
        self.store.begin_import(new).await
    }

    async fn record_page(
        &self,
        id: ImportId,
        page: ImportPage,
        policy: SessionPolicy,
    ) -> Result<Option<RecordedPage>, StoreError> {
        self.store.record_page(id, page, policy).await
    }

    async fn restore_replaced(
        &self,
        id: ImportId,
        limit: u32,
        at: Timestamp,
    ) -> Result<Option<ReplacedMessages>, StoreError> {
        self.store.restore_replaced(id, limit, at).await
    }

    async fn finish_import(&self, id: ImportId, at: Timestamp) -> Result<Option<ImportRun>, StoreError> {
        self.was_read.notified().await;
        self.store.finish_import(id, at).await
    }

    async fn waiting_proposals(&self, id: ImportId) -> Result<Vec<RejectedId>, StoreError> {
        self.store.waiting_proposals(id).await
    }

    async fn import_runs(&self) -> Result<Vec<ImportRun>, StoreError> {
        self.store.import_runs().await
    }

    async fn import_skips(&self, id: ImportId, limit: u32) -> Result<Vec<ImportSkip>, StoreError> {
        self.store.import_skips(id, limit).await
    }

    async fn import_memories(&self, id: ImportId) -> Result<ImportMemories, StoreError> {
        self.store.import_memories(id).await
    }

    async fn imported_sessions(
        &self,
        id: ImportId,
        from: u64,
        limit: u32,
    ) -> Result<Vec<ImportedSession>, StoreError> {
        self.store.imported_sessions(id, from, limit).await
    }

    async fn imported_nodes(
        &self,
        id: ImportId,
        kinds: &[NodeKind],
        limit: u32,
    ) -> Result<Vec<Node>, StoreError> {
        self.store.imported_nodes(id, kinds, limit).await
    }

    async fn set_remembering(
        &self,
        id: ImportId,
        remembering: Remembering,
    ) -> Result<Option<ImportRun>, StoreError> {
        self.store.set_remembering(id, remembering).await
    }

    async fn import_sessions(&self, id: ImportId) -> Result<Vec<SessionId>, StoreError> {
        self.store.import_sessions(id).await
    }

    async fn begin_documents(
        &self,
        id: ImportId,
        documents: Vec<ImportedDocument>,
    ) -> Result<Vec<ImportedDocument>, StoreError> {
        self.store.begin_documents(id, documents).await
    }

    async fn import_documents(&self, id: ImportId) -> Result<Vec<String>, StoreError> {
        self.store.import_documents(id).await
    }

    async fn delete_import(&self, id: ImportId) -> Result<bool, StoreError> {
        self.store.delete_import(id).await
    }
}

#[tokio::test]
async fn import_that_ends_while_it_is_read_is_not_shown_as_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let has_ended = Arc::new(Notify::new());
    let told = has_ended.clone();
    let home = Home::with_parts(|store, _| {
        let store = LateReads { store: store.clone(), was_read: Notify::new(), has_ended: told };
        let imports = imports(Arc::new(store), folder.path());
        OptionalParts { imports: Some(imports), ..OptionalParts::default() }
    })
    .await;
    let seen = upload(&home, &[("_chat.txt", CHAT)]).await;
    let mut watcher = home.runtime.broadcast().subscribe();
    let end = async {
        while until(&mut watcher, &["import.progress"]).await.data["state"] == "recording" {}
        has_ended.notify_one();
    };
    let start = path(&seen, "/start");
    let (started, ()) = tokio::join!(home.post(&start, who()), end);
    assert_eq!((started.status.as_u16(), &started.json()["state"]), (200, &json!("recording")));
    assert_ne!(home.get(&path(&seen, "")).await.json()["state"], "recording");
}
