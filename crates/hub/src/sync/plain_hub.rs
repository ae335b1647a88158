//! One exchange with a hub without version vectors, such as the original entity-core: every pull returns everything
//! that it has, and of two texts it takes the later one.
//!
//! Here it is treated as an instance without version vectors: its documents are handled like a push of that instance,
//! and the versions that it has are that instance's base. So its changes are distinguished from what it has not seen,
//! and no text of this home is lost when it prefers another one.

use std::collections::BTreeSet;

use memory::Scope;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::api::sync::{IdentityChange, ItemStatus, MemoryChange, PushingInstance, SyncPull, SyncPush};
use crate::documents::{Document, core_block_of};
use crate::error::HubError;
use crate::names::{DiaryName, DocumentName, InstanceId};
use crate::ports::{ExchangePosition, RemoteHub, RemotePage};
use crate::service::{Caller, Hub};
use crate::versions::have_different_content;

use super::exchange::{ExchangeCounts, ExchangeError};
use super::outgoing::{next_push, refusal_text};

/// Id of a plain entity-core hub in the list of instances.
const PLAIN_HUB: &str = "entity-core";
/// Kind of instance with which this home pushes. The hub accepts a fixed list.
const INSTANCE_KIND: &str = "other";
/// Pulls of one exchange: the last one shows the result of the push.
const PULLS_PER_EXCHANGE: usize = 2;

impl Hub {
    /// Exchanges the documents of a scope with a hub that has no version vectors.
    pub(super) async fn exchange_with_plain_hub(
        &self,
        remote: &dyn RemoteHub,
        scope: &Scope,
    ) -> Result<ExchangeCounts, ExchangeError> {
        let hub: InstanceId = PLAIN_HUB.parse().map_err(|_| HubError::Invalid(PLAIN_HUB.to_owned()))?;
        let mut done = ExchangeCounts::default();
        for pull in 1..=PULLS_PER_EXCHANGE {
            let asked = SyncPull {
                instance_id: self.instance_id(),
                since: None,
                cursor: None,
                limit: None,
                last_sync_version: None,
            };
            let page = remote.sync_pull(scope, &asked).await?;
            let mut passed_over = BTreeSet::new();
            done.received += self.take_from_plain_hub(scope, &hub, &page, &mut passed_over).await?;
            done.passed_over = passed_over.into_iter().collect();
            if pull == PULLS_PER_EXCHANGE
                || self.send_to_plain_hub(remote, scope, &hub, &mut done).await? == 0
            {
                break;
            }
        }
        let mut position = ExchangePosition::start(hub);
        position.seen = self.shared_parts().parts.store.hub_state(scope).await?.seen;
        position.exchanged_at = Some(self.now());
        self.save_position(scope, &position).await?;
        Ok(done)
    }

    /// Receives everything that the hub has. Returns how many documents changed here.
    async fn take_from_plain_hub(
        &self,
        scope: &Scope,
        hub: &InstanceId,
        page: &RemotePage,
        passed_over: &mut BTreeSet<String>,
    ) -> Result<usize, ExchangeError> {
        let mut push = SyncPush {
            instance: PushingInstance { id: hub.clone(), kind: "hub".to_owned(), name: None, version: 0 },
            identity_changes: Vec::new(),
            memory_changes: Vec::new(),
            erasures: Vec::new(),
            last_sync_version: None,
        };
        for (category, files) in &page.identity_files {
            for file in files {
                match read_item::<IdentityChange>(file, &[("category", category)]) {
                    Ok(change) => push.identity_changes.push(mark_as_written_by_person(change, scope)),
                    Err(reason) => drop(passed_over.insert(reason)),
                }
            }
        }
        for memory in &page.memories {
            match read_item::<MemoryChange>(memory, &[]) {
                Ok(change) => push.memory_changes.push(change),
                Err(reason) => drop(passed_over.insert(reason)),
            }
        }
        let caller = Caller {
            scope: scope.clone(),
            instance: hub.clone(),
            is_person: false,
            is_bound: false,
            is_of_one_user: false,
        };
        let pushed = self.push_from_followed_hub(&caller, push).await?;
        let changed = |status| matches!(status, ItemStatus::Applied | ItemStatus::Conflict);
        let refused = pushed.results.iter().filter(|result| result.status == ItemStatus::Refused);
        passed_over.extend(refused.map(refusal_text));
        Ok(pushed.results.iter().filter(|result| changed(result.status)).count())
    }

