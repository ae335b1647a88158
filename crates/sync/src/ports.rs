//! What an exchange asks of storage.

use std::collections::BTreeMap;

use async_trait::async_trait;
use jiff::Timestamp;
use memory::Scope;
use memory::ports::StoreError;

use crate::actor::{Actor, VersionVector};
use crate::conflict::ConflictRecord;
use crate::log::Head;
use crate::page::{Page, PageError};
use crate::row::Kind;

/// Why an exchange with a store failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyncError {
    /// The store failed; nothing was changed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The page is not one that a peer can send; nothing of it was kept.
    #[error("the page was refused and nothing of it was kept: {0}")]
    Page(#[from] PageError),
    /// A peer disputes this home's identity again, soon after the home took a new one; nothing was changed.
    #[error(
        "the exchange was refused: a peer claims for the second time in a day that this home is a copy; if it is one, restart \
         EchoVessel, else create another token for that peer"
    )]
    DisputedAgain,
}

/// What a page brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceiveOutcome {
    /// Changes that were new.
    pub received: u64,
    /// Conflicts that it opened.
    pub conflicts: u64,
    /// Rows that wait for a row that they refer to.
    pub waiting: u64,
    /// Scopes in which rows changed.
    pub scopes: Vec<Scope>,
}

/// Rows of this home that an erasure of another names and that are still to be forgotten here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalErasure {
    /// Whose memory.
    pub scope: Scope,
    /// What: a message, node or entity, with its id as 32 hexadecimal digits.
    pub rows: Vec<(Kind, String)>,
}

/// A peer as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerRecord {
    /// Its name: of the token that it uses here, or the host that is asked.
    pub name: String,
    /// Where it is asked; `None` for one that asks here.
    pub url: Option<String>,
    /// The environment variable that holds the token for it.
    pub token_env: Option<String>,
    /// Which home it is, once it was met.
    pub actor: Option<Actor>,
    /// What it has, by its own word.
    pub has: VersionVector,
    /// When it was last met.
    pub seen_at: Option<Timestamp>,
    /// Changes received from it.
    pub received: u64,
    /// Changes sent to it.
    pub sent: u64,
    /// Why the last exchange failed; `None` if it did not.
    pub error: Option<String>,
}

/// How a peer stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerReport {
    /// The peer.
    pub peer: PeerRecord,
    /// Changes of this home's log that it lacks.
    pub to_send: u64,
    /// Erasures of this home's log that it lacks.
    pub waiting_erasures: u64,
}

/// The log, the rows as states, and the peers.
#[async_trait]
pub trait SyncStore: Send + Sync {
    /// Begins to keep the log, if it is not kept yet: from now on every change of a row is noted in its transaction, and
    /// all rows that are there count as changed. Returns who this home is.
    async fn enable_sync(&self, actor: &Actor) -> Result<Actor, StoreError>;

    /// Who this home is; `None` while no log is kept.
    async fn own_actor(&self) -> Result<Option<Actor>, StoreError>;

    /// Numbers the changes that were noted since the last call. Returns how many there were, at most `limit` at once.
    async fn number_changes(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError>;

    /// Takes a new incarnation and numbers all changes of this home's present one again under it.
    async fn renew_actor(&self, actor: &Actor, now: Timestamp) -> Result<(), StoreError>;

    /// The last change of each actor.
    async fn heads(&self) -> Result<BTreeMap<Actor, Head>, StoreError>;

    /// The digest of a change; `None` where there is none of this number.
    async fn digest_at(&self, actor: &Actor, index: u64) -> Result<Option<String>, StoreError>;

    /// Changes after what a peer has, with the rows as they are now.
    async fn page_after(&self, has: &VersionVector) -> Result<Page, StoreError>;

    /// Takes a page in one transaction: erasures first, then rows, then the log. A page that was taken before changes
    /// nothing.
    ///
    /// # Errors
    /// [`SyncError::Page`] if the page can't be one of a peer.
    async fn receive(&self, page: Page, now: Timestamp) -> Result<ReceiveOutcome, SyncError>;

    /// Rows that a received erasure names and that are still here.
    async fn local_erasures(&self) -> Result<Vec<LocalErasure>, StoreError>;

    /// The peers, by name.
    async fn peers(&self) -> Result<Vec<PeerReport>, StoreError>;

    /// Adds a peer or changes how it is asked.
    async fn put_peer(
        &self,
        name: &str,
        url: Option<&str>,
        token_env: Option<&str>,
    ) -> Result<(), StoreError>;

    /// Removes a peer. Returns whether there was one.
    async fn remove_peer(&self, name: &str) -> Result<bool, StoreError>;

    /// Notes how an exchange ended. The counts are added up.
    async fn note_exchange(&self, peer: &PeerRecord) -> Result<(), StoreError>;

    /// Conflicts that wait for a person, newest first.
    async fn conflicts(&self) -> Result<Vec<ConflictRecord>, StoreError>;

    /// Closes a conflict; `take_other` shows the other text from now on. `None` if it is not open.
    async fn settle_conflict(
        &self,
        id: i64,
        take_other: bool,
        now: Timestamp,
    ) -> Result<Option<ConflictRecord>, StoreError>;
}
