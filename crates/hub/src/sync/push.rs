//! Changes of an instance: every item is checked by itself, and all of them are committed together.

use memory::core_blocks::check_length;

use crate::api::sync::{ItemStatus, SyncPush, SyncPushed, SyncToken};
use crate::client_base::ClientBase;
use crate::documents::{Version, core_block_of, seen_by_versions};
use crate::error::HubError;
use crate::names::{DocumentName, InstanceId};
use crate::ports::Instance;
use crate::service::{Caller, Hub};
use crate::transaction::HubTransaction;
use crate::version_vector::{COUNTER_MAX, COUNTER_STEP_MAX, VersionVector};
use crate::versions::{MergeOutcome, have_different_content, merge_version, vector_of_shown};

use super::items::{self, PushedItem};
use super::merge::{self, Admission, VERSIONS_READ, merge_versions, stored_versions};
use super::pull::deletion_outline;
use super::sync_token;

impl Hub {
    /// Stores the changes of an instance in one transaction.
    pub async fn sync_push(&self, caller: &Caller, input: SyncPush) -> Result<SyncPushed, HubError> {
        self.apply_push(caller, input, false).await
    }

    /// Stores documents of the hub that this home follows, core blocks included.
    pub(super) async fn push_from_followed_hub(
        &self,
        caller: &Caller,
        input: SyncPush,
    ) -> Result<SyncPushed, HubError> {
        self.apply_push(caller, input, true).await
    }

    async fn apply_push(
        &self,
        caller: &Caller,
        input: SyncPush,
        is_followed: bool,
    ) -> Result<SyncPushed, HubError> {
        let pusher = input.instance.id.clone();
        let _turn = self.lock_writes().await;
        loop {
            let mut act = self.begin(caller).await?;
            let known = self.connected_instance(&caller.scope, &pusher).await?;
            let mut push = Push {
                is_bound: caller.is_bound,
                is_followed,
                base: known.as_ref().map(|known| known.base.clone()).unwrap_or_default(),
                next: act.state.counters.get(&pusher) + 1,
                pusher: pusher.clone(),
                touched: Vec::new(),
            };
            let now = act.now;
            let mut results = Vec::new();
            for item in &input.identity_changes {
                let read = items::read_identity(item, &pusher, now);
                let (status, reason) = push.apply_item(&mut act, read).await?;
                results.push(items::identity_result(item, status, reason));
            }
            for item in &input.memory_changes {
                let read = items::read_memory(item, &pusher, now);
                let (status, reason) = push.apply_item(&mut act, read).await?;
                results.push(items::memory_result(item, status, reason));
            }
            let mut erasure_results = Vec::new();
            for erasure in &input.erasures {
                let (status, reason) = push.follow_erasure(&mut act, erasure).await?;
                erasure_results.push(items::erasure_result(erasure, status, reason));
            }
            let mut conflicts = Vec::new();
            for name in std::mem::take(&mut push.touched) {
                let write = act.commit.documents.iter().find(|write| write.name == name);
                let heads = write.map(|write| write.heads.clone()).unwrap_or_default();
                conflicts.extend(act.open_conflicts(&name, &heads));
            }
            let instance = Instance {
                id: pusher.clone(),
                kind: input.instance.kind.clone(),
                name: input.instance.name.clone(),
                last_sync: now,
                base: push.base,
                sent: known.map(|known| known.sent).unwrap_or_default(),
            };
            act.commit.instance = Some(instance.clone());
            if act.commit().await? {
                let new_sync_token = self.token_after_push(caller, &instance).await?;
                let conflicts = conflicts.iter().map(crate::conflicts::conflict_entry).collect();
                return Ok(SyncPushed { success: true, new_sync_token, conflicts, results, erasure_results });
            }
        }
    }
}

