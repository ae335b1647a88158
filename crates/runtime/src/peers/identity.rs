//! The identity under which a home writes: taken with the first peer, and another one once it has met its copy.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use ::sync::{Actor, Head, SyncError};
use jiff::SignedDuration;
use memory::ports::StoreError;

use super::Peers;
use crate::runtime::RuntimeInner;

/// Least time between two new identities of a home. A copy or a restored backup needs one; each numbers all changes again.
const RENEWED_EVERY: SignedDuration = SignedDuration::from_hours(24);

impl RuntimeInner {
    pub(super) async fn begin_log(&self, peers: &Peers) -> Result<Actor, StoreError> {
        if let Some(own) = peers.parts.store.own_actor().await? {
            return Ok(own);
        }
        let own = peers.parts.store.enable_sync(&self.new_actor(&peers.parts.name)?).await?;
        peers.log_began.notify_one();
        Ok(own)
    }

    fn new_actor(&self, name: &str) -> Result<Actor, StoreError> {
        let (_, random) = self.ids().next(self.clock().now()).as_u64_pair();
        Actor::new(name, random).map_err(|error| StoreError::Failed(error.to_string()))
    }

    pub(super) async fn renew(&self, peers: &Peers, own: &Actor) -> Result<Actor, SyncError> {
        let now = self.clock().now();
        {
            let mut renewed_at = peers.renewed_at.lock().unwrap_or_else(PoisonError::into_inner);
            if renewed_at.is_some_and(|last| now.duration_since(last).abs() < RENEWED_EVERY) {
                return Err(SyncError::DisputedAgain);
            }
            *renewed_at = Some(now);
        }
        let renewed = self.new_actor(own.name())?;
        peers.parts.store.renew_actor(&renewed, now).await?;
        tracing::warn!(%renewed, "this home is a copy of another, or was restored: it goes on under a new identity");
        Ok(renewed)
    }

    /// A peer that knows more of this home than it does itself, or something else, has met its copy or its future.
    pub(super) async fn renew_if_copied(
        &self,
        peers: &Peers,
        own: Actor,
        theirs: &BTreeMap<Actor, Head>,
    ) -> Result<Actor, SyncError> {
        let Some(head) = theirs.get(&own) else { return Ok(own) };
        match peers.parts.store.digest_at(&own, head.index).await? {
            Some(digest) if digest == head.digest => Ok(own),
            _ => self.renew(peers, &own).await,
        }
    }
}
