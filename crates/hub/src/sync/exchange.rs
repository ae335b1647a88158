//! One exchange between a home and the hub that it follows, in both directions.
//!
//! There is no queue. The hub's version vector determines what has to be sent, so that crashes, long offline periods
//! and restored backups need no special handling.

use std::collections::BTreeSet;

use jiff::Timestamp;
use memory::Scope;
use thiserror::Error;

use crate::api::sync::{Erasure, ItemStatus, PushingInstance, SyncPull, SyncPush};
use crate::documents::Document;
use crate::error::HubError;
use crate::names::{DocumentName, InstanceId};
use crate::ports::{ExchangePosition, HubState, PendingErasure, RemoteError, RemoteHub, RemoteStatus};
use crate::service::Hub;
use crate::version_vector::VersionVector;

use super::PROTOCOL_VERSION;
use super::outgoing::{OutgoingChanges, erasure_item, next_push, refusal_text};
use super::receive::read_page;

/// Documents on a page of a pull. After a lost connection one page is repeated.
const PULLED_AT_ONCE: u32 = 200;
/// Maximum pages of one pull: 400,000 documents, far more than decades of diaries. A hub that sends more is in a loop.
const PAGES_MAX: usize = 2_000;
/// Maximum rounds of one exchange. Two are enough if nobody writes meanwhile: the second receives the results of the
/// push, and confirms that erasures have arrived.
const ROUNDS_MAX: usize = 4;

/// Why an exchange ended early. Exchanged items are stored, and the next exchange continues there.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ExchangeError {
    /// The hub is unreachable or refused.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// The documents of this home could not be read or written.
    #[error(transparent)]
    Hub(#[from] HubError),
}

impl From<memory::ports::StoreError> for ExchangeError {
    fn from(error: memory::ports::StoreError) -> Self {
        Self::Hub(error.into())
    }
}

/// The result of an exchange.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExchangeCounts {
    /// Documents that changed here.
    pub received: usize,
    /// Documents from which text was removed because another home erased it.
    pub erased: usize,
    /// Versions that were new to the hub.
    pub sent: usize,
    /// Items that the hub refused, with its reasons.
    pub refused: Vec<String>,
    /// Documents of the hub that this version can't read.
    pub passed_over: Vec<String>,
    /// True if another copy of this home had written to the hub, so that this home continues under a new author.
    pub is_renewed: bool,
}

impl ExchangeCounts {
    /// Adds the counts of another exchange.
    pub fn add(&mut self, other: Self) {
        self.received += other.received;
        self.erased += other.erased;
        self.sent += other.sent;
        self.refused.extend(other.refused);
        self.passed_over.extend(other.passed_over);
        self.is_renewed |= other.is_renewed;
    }
}

impl Hub {
    /// Exchanges the documents of a scope with the hub that this home follows.
    ///
    /// # Errors
    ///
    /// When the hub is unreachable or refuses, or storage fails. Pages exchanged before stay stored.
    pub async fn exchange(
        &self,
        remote: &dyn RemoteHub,
        scope: &Scope,
    ) -> Result<ExchangeCounts, ExchangeError> {
        let mut done = ExchangeCounts::default();
        let status = remote.sync_status(scope).await?;
        // An EchoVessel of another version reports its instance, and is refused below.
        if status.protocol_version == 0 && status.instance.is_none() {
            return self.exchange_with_plain_hub(remote, scope).await;
        }
        let hub = self.check_remote(&status, scope)?;
        let mut position = self.begin_exchange(scope, hub, &status.version_vector, &mut done).await?;
        let is_first = position.exchanged_at.is_none();
        for _ in 0..ROUNDS_MAX {
            let received = self.pull_changes(remote, scope, &mut position, &mut done).await?;
            let sent = self.push(remote, scope, &mut position, &mut done).await?;
            if received + sent == 0 {
                break;
            }
        }
        if is_first && done.sent == 0 {
            // Only a push tells the hub the kind of this program.
            self.send_changes(remote, scope, &mut position, Default::default(), &mut done).await?;
        }
        position.exchanged_at = Some(self.now());
        self.save_position(scope, &position).await?;
        Ok(done)
    }