impl Hub {
    /// A token that excludes changes that the instance was not sent: changes and deletions by others, and merges with
    /// its own. The instance gets them with its next pull if it pulls since this token.
    async fn token_after_push(&self, caller: &Caller, instance: &Instance) -> Result<SyncToken, HubError> {
        let store = &self.shared_parts().parts.store;
        let scope = &caller.scope;
        // Read before the documents: a commit in between is then missing from the counters, which is safe.
        let state = store.hub_state(scope).await?;
        let outlines = store.document_outlines(scope, 0).await?;
        let deletions = store.unsent_deletions(scope, &instance.id).await?;
        let mut token = sync_token(&state, &outlines, instance.last_sync);
        let covered = &mut token.version_vector;
        for outline in outlines.into_iter().chain(deletions.iter().map(deletion_outline)) {
            let base = instance.base.for_name(&outline.name);
            for (author, counter) in
                outline.seen.iter().filter(|(author, counter)| *counter > base.get(author))
            {
                covered.lower_counter(author, counter - 1);
            }
        }
        for (author, counter) in store.first_waiting_erasures(scope, &instance.id).await?.iter() {
            covered.lower_counter(author, counter - 1);
        }
        Ok(token)
    }
}

/// A push in progress.
pub(super) struct Push {
    pub(super) pusher: InstanceId,
    /// True if the pusher may act only for itself.
    pub(super) is_bound: bool,
    /// True if this home follows the pusher as its hub. Its core blocks are accepted then.
    is_followed: bool,
    /// Changes that the client has seen of each document.
    base: ClientBase,
    /// The next counter of the pusher, if it has no version vectors.
    next: u64,
    touched: Vec<DocumentName>,
}

impl Push {
    async fn apply_item(
        &mut self,
        act: &mut HubTransaction<'_>,
        read: Result<PushedItem, String>,
    ) -> Result<(ItemStatus, Option<String>), HubError> {
        let item = match read.and_then(|item| self.check(act, item)) {
            Ok(item) => item,
            Err(reason) => return Ok((ItemStatus::Refused, Some(reason))),
        };
        let written = act.commit.documents.iter().find(|write| write.name == item.name);
        let heads = match written {
            Some(write) => write.heads.clone(),
            None => {
                let document = act.hub.document(&act.caller.scope, &item.name).await?;
                document.map(|document| document.heads).unwrap_or_default()
            }
        };
        let Some(item) = self.without_erased(act, item, &heads).await? else {
            let reason = "it was erased here, and this version does not include that, so nothing was \
                written; pull it first, or create it with `memory_create`";
            return Ok((ItemStatus::Known, Some(reason.to_owned())));
        };
        // A caller must not learn if it guessed a text that it may not read.
        let has_same_content = act.hub.may_read(act.caller, &item.name)
            && heads.first().is_some_and(|shown| shown.content == item.content);
        if let Some(reason) = self.refusal(act, &item) {
            return Ok(match has_same_content {
                true => (ItemStatus::Known, None),
                false => (ItemStatus::Refused, Some(reason)),
            });
        }
        let Some(incoming) = self.item_version(act, &item, &heads).await? else {
            return Ok((ItemStatus::Known, None));
        };
        let vector = incoming.vector.clone();
        let (mut met, meeting) = merge_version(heads, incoming.clone(), &act.hub.settings().priority);
        if meeting == MergeOutcome::AlreadySeen {
            self.base.add_seen(&item.name, &vector);
            return Ok((ItemStatus::Known, None));
        }
        self.base.replace_seen(&item.name, vector.clone());
        let mut merged_from = Vec::new();
        if meeting == MergeOutcome::Concurrent
            && let Some(merged) = merge_versions(act, &item.name, &met).await?
        {
            met = vec![merged];
            // The client continues from its own text, so its next change is compared with that.
            merged_from.push(incoming);
        }
        let is_applied = met.first().is_some_and(|shown| shown.vector.covers(&vector));
        let conflict = have_different_content(&met);
        act.write(&item.name, met);
        if let Some(write) = act.commit.documents.last_mut() {
            write.merged_from = merged_from;
        }
        if conflict {
            self.touched.push(item.name.clone());
            let reason = "another version is concurrent with this one; both are kept".to_owned();
            let reason = item.note.map_or(reason.clone(), |note| format!("{reason}; {note}"));
            return Ok((ItemStatus::Conflict, Some(reason)));
        }
        Ok((if is_applied { ItemStatus::Applied } else { ItemStatus::Known }, item.note))
    }

