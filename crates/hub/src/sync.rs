//! Instances that pull what they have not seen and push what they have changed.

mod items;
mod push;

use std::collections::BTreeSet;

use jiff::Timestamp;
use memory::Scope;
use sha2::{Digest, Sha256};

use crate::api::sync::{ConnectedInstance, IdentityItems, SyncPull, SyncPulled, SyncStatus, SyncToken};
use crate::error::HubError;
use crate::names::{Category, DocumentName, InstanceId};
use crate::ports::{DocumentFilter, Instance};
use crate::service::{Caller, Hub};
use crate::version_vector::VersionVector;

impl Hub {
    /// What an instance has not seen; everything without `since`. From then on that is its base.
    pub async fn sync_pull(&self, caller: &Caller, input: SyncPull) -> Result<SyncPulled, HubError> {
        let _turn = self.lock_writes().await;
        loop {
            let mut act = self.begin(caller).await?;
            let documents =
                self.inner().parts.store.documents(&caller.scope, DocumentFilter::everything()).await?;
            let (mut identity, mut memories) = (IdentityItems::default(), Vec::new());
            for document in &documents {
                let is_new = match &input.since {
                    Some(since) => !since.covers(&document.seen()),
                    None => document.content().is_some(),
                };
                if !is_new {
                    continue;
                }
                match &document.name {
                    DocumentName::Identity(category, _) => {
                        let list = match category {
                            Category::Own => &mut identity.own,
                            Category::User => &mut identity.user,
                            Category::Relationship => &mut identity.relationship,
                            Category::Custom => &mut identity.custom,
                        };
                        list.extend(items::identity_item(document));
                    }
                    DocumentName::Diary(_) => memories.extend(items::memory_item(document)),
                }
            }
            // It has seen what is shown, not what waits beside it for a person.
            let mut base = VersionVector::default();
            for document in &documents {
                base.join(&crate::versions::vector_as_shown(&document.heads));
            }
            let known = self.instance(&caller.scope, &input.instance_id).await?;
            act.commit.instance = Some(Instance {
                id: input.instance_id.clone(),
                kind: known.as_ref().map_or_else(|| "other".to_owned(), |known| known.kind.clone()),
                name: known.and_then(|known| known.name),
                last_sync: act.now,
                base,
            });
            let now = act.now;
            if act.save().await? {
                let new_sync_token = self.token(&caller.scope, now).await?;
                return Ok(SyncPulled { success: true, identity_files: identity, memories, new_sync_token });
            }
        }
    }

    /// Where the hub stands and who has spoken with it.
    pub async fn sync_status(&self, caller: &Caller) -> Result<SyncStatus, HubError> {
        let store = &self.inner().parts.store;
        let state = store.hub_state(&caller.scope).await?;
        let instances = store.instances(&caller.scope).await?;
        let open_conflicts = store.conflicts(&caller.scope, true).await?.len();
        let connected = |instance: Instance| ConnectedInstance {
            id: instance.id,
            kind: instance.kind,
            last_sync: instance.last_sync,
        };
        Ok(SyncStatus {
            server_version: state.revision + 1,
            connected_instances: instances.into_iter().map(connected).collect(),
            version_vector: state.seen,
            open_conflicts,
            extraction: self.extraction().status(),
        })
    }

    pub(crate) async fn instance(
        &self,
        scope: &Scope,
        id: &InstanceId,
    ) -> Result<Option<Instance>, HubError> {
        let instances = self.inner().parts.store.instances(scope).await?;
        Ok(instances.into_iter().find(|instance| instance.id == *id))
    }

    pub(crate) async fn token(&self, scope: &Scope, now: Timestamp) -> Result<SyncToken, HubError> {
        let state = self.inner().parts.store.hub_state(scope).await?;
        let documents = self.inner().parts.store.documents(scope, DocumentFilter::everything()).await?;
        let mut digest = Sha256::new();
        let lines: BTreeSet<String> = documents
            .iter()
            .map(|document| {
                let content = document.content().map_or_else(|| "-".to_owned(), crate::mirror::digest);
                format!("{} {content}\n", document.name)
            })
            .collect();
        for line in lines {
            digest.update(line.as_bytes());
        }
        let hash = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(SyncToken { server_version: state.revision + 1, timestamp: now, hash, version_vector: state.seen })
    }
}
