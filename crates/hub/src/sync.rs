//! Instances that pull what they have not seen and push what they have changed.

mod items;
mod pull;
mod push;

use std::collections::BTreeSet;

use jiff::Timestamp;
use memory::Scope;
use sha2::{Digest, Sha256};

use crate::api::sync::{ConnectedInstance, SyncStatus, SyncToken};
use crate::error::HubError;
use crate::names::InstanceId;
use crate::ports::{DocumentOutline, HubState, Instance};
use crate::service::{Caller, Hub};

impl Hub {
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
            instance: self.settings().instance.clone(),
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
}

/// Where the hub stands after these documents, which are all of a scope.
fn token_of(state: &HubState, documents: &[DocumentOutline], now: Timestamp) -> SyncToken {
    let line = |document: &DocumentOutline| {
        let counters: Vec<String> =
            document.as_shown.iter().map(|(author, counter)| format!("{author}:{counter}")).collect();
        format!("{} {} {}\n", document.name, document.is_deleted, counters.join(" "))
    };
    let lines: BTreeSet<String> = documents.iter().map(line).collect();
    let mut digest = Sha256::new();
    for line in lines {
        digest.update(line.as_bytes());
    }
    let hash = hex::encode(digest.finalize());
    SyncToken { server_version: state.revision + 1, timestamp: now, hash, version_vector: state.seen.clone() }
}