    /// The item without lines erased since its author last pulled; `None` if nothing else is left.
    async fn without_erased(
        &self,
        act: &HubTransaction<'_>,
        mut item: PushedItem,
        heads: &[Version],
    ) -> Result<Option<PushedItem>, HubError> {
        let Some(content) = &item.content else { return Ok(Some(item)) };
        // A client without version vectors can't show that it wrote the text again rather than still had it, unless
        // it has pulled this very document since.
        let seen = item.vector.clone().unwrap_or_else(|| self.base.for_name(&item.name));
        let scope = &act.caller.scope;
        let names = std::slice::from_ref(&item.name);
        let erased = act.hub.shared_parts().parts.store.erased_lines(scope, names).await?.concat();
        match merge::admit(scope, &item.name, content, &seen, heads, &erased) {
            Admission::Whole => {}
            Admission::Without(left) => {
                item.content = Some(left);
                item.is_shortened = true;
            }
            Admission::Nothing => return Ok(None),
        }
        Ok(Some(item))
    }

    /// Refuses impossible version vectors. A bound instance may not claim changes of other instances that this hub
    /// has not received: it could make their next changes look old.
    fn check(&self, act: &HubTransaction<'_>, mut item: PushedItem) -> Result<PushedItem, String> {
        let Some(vector) = &item.vector else { return Ok(item) };
        let (own, seen) = (&act.state.author, &act.state.counters);
        if vector.is_empty() || vector.iter().any(|(_, counter)| counter > COUNTER_MAX) {
            return Err("`versionVector` must have counters from 1 to 2^53".to_owned());
        }
        if !own.is_part_of(&self.pusher) && vector.get(own) > seen.get(own) {
            return Err(format!("`versionVector` contains a change of {own} that {own} has never made"));
        }
        let is_own = |author: &InstanceId| author.is_part_of(&self.pusher);
        let limited = if self.is_bound { vector.capped_by(seen, is_own) } else { vector.clone() };
        if let Some((author, counter)) =
            limited.iter().find(|(author, counter)| *counter > seen.get(author) + COUNTER_STEP_MAX)
        {
            return Err(format!(
                "`versionVector` counts change {counter} of {author}, but the last one seen here is {}; a \
                    push may be at most {COUNTER_STEP_MAX} changes ahead. Continue counting from there",
                seen.get(author)
            ));
        }
        if limited.is_empty() {
            return Err(format!(
                "`versionVector` contains only changes of other instances that this hub has not received; \
                    {} must count its own",
                self.pusher
            ));
        }
        item.vector = Some(limited);
        Ok(item)
    }

    /// Why this caller may not write this document; `None` if it may.
    fn refusal(&self, act: &HubTransaction<'_>, item: &PushedItem) -> Option<String> {
        let core_block = core_block_of(&item.name, &act.caller.scope).filter(|_| self.is_followed);
        if let Some(label) = core_block {
            let length = check_length(label, item.content.as_deref().unwrap_or_default());
            return length.err().map(|error| error.to_string());
        }
        // Only a person may change a core block, and a bound token does not act for a person.
        let writer = Caller { is_person: item.by_person && !self.is_bound, ..act.caller.clone() };
        if let Err(error) = act.hub.check_writable(&writer, &item.name, item.content.as_deref()) {
            return Some(error.to_string());
        }
        let owner = match &item.name {
            DocumentName::Diary(name) if self.is_bound => {
                name.instance().filter(|owner| **owner != self.pusher)
            }
            _ => None,
        }?;
        Some(format!(
            "sourceInstance: this connection is bound to {}, and only {owner} may write the daily of \
                {owner}; nothing was written",
            self.pusher
        ))
    }

    /// The version that an item brings; `None` if everything in it is known.
    async fn item_version(
        &mut self,
        act: &mut HubTransaction<'_>,
        item: &PushedItem,
        heads: &[Version],
    ) -> Result<Option<Version>, HubError> {
        let vector = match &item.vector {
            Some(vector) => Some(self.client_vector(act, item, vector, heads).await?),
            None => self.vector_from_base(act, item, heads).await?,
        };
        let Some(vector) = vector else { return Ok(None) };
        let passes_on = !self.is_bound || self.may_name_author(act, item, &vector, heads).await?;
        let author = if passes_on { &item.author } else { &self.pusher };
        let edited_by = if self.is_bound { self.pusher.to_string() } else { item.edited_by.clone() };
        Ok(Some(Version {
            number: 0,
            content: item.content.clone(),
            vector,
            author: author.clone(),
            edited_by,
            by_person: item.by_person && !self.is_bound,
            chat_ids: item.chat_ids.clone(),
            participants: item.participants.clone(),
            written_at: item.written_at,
        }))
    }

