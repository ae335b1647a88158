//! Transactions of the hub: read, decide, commit if nothing changed meanwhile; then the files follow.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use memory::Scope;
use memory::core_blocks::{CORE_BLOCK_LENGTH_MAX, check_length};
use tokio::sync::MutexGuard;

use crate::daily;
use crate::documents::{CONTENT_BYTES_MAX, Document, Version, core_block_of, seen_by_versions};
use crate::error::HubError;
use crate::names::{Category, DocumentName, InstanceId};
use crate::ports::{DocumentWrite, HubCommit, HubCommitOutcome, HubState};
use crate::service::{Caller, Hub, HubParts};
use crate::version_vector::VersionVector;
use crate::versions::{sort_for_display, written_at};

/// A transaction in preparation: the state of the hub at its beginning, and the counters that it has used.
pub(crate) struct HubTransaction<'a> {
    pub(crate) hub: &'a Hub,
    pub(crate) caller: &'a Caller,
    pub(crate) state: HubState,
    pub(crate) now: Timestamp,
    pub(crate) commit: HubCommit,
    /// State of the documents at the beginning; also of those that don't exist.
    known: BTreeMap<DocumentName, Option<Document>>,
    next: u64,
}

impl Hub {
    /// Waits until no other transaction is being written.
    pub(crate) async fn lock_writes(&self) -> MutexGuard<'_, ()> {
        self.shared_parts().writing.lock().await
    }

    /// Begins a transaction. Repeat it if [`HubTransaction::commit`] returns false.
    pub(crate) async fn begin<'a>(&'a self, caller: &'a Caller) -> Result<HubTransaction<'a>, HubError> {
        self.begin_with_state(caller, &[]).await
    }

    /// [`Self::begin`] with the document that the transaction changes, in its present state. All reads run at the
    /// same time.
    pub(crate) async fn begin_with_document<'a>(
        &'a self,
        caller: &'a Caller,
        name: &DocumentName,
    ) -> Result<(HubTransaction<'a>, Option<Document>), HubError> {
        let names: Vec<DocumentName> = std::iter::once(name.clone()).chain(roll_ups_above(name)).collect();
        let mut act = self.begin_with_state(caller, &names).await?;
        let document = act.known.remove(name).flatten();
        Ok((act, document))
    }

    /// Begins with several documents, in the order of their names. None of them may be a diary entry: the roll-ups of diary entries
    /// are not locked here.
    pub(crate) async fn begin_with_all<'a>(
        &'a self,
        caller: &'a Caller,
        names: &[DocumentName],
    ) -> Result<(HubTransaction<'a>, Vec<Option<Document>>), HubError> {
        let mut act = self.begin_with_state(caller, names).await?;
        let documents = names.iter().map(|name| act.known.remove(name).flatten()).collect();
        Ok((act, documents))
    }

    async fn begin_with_state<'a>(
        &'a self,
        caller: &'a Caller,
        names: &[DocumentName],
    ) -> Result<HubTransaction<'a>, HubError> {
        let HubParts { personas, users, store, .. } = &self.shared_parts().parts;
        let (scope, now) = (&caller.scope, self.now());
        let ((state, documents), ..) = tokio::try_join!(
            store.hub_state_with(scope, names),
            personas.ensure_persona(&scope.persona, scope.persona.as_str(), now),
            users.ensure_user(&scope.user, now),
        )?;
        let next = state.counters.get(&state.author) + 1;
        let commit = HubCommit { expected: state.revision, at: Some(now), ..HubCommit::default() };
        let known = names.iter().cloned().zip(documents).collect();
        Ok(HubTransaction { hub: self, caller, state, now, commit, known, next })
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.shared_parts().parts.clock.now()
    }

    pub(crate) async fn document(
        &self,
        scope: &Scope,
        name: &DocumentName,
    ) -> Result<Option<Document>, HubError> {
        Ok(self.shared_parts().parts.store.document(scope, name).await?)
    }
}