    /// Time at which an exchange of this scope last succeeded.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn last_exchange(&self, scope: &Scope) -> Result<Option<Timestamp>, HubError> {
        let position = self.shared_parts().parts.store.exchange_position(scope).await?;
        Ok(position.and_then(|position| position.exchanged_at))
    }

    /// Events of this home whose diary lines were erased elsewhere; they have to be forgotten.
    ///
    /// # Errors
    ///
    /// When storage fails.
    pub async fn events_erased_elsewhere(
        &self,
        scope: &Scope,
    ) -> Result<Vec<memory::identifiers::NodeId>, HubError> {
        Ok(self.shared_parts().parts.store.events_erased_elsewhere(scope).await?)
    }

    /// Returns when a document was changed here since the last call, other than by an exchange.
    pub async fn wait_for_change(&self) {
        self.shared_parts().unsent.notified().await;
    }

    /// Number of documents whose present state the hub has not received.
    ///
    /// # Errors
    ///
    /// When storage fails.
    pub async fn waiting_for_exchange(&self, scope: &Scope) -> Result<usize, HubError> {
        let store = &self.shared_parts().parts.store;
        let Some(position) = store.exchange_position(scope).await? else {
            return Ok(store.document_outlines(scope, 0).await?.len());
        };
        let erasures = store.pending_erasures(scope, &position, &self.instance_id()).await?;
        let names: BTreeSet<DocumentName> = self
            .unsent_documents(scope, &position.seen)
            .await?
            .into_iter()
            .map(|document| document.name)
            .chain(erasures.into_iter().map(|erasure| erasure.name))
            .collect();
        Ok(names.len())
    }

    /// Checks that this home can exchange with that hub, and returns the hub's instance.
    fn check_remote(&self, status: &RemoteStatus, scope: &Scope) -> Result<InstanceId, RemoteError> {
        let refused = |text: String| Err(RemoteError::Refused(text));
        let own = self.instance_id();
        let there = check_protocol(status, scope)?;
        if there != own {
            return refused(format!(
                "the token is bound to the instance `{there}`, but this home is `{own}`; run `echovessel \
                    sync connect` again with this token"
            ));
        }
        match &status.instance {
            Some(hub) => Ok(hub.clone()),
            None => refused("the hub did not send its instance name".to_owned()),
        }
    }

    /// Finds the position at which the exchange begins. Detects that the hub was restored from a backup, or that
    /// another copy of this home has written there, and gives every version without a version vector one that the hub
    /// accepts.
    async fn begin_exchange(
        &self,
        scope: &Scope,
        hub: InstanceId,
        there: &VersionVector,
        done: &mut ExchangeCounts,
    ) -> Result<ExchangePosition, ExchangeError> {
        let store = &self.shared_parts().parts.store;
        let found = store.exchange_position(scope).await?.filter(|position| position.hub == hub);
        let is_first = found.is_none();
        let mut position = found.unwrap_or_else(|| ExchangePosition::start(hub));
        // A hub that was restored from a backup includes fewer changes than before.
        let seen = position.seen.capped_by(there, |_| false);
        if seen != position.seen {
            tracing::warn!("the hub has lost changes that it had; they are sent again");
            position.cursor = None;
            position.seen = seen;
            position.erased = VersionVector::default();
        }
        let author = store.hub_state(scope).await?.author;
        let is_of_copy = |other: &InstanceId, counter: u64| {
            is_present_role(other, &author) && counter > position.sent.get(other)
        };
        if there.iter().any(|(other, counter)| is_of_copy(other, counter)) {
            self.renew_author().await?;
            done.is_renewed = true;
        }
        self.reissue_changes(scope, &mut position, there, (is_first, done.is_renewed)).await?;
        Ok(position)
    }

    /// Changes the author of this home's changes, because another copy of this home uses the same one.
    pub(super) async fn renew_author(&self) -> Result<(), HubError> {
        let parts = &self.shared_parts().parts;
        let digits = hex::encode(parts.ids.next(self.now()).into_bytes());
        let author = self.instance_id().for_part(&digits[digits.len() - 8..]);
        tracing::warn!(
            %author,
            "another copy of this home has made changes that are missing here: the home was copied, or \
                restored from a backup. Changes are now counted under a new name; nothing is lost"
        );
        Ok(parts.store.set_author(&author).await?)
    }

    /// Gives new counters to versions whose counters the hub never received, or which another copy of this home has
    /// used too. They are sent as new; the hub stores both where the texts differ.
    async fn reissue_changes(
        &self,
        scope: &Scope,
        position: &mut ExchangePosition,
        there: &VersionVector,
        (is_first, is_renewed): (bool, bool),
    ) -> Result<(), HubError> {
        let caller = self.caller_of_exchange(scope);
        let own = self.instance_id();
        let _turn = self.lock_writes().await;
        loop {
            let mut act = self.begin(&caller).await?;
            let author = act.state.author.clone();
            let is_current = |other: &InstanceId| is_present_role(other, &author);
            // Counters that can be trusted: all of this home's present authors, of its former ones those that were
            // exchanged, of others those that the hub has.
            let believed = |author: &InstanceId| {
                if is_first {
                    0
                } else if author.is_part_of(&own) {
                    position.seen.get(author)
                } else {
                    there.get(author)
                }
            };
            let is_strange = |(author, counter): (&InstanceId, u64)| {
                (is_first || !is_current(author)) && counter > believed(author)
            };
            let outlines = self.shared_parts().parts.store.document_outlines(scope, 0).await?;
            let strange = outlines.into_iter().filter(|outline| outline.seen.iter().any(is_strange));
            let names: Vec<DocumentName> =
                strange.map(|outline| outline.name).filter(|name| self.is_sent(scope, name)).collect();
            let (_, documents) = self.shared_parts().parts.store.hub_state_with(scope, &names).await?;
            let mut documents: Vec<Document> = documents.into_iter().flatten().collect();
            documents.sort_by_key(|document| document.revision);
            for Document { name, mut heads, .. } in documents {
                if heads.iter().any(|head| head.number == 0) {
                    continue;
                }
                for at in 0..heads.len() {
                    if !heads[at].vector.iter().any(is_strange) {
                        continue;
                    }
                    let mut vector = VersionVector::default();
                    for (author, counter) in heads[at].vector.iter() {
                        let is_current = !is_first && is_current(author);
                        vector.note_seen(
                            author,
                            if is_current { counter } else { counter.min(believed(author)) },
                        );
                    }
                    let mut beside = heads.clone();
                    beside.remove(at);
                    heads[at].vector = act.with_next_change(vector, &beside);
                }
                act.write(&name, heads);
            }
            let mut next = position.clone();
            if is_renewed {
                // Everything written by another copy of this home is received.
                next.seen = next.seen.filter_authors(|author| !author.is_part_of(&own) || is_current(author));
            }
            act.commit.exchange = Some(next.clone());
            if act.commit().await? {
                *position = next;
                return Ok(());
            }
        }
    }

    /// Receives new items from the hub, page by page. Returns how many documents changed here.
    async fn pull_changes(
        &self,
        remote: &dyn RemoteHub,
        scope: &Scope,
        position: &mut ExchangePosition,
        done: &mut ExchangeCounts,
    ) -> Result<usize, ExchangeError> {
        let mut received = 0;
        for _ in 0..PAGES_MAX {
            let pull = SyncPull {
                instance_id: self.instance_id(),
                since: Some(position.seen.clone()),
                cursor: position.cursor.clone(),
                limit: Some(PULLED_AT_ONCE),
                last_sync_version: None,
            };
            let page = match remote.sync_pull(scope, &pull).await {
                // The hub no longer knows the position of the last page.
                Err(RemoteError::Refused(_)) if position.cursor.is_some() => {
                    position.cursor = None;
                    continue;
                }
                page => page?,
            };
            let (documents, passed_over) = read_page(&page);
            done.passed_over.extend(passed_over);
            position.cursor = page.next_cursor.filter(|next| Some(next) != position.cursor.as_ref());
            if position.cursor.is_none() {
                position.seen = page.new_sync_token.version_vector;
            }
            let (changed, erased) = self.receive(scope, &documents, position).await?;
            received += changed;
            done.erased += erased;
            if position.cursor.is_none() {
                done.received += received;
                return Ok(received);
            }
        }
        position.cursor = None;
        Err(RemoteError::Refused(format!(
            "the hub sent {PAGES_MAX} pages without an end; what was received is kept"
        ))
        .into())
    }

    /// Sends items that the hub has not received. Returns how many versions and erasures were sent.
    async fn push(
        &self,
        remote: &dyn RemoteHub,
        scope: &Scope,
        position: &mut ExchangePosition,
        done: &mut ExchangeCounts,
    ) -> Result<usize, ExchangeError> {
        let store = &self.shared_parts().parts.store;
        // Before the documents: an erasure that arrives meanwhile is not marked as reached.
        let state = store.hub_state(scope).await?;
        let erasures = store.pending_erasures(scope, position, &self.instance_id()).await?;
        let documents = self.unsent_documents(scope, &position.seen).await?;
        let mut versions = self.versions_to_send(&documents, &position.seen);
        let sent = versions.len() + erasures.len();
        // Together with the first documents: if the connection broke between a version without the erased lines and
        // the erasure, a home that is then restored from a backup would never send it.
        let mut items: Vec<Erasure> = erasures.iter().map(erasure_item).collect();
        while !versions.is_empty() || !items.is_empty() {
            let (outgoing, count) = next_push(&versions);
            versions.drain(..count);
            self.send_changes(remote, scope, position, (outgoing, std::mem::take(&mut items)), done).await?;
        }
        self.note_reached(scope, position, &state, &erasures).await?;
        Ok(sent)
    }

    async fn send_changes(
        &self,
        remote: &dyn RemoteHub,
        scope: &Scope,
        position: &mut ExchangePosition,
        (outgoing, erasures): (OutgoingChanges, Vec<Erasure>),
        done: &mut ExchangeCounts,
    ) -> Result<(), ExchangeError> {
        // Before sending: a later change known to the hub was then made by another copy of this home.
        position.sent.join(&outgoing.counters);
        self.save_position(scope, position).await?;
        let count = outgoing.identity.len() + outgoing.memories.len();
        let push = SyncPush {
            instance: PushingInstance {
                id: self.instance_id(),
                kind: "echovessel".to_owned(),
                name: None,
                version: 1,
            },
            identity_changes: outgoing.identity,
            memory_changes: outgoing.memories,
            erasures,
            last_sync_version: None,
        };
        let pushed = remote.sync_push(scope, &push).await?;
        let results = pushed.results.iter().chain(&pushed.erasure_results);
        let refused: Vec<String> =
            results.filter(|result| result.status == ItemStatus::Refused).map(refusal_text).collect();
        done.sent += count.saturating_sub(refused.len());
        done.refused.extend(refused);
        // The hub has them now and need not send them back.
        position.seen.join(&outgoing.counters);
        Ok(self.save_position(scope, position).await?)
    }

    /// Notes which erasures the hub has applied. Those that it refused are not sent again, and receipts still name
    /// the hub.
    async fn note_reached(
        &self,
        scope: &Scope,
        position: &mut ExchangePosition,
        state: &HubState,
        erasures: &[PendingErasure],
    ) -> Result<(), ExchangeError> {
        let store = &self.shared_parts().parts.store;
        let is_waiting = !store.first_waiting_erasures(scope, &position.hub).await?.is_empty();
        if erasures.is_empty() && !is_waiting {
            return Ok(());
        }
        for line in erasures.iter().flat_map(|erasure| &erasure.lines) {
            position.erased.note_seen(&line.author, line.counter);
        }
        self.save_position(scope, position).await?;
        let own = self.instance_id();
        let reached = state.counters.filter_authors(|author| author.is_part_of(&own));
        Ok(store.note_erasures_reached(scope, &position.hub, &reached, self.now()).await?)
    }

    pub(super) async fn save_position(
        &self,
        scope: &Scope,
        position: &ExchangePosition,
    ) -> Result<(), HubError> {
        let caller = self.caller_of_exchange(scope);
        let _turn = self.lock_writes().await;
        loop {
            let mut act = self.begin(&caller).await?;
            act.commit.exchange = Some(position.clone());
            if act.commit().await? {
                return Ok(());
            }
        }
    }
}