    /// True if a bound instance may name another author than itself: it has seen a version by that author, so it
    /// passes on that author's text. The author must be the same at every home, because it decides between versions
    /// of the same time.
    async fn may_name_author(
        &self,
        act: &HubTransaction<'_>,
        item: &PushedItem,
        vector: &VersionVector,
        heads: &[Version],
    ) -> Result<bool, HubError> {
        if item.author == self.pusher || heads.first().is_some_and(|shown| shown.author == item.author) {
            return Ok(true);
        }
        let is_seen = |version: &Version| version.author == item.author && vector.covers(&version.vector);
        Ok(heads.iter().any(is_seen)
            || stored_versions(act, &item.name, VERSIONS_READ).await?.iter().any(is_seen))
    }

    /// The version vector of a client that sends its own. A new text under a known counter is stored beside the live
    /// versions: nobody has seen it, whatever its counter.
    async fn client_vector(
        &mut self,
        act: &mut HubTransaction<'_>,
        item: &PushedItem,
        given: &VersionVector,
        heads: &[Version],
    ) -> Result<VersionVector, HubError> {
        let mut vector = given.clone();
        let own = act.state.author.clone();
        if !heads.is_empty() && seen_by_versions(heads).covers(&vector) {
            if heads.iter().any(|head| head.content == item.content) {
                return Ok(vector);
            }
            let stored = stored_versions(act, &item.name, VERSIONS_READ).await?;
            if stored.iter().any(|version| version.content == item.content) {
                return Ok(vector);
            }
            let is_reused = stored
                .iter()
                .any(|version| version.vector.without_author(&own) == vector.without_author(&own));
            // A version is later than everything that it includes.
            let is_later = heads.iter().all(|head| head.written_at < item.written_at);
            if is_reused || is_later {
                vector = VersionVector::default().with_change(&act.single_author(&self.pusher, "kept"), 1);
            }
            return Ok(vector);
        }
        // A change that arrives after later ones of its author would be missed by clients that have seen those.
        if act.state.seen.covers(&vector) {
            let beside: Vec<Version> =
                heads.iter().filter(|head| !vector.covers(&head.vector)).cloned().collect();
            vector = act.with_next_change(vector, &beside);
        }
        Ok(vector)
    }

    /// The version vector for a change by a client without version vectors: it includes the version that the client
    /// has, and itself. `None` if the text is the one that the client was given, or the shown one.
    async fn vector_from_base(
        &mut self,
        act: &mut HubTransaction<'_>,
        item: &PushedItem,
        heads: &[Version],
    ) -> Result<Option<VersionVector>, HubError> {
        let base = self.base.for_name(&item.name);
        if heads.first().is_some_and(|shown| shown.content == item.content) {
            if !item.is_shortened {
                self.base.replace_seen(&item.name, vector_of_shown(heads));
            }
            return Ok(None);
        }
        // The client repeats its own text, which is already stored beside the shown one.
        let is_repeated = |head: &Version| head.content == item.content && base.covers(&head.vector);
        if heads.iter().any(is_repeated) || heads.is_empty() && item.content.is_none() {
            return Ok(None);
        }
        let is_current = heads.first().is_some_and(|shown| base.covers(&shown.vector));
        if !base.is_empty() && !is_current {
            // The client repeats the text that it was given, while others have changed it: that is no change.
            let stored = stored_versions(act, &item.name, VERSIONS_READ).await?;
            if stored.iter().any(|version| version.vector == base && version.content == item.content) {
                return Ok(None);
            }
        }
        Ok(Some(if act.state.author.is_part_of(&self.pusher) {
            let (own, counter) = act.next_counter();
            base.with_change(&own, counter)
        } else {
            self.next += 1;
            base.with_change(&self.pusher, self.next - 1)
        }))
    }
}