impl HubTransaction<'_> {
    /// The next counter of this hub's own changes.
    pub(crate) fn next_counter(&mut self) -> (InstanceId, u64) {
        let counter = self.next;
        self.next += 1;
        (self.state.author.clone(), counter)
    }

    /// A version that includes all of these.
    pub(crate) fn successor(&mut self, heads: &[Version], content: Option<String>) -> Version {
        let (own, counter) = self.next_counter();
        let vector = seen_by_versions(heads);
        let (chat_ids, participants) = match (&content, heads.first()) {
            (Some(content), before) => {
                let mut chats = daily::chat_ids(content);
                let mut participants = daily::instances_in_tags(content);
                if let Some(before) = before {
                    chats.extend(before.chat_ids.iter().cloned());
                    participants.extend(before.participants.iter().cloned());
                }
                (chats, participants)
            }
            (None, _) => (BTreeSet::new(), BTreeSet::new()),
        };
        Version {
            number: 0,
            content,
            vector: vector.with_change(&own, counter),
            author: self.caller.instance.clone(),
            edited_by: self.caller.instance.to_string(),
            by_person: self.caller.is_person,
            chat_ids,
            participants,
            written_at: written_at(self.now, heads),
        }
    }

    /// A version that replaces the shown one, and the versions that stay beside it: an editor has not seen those that
    /// wait for a decision.
    pub(crate) fn edit(&mut self, heads: Vec<Version>, content: Option<String>) -> (Version, Vec<Version>) {
        let shown = heads.first().map(|head| head.content.clone());
        let (seen, beside): (Vec<Version>, Vec<Version>) =
            heads.into_iter().partition(|head| Some(&head.content) == shown.as_ref());
        let mut version = self.successor_beside(&seen, &beside, content);
        let latest = beside.iter().chain(&seen).cloned().collect::<Vec<_>>();
        version.written_at = written_at(self.now, &latest);
        (version, beside)
    }

    /// Like [`Self::successor`], but the new version does not include the versions beside it.
    pub(crate) fn successor_beside(
        &mut self,
        seen: &[Version],
        beside: &[Version],
        content: Option<String>,
    ) -> Version {
        let vector = self.with_next_change(seen_by_versions(seen), beside);
        Version { vector, ..self.successor(seen, content) }
    }

    /// Writes the result of [`Self::edit`].
    pub(crate) fn write_edit(&mut self, name: &DocumentName, version: Version, beside: Vec<Version>) {
        let heads = std::iter::once(version).chain(beside).collect();
        self.write(name, sort_for_display(heads, &self.hub.settings().priority));
    }

    /// This vector with one more change of this hub. If versions stay beside it, the change gets an author of its
    /// own: a counter of the hub would claim to include everything that the hub wrote before.
    pub(crate) fn with_next_change(&mut self, vector: VersionVector, beside: &[Version]) -> VersionVector {
        if beside.is_empty() {
            let (own, counter) = self.next_counter();
            return vector.with_change(&own, counter);
        }
        let own = self.state.author.clone();
        vector.with_change(&self.single_author(&own, "x"), 1)
    }

    /// A new author for a single change: a part of the instance that writes nothing else.
    pub(crate) fn single_author(&self, instance: &InstanceId, role: &str) -> InstanceId {
        let digits = hex::encode(self.hub.shared_parts().parts.ids.next(self.now).into_bytes());
        instance.for_part(&format!("{role}{}", &digits[digits.len() - 8..]))
    }

    /// Version vector of an edited file: these versions, and itself. It has its own author, `<instance>.file`,
    /// because a file includes neither later changes of the instance nor concurrent versions.
    pub(crate) fn version_of_hand_edit(&mut self, seen: &[Version], heads: &[Version]) -> VersionVector {
        let own = self.state.author.clone();
        let seen = seen_by_versions(seen);
        let mut vector = self.unseen_change(&own, "file");
        vector.join(&seen);
        let beside: Vec<Version> = heads.iter().filter(|head| !seen.covers(&head.vector)).cloned().collect();
        if beside.iter().any(|head| vector.covers(&head.vector)) {
            return self.with_next_change(seen, &beside);
        }
        vector
    }

    /// The next change of `<instance>.<role>`, which includes no other change. It has its own author, so that it does
    /// not claim to include what the instance wrote before.
    pub(crate) fn unseen_change(&mut self, instance: &InstanceId, role: &str) -> VersionVector {
        let author = instance.for_part(role);
        let counter = self.state.counters.get(&author) + 1;
        self.state.counters.note_seen(&author, counter);
        VersionVector::default().with_change(&author, counter)
    }

    /// Adds a document's new state to the transaction; replaces an earlier one of the same document.
    pub(crate) fn write(&mut self, name: &DocumentName, heads: Vec<Version>) {
        for head in &heads {
            self.state.seen.join(&head.vector);
        }
        self.commit.documents.retain(|write| write.name != *name);
        self.commit.documents.push(DocumentWrite {
            name: name.clone(),
            prompt_label: None,
            heads,
            merged_from: Vec::new(),
            stale: false,
            at: self.now,
        });
    }

    /// Refuses shared documents to a caller of one user, core blocks to everybody but people, and texts that are too
    /// long.
    pub(crate) fn check(&self, name: &DocumentName, content: Option<&str>) -> Result<(), HubError> {
        self.hub.check_writable(self.caller, name, content)
    }

    /// Commits. False if there was another write since the beginning: then the transaction has to be repeated.
    pub(crate) async fn commit(mut self) -> Result<bool, HubError> {
        let stale = self.roll_ups_that_go_stale().await?;
        self.commit.documents.extend(stale);
        let store = &self.hub.shared_parts().parts.store;
        let scope = &self.caller.scope;
        let restored = self.commit.restored.iter().flat_map(|whole| &whole.documents).map(|(name, _)| name);
        let names: Vec<DocumentName> =
            self.commit.documents.iter().map(|write| &write.name).chain(restored).cloned().collect();
        let is_change_here = self.commit.exchange.is_none() && !self.commit.documents.is_empty();
        let opened: BTreeSet<uuid::Uuid> = self.commit.opened.iter().map(|conflict| conflict.id).collect();
        let listener =
            self.hub.shared_parts().parts.listener.as_ref().filter(|_| !self.commit.erasures.is_empty());
        let erasing = listener.map(|listener| listener.begin_erasing(scope));
        let committed = store.commit_hub(scope, self.commit).await;
        drop(erasing);
        match committed? {
            HubCommitOutcome::Changed => Ok(false),
            HubCommitOutcome::Done(_) => {
                self.hub.publish_opened(scope, &opened).await;
                for name in &names {
                    self.hub.mirror_document(scope, name).await;
                }
                self.hub.shared_parts().written.notify_one();
                self.hub.shared_parts().unembedded.notify_one();
                if is_change_here {
                    self.hub.shared_parts().unsent.notify_one();
                }
                Ok(true)
            }
        }
    }

    /// Roll-ups above the memories that this transaction writes.
    async fn roll_ups_that_go_stale(&self) -> Result<Vec<DocumentWrite>, HubError> {
        // The hub that is followed knows which of its roll-ups are outdated.
        if self.hub.followed_hub().is_some() {
            return Ok(Vec::new());
        }
        let written: BTreeSet<&DocumentName> =
            self.commit.documents.iter().map(|write| &write.name).collect();
        let above: BTreeSet<DocumentName> = written.iter().copied().flat_map(roll_ups_above).collect();
        let mut stale = Vec::new();
        for name in above.into_iter().filter(|name| !written.contains(name)) {
            let document = match self.known.get(&name) {
                Some(known) => known.clone(),
                None => self.hub.document(&self.caller.scope, &name).await?,
            };
            let Some(document) = document else { continue };
            if document.content().is_some() && !document.stale {
                let (heads, at) = (document.heads, self.now);
                stale.push(DocumentWrite::mark_outdated(name, heads, at));
            }
        }
        Ok(stale)
    }
}