    /// Sends documents whose present state the hub does not have, and returns their number. A document in conflict is
    /// not sent until a person decides, because the hub would store only one of its versions.
    async fn send_to_plain_hub(
        &self,
        remote: &dyn RemoteHub,
        scope: &Scope,
        hub: &InstanceId,
        done: &mut ExchangeCounts,
    ) -> Result<usize, ExchangeError> {
        let store = &self.shared_parts().parts.store;
        let base = self.connected_instance(scope, hub).await?.map(|known| known.base).unwrap_or_default();
        let outlines = store.document_outlines(scope, 0).await?;
        let unseen =
            outlines.into_iter().filter(|outline| !base.for_name(&outline.name).covers(&outline.as_shown));
        let names: Vec<DocumentName> =
            unseen.map(|outline| outline.name).filter(|name| self.is_sent(scope, name)).collect();
        let (_, documents) = store.hub_state_with(scope, &names).await?;
        let mut versions = Vec::new();
        let mut refused = BTreeSet::new();
        for document in
            documents.into_iter().flatten().filter(|document| !have_different_content(&document.heads))
        {
            match reason_not_to_send(&document) {
                Some(reason) => drop(refused.insert(reason)),
                None => {
                    let shown = document.shown_version().cloned();
                    versions.extend(shown.map(|shown| (document.name, shown, document.created_at)));
                }
            }
        }
        done.refused = refused.into_iter().collect();
        let sent = versions.len();
        while !versions.is_empty() {
            let (outgoing, count) = next_push(&versions);
            versions.drain(..count);
            let push = SyncPush {
                instance: PushingInstance {
                    id: self.instance_id(),
                    kind: INSTANCE_KIND.to_owned(),
                    name: None,
                    version: 1,
                },
                identity_changes: outgoing.identity.into_iter().map(without_versions).collect(),
                memory_changes: outgoing.memories.into_iter().map(without_version_vector).collect(),
                erasures: Vec::new(),
                last_sync_version: None,
            };
            remote.sync_push(scope, &push).await?;
            done.sent += count;
        }
        Ok(sent)
    }
}

/// The reason why a hub without version vectors can't store a document as it is shown here.
fn reason_not_to_send(document: &Document) -> Option<String> {
    let name = &document.name;
    if document.shown_version().is_none_or(|shown| shown.content.is_none()) {
        return Some(format!(
            "{name} was deleted here; this hub's protocol does not support deletions, so delete it there"
        ));
    }
    let is_moment = matches!(name, DocumentName::Diary(DiaryName::Significant(..)));
    is_moment.then(|| format!("{name} is not sent: this hub accepts no significant memories by sync"))
}

/// Marks a core block as written by a person: on a plain hub only people write them.
fn mark_as_written_by_person(mut change: IdentityChange, scope: &Scope) -> IdentityChange {
    // The hub does not report who wrote a file.
    change.modified_by = None;
    let name = change.category.parse().ok().zip(change.filename.parse().ok());
    let name = name.map(|(category, filename)| DocumentName::Identity(category, filename));
    change.by_person = name.is_some_and(|name| core_block_of(&name, scope).is_some());
    change
}

fn without_versions(change: IdentityChange) -> IdentityChange {
    IdentityChange { version_vector: None, source_instance: None, ..change }
}

fn without_version_vector(change: MemoryChange) -> MemoryChange {
    MemoryChange { version_vector: None, ..change }
}

/// Parses an item, adding fields that its position in the answer determines.
fn read_item<Item: DeserializeOwned>(value: &Value, more: &[(&str, &String)]) -> Result<Item, String> {
    let mut value = value.clone();
    if let Some(fields) = value.as_object_mut() {
        for (name, text) in more {
            fields.entry(*name).or_insert_with(|| Value::String((*text).clone()));
        }
    }
    let named = value["filename"].as_str().or(value["date"].as_str()).unwrap_or("without a name").to_owned();
    serde_json::from_value(value).map_err(|error| format!("the document {named}: {error}"))
}