/// Checks that a home with this persona can follow that hub, and returns its instance there.
///
/// # Errors
///
/// When it can't, with what to do.
pub fn check_protocol(status: &RemoteStatus, scope: &Scope) -> Result<InstanceId, RemoteError> {
    let refused = |text: String| Err(RemoteError::Refused(text));
    if status.protocol_version != PROTOCOL_VERSION {
        return refused(format!(
            "the hub uses version {} of the sync protocol, this home version {PROTOCOL_VERSION}; update the \
                older of the two. Nothing was synced",
            status.protocol_version
        ));
    }
    if let Some(persona) = status.persona.as_ref().filter(|persona| persona.id != scope.persona.as_str()) {
        return refused(format!(
            "the hub has the persona `{}`, but this home has `{}`; set persona.id to `{}` to use the same \
                persona. Nothing was synced",
            persona.id, scope.persona, persona.id
        ));
    }
    match (&status.speaks_as, &status.instance) {
        (Some(own), Some(hub)) if status.is_bound && hub == own => refused(format!(
            "the hub is also named `{own}`; create a token with another name, or set hub.instance there"
        )),
        (Some(own), _) if status.is_bound => Ok(own.clone()),
        _ => refused(
            "the token is not bound to an instance; create one on the hub with `echovessel token create \
                --scope hub:NAME`"
                .to_owned(),
        ),
    }
}

/// True if an author is this home's present one, or one of the roles for changes that do not include its others. A
/// former author of this home is also a part of the instance, but not a present role.
fn is_present_role(other: &InstanceId, author: &InstanceId) -> bool {
    let role = other.as_str().strip_prefix(author.as_str());
    role.is_some_and(|role| {
        role.is_empty() || [".file", ".rollup", ".x"].iter().any(|known| role.starts_with(known))
    })
}
