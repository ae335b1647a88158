//! Peers. Triggers note which rows changed, in the transaction of the row (`migrations`); [`numbering`] gives the changes
//! their numbers; [`fields`] reads a row as fields and [`write`] writes it; [`receive`] takes a peer's page. What a row says
//! is read when it is sent, so the log holds no words.

mod fields;
mod write;
mod states;
mod numbering;
mod pages;
mod receive;
mod peers;
mod conflicts;

use std::collections::BTreeMap;

use ::sync::{
    Actor, ConflictRecord, Head, LocalErasure, Page, PeerRecord, PeerReport, ReceiveOutcome, SyncError,
    SyncStore, VersionVector,
};
use async_trait::async_trait;
use jiff::Timestamp;
use memory::ports::StoreError;

use crate::engine::SqliteStore;
use crate::rows::microseconds;

#[async_trait]
impl SyncStore for SqliteStore {
    async fn enable_sync(&self, actor: &Actor) -> Result<Actor, StoreError> {
        let actor = actor.clone();
        self.write(move |unit| Ok(numbering::enable(unit.connection, &actor)?)).await
    }

    async fn own_actor(&self) -> Result<Option<Actor>, StoreError> {
        self.read(|connection| Ok(numbering::own(connection)?.map(|(_, actor)| actor))).await
    }

    async fn number_changes(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        // Asked often and mostly for nothing: a reader answers without waiting for the writer.
        if !self.read(|connection| Ok(numbering::is_waiting(connection)?)).await? {
            return Ok(0);
        }
        self.write(move |unit| Ok(numbering::number(unit.connection, microseconds(now), limit)?)).await
    }

    async fn renew_actor(&self, actor: &Actor, now: Timestamp) -> Result<(), StoreError> {
        let actor = actor.clone();
        self.write(move |unit| Ok(numbering::renew(unit.connection, &actor, microseconds(now))?)).await
    }

    async fn heads(&self) -> Result<BTreeMap<Actor, Head>, StoreError> {
        self.read(|connection| Ok(pages::heads(connection)?)).await
    }

    async fn digest_at(&self, actor: &Actor, index: u64) -> Result<Option<String>, StoreError> {
        let actor = actor.clone();
        self.read(move |connection| Ok(pages::digest_at(connection, &actor, index)?)).await
    }

    async fn page_after(&self, has: &VersionVector) -> Result<Page, StoreError> {
        let has = has.clone();
        self.read(move |connection| Ok(pages::page_after(connection, &has)?)).await
    }

    async fn receive(&self, page: Page, now: Timestamp) -> Result<ReceiveOutcome, SyncError> {
        let known = |connection: &_| Ok((pages::known(connection)?, numbering::own(connection)?));
        let (known, own) = self.read(known).await?;
        page.check(&known, own.as_ref().map(|(_, own)| own))?;
        Ok(self.write(move |unit| receive::receive(unit, &page, microseconds(now))).await?)
    }

    async fn local_erasures(&self) -> Result<Vec<LocalErasure>, StoreError> {
        self.read(|connection| Ok(receive::local_erasures(connection)?)).await
    }

    async fn peers(&self) -> Result<Vec<PeerReport>, StoreError> {
        self.read(|connection| Ok(peers::all(connection)?)).await
    }

    async fn put_peer(
        &self,
        name: &str,
        url: Option<&str>,
        token_env: Option<&str>,
    ) -> Result<(), StoreError> {
        let (name, url, token_env) = (name.to_owned(), url.map(str::to_owned), token_env.map(str::to_owned));
        self.write(move |unit| Ok(peers::put(unit.connection, &name, url.as_deref(), token_env.as_deref())?))
            .await
    }

    async fn remove_peer(&self, name: &str) -> Result<bool, StoreError> {
        let name = name.to_owned();
        self.write(move |unit| Ok(peers::remove(unit.connection, &name)?)).await
    }

    async fn note_exchange(&self, peer: &PeerRecord) -> Result<(), StoreError> {
        let peer = peer.clone();
        self.write(move |unit| Ok(peers::note(unit.connection, &peer)?)).await
    }

    async fn conflicts(&self) -> Result<Vec<ConflictRecord>, StoreError> {
        self.read(|connection| Ok(conflicts::open(connection)?)).await
    }

    async fn settle_conflict(
        &self,
        id: i64,
        take_other: bool,
        now: Timestamp,
    ) -> Result<Option<ConflictRecord>, StoreError> {
        self.write(move |unit| conflicts::settle(unit, id, take_other, microseconds(now))).await
    }
}