/// The roll-ups that include a memory.
fn roll_ups_above(name: &DocumentName) -> Vec<DocumentName> {
    match name {
        DocumentName::Diary(memory) => memory.roll_ups_above().into_iter().map(DocumentName::Diary).collect(),
        DocumentName::Identity(..) => Vec::new(),
    }
}

/// Refuses documents that all users of the persona share to a caller of one user.
pub(crate) fn check_caller_access(caller: &Caller, name: &DocumentName) -> Result<(), HubError> {
    if caller.is_of_one_user && !name.is_of_user() {
        return Err(HubError::Refused(format!(
            "{name} belongs to all users of the persona, but this token is bound to one of them; nothing \
                was changed. Write to `user` or `relationship`, or use a token that is not bound to a user"
        )));
    }
    Ok(())
}

impl Hub {
    /// True if a caller may see a document of its scope.
    pub(crate) fn may_read(&self, caller: &Caller, name: &DocumentName) -> bool {
        !matches!(name, DocumentName::Identity(Category::Custom, _)) || self.may_read_custom(caller)
    }

    /// True if a caller may see documents of the category `custom`.
    pub(crate) fn may_read_custom(&self, caller: &Caller) -> bool {
        !caller.is_of_one_user || self.settings().users_read_custom
    }

    /// Refuses a change of a core block in a home that follows a hub, because core blocks belong to the hub.
    ///
    /// # Errors
    ///
    /// If this home follows a hub; the text says where to edit the block.
    pub fn check_core_blocks_are_here(&self) -> Result<(), HubError> {
        match self.followed_hub() {
            None => Ok(()),
            Some(hub) => Err(HubError::Refused(format!(
                "the core blocks (persona, user, style) are edited on the hub, {hub}, and synced to this \
                    home. Nothing was written"
            ))),
        }
    }

    /// Checks that the caller may write the document, and its length.
    pub(crate) fn check_writable(
        &self,
        caller: &Caller,
        name: &DocumentName,
        content: Option<&str>,
    ) -> Result<(), HubError> {
        check_caller_access(caller, name)?;
        name.check_folder().map_err(|error| HubError::Invalid(error.to_string()))?;
        if content.is_some_and(|content| content.len() > CONTENT_BYTES_MAX) {
            return Err(HubError::Invalid(format!(
                "{name} would be longer than {CONTENT_BYTES_MAX} bytes; nothing was written. Split it"
            )));
        }
        let Some(label) = core_block_of(name, &caller.scope) else { return Ok(()) };
        self.check_core_blocks_are_here()?;
        if !caller.is_person {
            return Err(HubError::Refused(format!(
                "{name} is the core block `{}`: only people write it, in the web UI or in its file. Nothing \
                    was written",
                label.as_str()
            )));
        }
        check_length(label, content.unwrap_or_default()).map_err(|_| {
            HubError::Invalid(format!(
                "{name} is a core block of at most {CORE_BLOCK_LENGTH_MAX} characters; nothing was written"
            ))
        })
    }
}
