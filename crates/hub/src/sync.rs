//! Synchronisation: instances pull documents that they have not seen and push their changes.

mod items;
mod merge;
mod pull;
mod push;
mod erasures;
mod exchange;
mod outgoing;
mod receive;
mod plain_hub;

pub use exchange::{ExchangeCounts, ExchangeError, check_protocol};

use std::collections::BTreeSet;

use jiff::Timestamp;
use memory::Scope;
use sha2::{Digest, Sha256};

use crate::api::sync::{ConnectedInstance, FollowingInstance, HubPersona, SyncStatus, SyncToken};
use crate::error::HubError;
use crate::names::InstanceId;
use crate::ports::{DocumentOutline, HubState, Instance};
use crate::service::{Caller, Hub};

/// Version of the exchange protocol. It rises when homes of the former version could lose something by exchanging
/// with this one.
pub const PROTOCOL_VERSION: u32 = 1;

impl Hub {
    /// State of the hub, with the instances that have connected.
    pub async fn sync_status(&self, caller: &Caller) -> Result<SyncStatus, HubError> {
        let store = &self.shared_parts().parts.store;
        let state = store.hub_state(&caller.scope).await?;
        let instances = store.instances(&caller.scope).await?;
        let open_conflicts = store.conflicts(&caller.scope, true).await?.len();
        let connected = |instance: Instance| ConnectedInstance {
            id: instance.id,
            kind: instance.kind,
            last_sync: instance.last_sync,
        };
        let persona = self.shared_parts().parts.personas.persona(&caller.scope.persona).await?;
        Ok(SyncStatus {
            protocol_version: PROTOCOL_VERSION,
            persona: HubPersona {
                id: caller.scope.persona.to_string(),
                name: persona.map(|persona| persona.display_name).unwrap_or_default(),
            },
            speaks_as: caller.instance.clone(),
            is_bound: caller.is_bound,
            instance: self.instance_id(),
            server_version: state.revision + 1,
            connected_instances: instances.into_iter().map(connected).collect(),
            version_vector: state.seen,
            open_conflicts,
            extraction: self.extraction().status(),
        })
    }

    /// Instances that share this hub, with what each still has to receive.
    ///
    /// # Errors
    ///
    /// When storage fails.
    pub async fn following_instances(&self, scope: &Scope) -> Result<Vec<FollowingInstance>, HubError> {
        let store = &self.shared_parts().parts.store;
        let outlines = store.document_outlines(scope, 0).await?;
        let mut following = Vec::new();
        for instance in store.instances(scope).await? {
            let is_behind = |outline: &&DocumentOutline| {
                let has = instance.base.for_name(&outline.name);
                !(has.covers(&outline.as_shown) || outline.is_deleted && has.is_empty())
            };
            let has_erased = !store.first_waiting_erasures(scope, &instance.id).await?.is_empty();
            following.push(FollowingInstance {
                behind: outlines.iter().filter(is_behind).count(),
                id: instance.id,
                kind: instance.kind,
                last_sync: instance.last_sync,
                has_erased,
            });
        }
        Ok(following)
    }

    pub(crate) async fn connected_instance(
        &self,
        scope: &Scope,
        id: &InstanceId,
    ) -> Result<Option<Instance>, HubError> {
        let instances = self.shared_parts().parts.store.instances(scope).await?;
        Ok(instances.into_iter().find(|instance| instance.id == *id))
    }
}

/// The token after these documents, which are all of a scope.
fn sync_token(state: &HubState, documents: &[DocumentOutline], now: Timestamp) -> SyncToken {
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
