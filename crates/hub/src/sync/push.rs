//! What an instance has changed: every item judged by itself, all of it committed together.

use crate::api::sync::{ItemStatus, SyncPush, SyncPushed};
use crate::daily;
use crate::documents::Version;
use crate::erasure::{ERASED, without_erased};
use crate::error::HubError;
use crate::names::{DocumentName, Granularity, InstanceId};
use crate::ports::Instance;
use crate::sections;
use crate::service::{Caller, Hub};
use crate::transaction::{HubTransaction, check_writable};
use crate::version_vector::{COUNTER_MAX, VersionVector};
use crate::versions::{MergeOutcome, differ, merge_version, vector_as_shown};

use super::items::{self, Pushed};

/// Earlier versions among which the one that two sides have in common is looked for.
const VERSIONS_LOOKED_AT: u32 = 100;

impl Hub {
    /// Takes the changes of an instance, in one transaction.
    pub async fn sync_push(&self, caller: &Caller, input: SyncPush) -> Result<SyncPushed, HubError> {
        let pusher = input.instance.id.clone();
        let _turn = self.lock_writes().await;
        loop {
            let mut act = self.begin(caller).await?;
            let known = self.instance(&caller.scope, &pusher).await?;
            let mut push = Push {
                base: known.as_ref().map(|known| known.base.clone()).unwrap_or_default(),
                next: act.state.counters.get(&pusher) + 1,
                pusher: pusher.clone(),
                touched: Vec::new(),
            };
            let now = act.now;
            let mut results = Vec::new();
            for item in &input.identity_changes {
                let read = items::read_identity(item, &pusher, now);
                let (status, reason) = push.take(&mut act, read).await?;
                results.push(items::identity_result(item, status, reason));
            }
            for item in &input.memory_changes {
                let read = items::read_memory(item, &pusher, now);
                let (status, reason) = push.take(&mut act, read).await?;
                results.push(items::memory_result(item, status, reason));
            }
            let mut conflicts = Vec::new();
            for name in std::mem::take(&mut push.touched) {
                let write = act.commit.documents.iter().find(|write| write.name == name);
                let heads = write.map(|write| write.heads.clone()).unwrap_or_default();
                conflicts.extend(act.open_conflicts(&name, &heads));
            }
            act.commit.instance = Some(Instance {
                id: pusher.clone(),
                kind: input.instance.kind.clone(),
                name: input.instance.name.clone(),
                last_sync: now,
                base: push.base,
            });
            if act.save().await? {
                let new_sync_token = self.token(&caller.scope, now).await?;
                let conflicts = conflicts.iter().map(crate::conflicts::conflict_entry).collect();
                return Ok(SyncPushed { success: true, new_sync_token, conflicts, results });
            }
        }
    }
}

/// One push under way.
struct Push {
    pusher: InstanceId,
    /// What the client has seen: its last pull and its own pushes since.
    base: VersionVector,
    /// Its next counter, where it counts not itself.
    next: u64,
    /// Documents that disagree.
    touched: Vec<DocumentName>,
}

impl Push {
    async fn take(
        &mut self,
        act: &mut HubTransaction<'_>,
        read: Result<Pushed, String>,
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
            let reason =
                "it was erased here, and this version has not seen that; pull first, then write it again";
            return Ok((ItemStatus::Known, Some(reason.to_owned())));
        };
        // Only what a person has written may change a core block.
        let writer = Caller { is_person: item.by_person, ..act.caller.clone() };
        let says_the_same = heads.first().is_some_and(|shown| shown.content == item.content);
        if let Err(error) = check_writable(&writer, &item.name, item.content.as_deref()) {
            return Ok(match says_the_same {
                true => (ItemStatus::Known, None),
                false => (ItemStatus::Refused, Some(error.to_string())),
            });
        }
        let Some(incoming) = self.version(act, &item, &heads) else { return Ok((ItemStatus::Known, None)) };
        self.base.join(&incoming.vector);
        let vector = incoming.vector.clone();
        let (mut met, meeting) = merge_version(heads, incoming, &act.hub.settings().priority);
        if meeting == MergeOutcome::AlreadySeen {
            return Ok((ItemStatus::Known, None));
        }
        if meeting == MergeOutcome::Concurrent
            && let Some(merged) = merged(act, &item.name, &met).await?
        {
            met = vec![merged];
        }
        let is_applied = met.first().is_some_and(|shown| shown.vector.covers(&vector));
        let conflict = differ(&met);
        act.write(&item.name, met);
        if conflict {
            self.touched.push(item.name.clone());
            let reason = "another version has not seen this one, nor this one it; both are kept".to_owned();
            return Ok((ItemStatus::Conflict, Some(reason)));
        }
        Ok((if is_applied { ItemStatus::Applied } else { ItemStatus::Known }, None))
    }

    /// The item without what was erased since its writer last pulled; `None` if nothing else is in it. Checked before any
    /// merge, so that erased words do not return in a union, a merged section or a conflict.
    async fn without_erased(
        &self,
        act: &HubTransaction<'_>,
        mut item: Pushed,
        heads: &[Version],
    ) -> Result<Option<Pushed>, HubError> {
        let Some(content) = &item.content else { return Ok(Some(item)) };
        let seen = item.vector.as_ref().unwrap_or(&self.base);
        let is_unseen_erasure = |head: &Version| {
            head.number == 0
                && head.content.is_none()
                && head.edited_by == ERASED
                && !seen.covers(&head.vector)
        };
        if heads.iter().any(is_unseen_erasure) {
            return Ok(None);
        }
        let scope = &act.caller.scope;
        let erased = act.hub.inner().parts.store.erased_lines(scope, &item.name).await?;
        if let Some(left) = without_erased(scope, &item.name, content, seen, &erased) {
            if left.trim().is_empty() {
                return Ok(None);
            }
            item.content = Some(left);
        }
        Ok(Some(item))
    }

    /// Refuses clocks that can't be.
    fn check(&self, act: &HubTransaction<'_>, item: Pushed) -> Result<Pushed, String> {
        let Some(vector) = &item.vector else { return Ok(item) };
        let own = &act.hub.settings().instance;
        if vector.is_empty() || vector.iter().any(|(_, counter)| counter > COUNTER_MAX) {
            return Err("`versionVector` needs counters from 1 to 2^53".to_owned());
        }
        if *own != self.pusher && vector.get(own) > act.state.counters.get(own) {
            return Err(format!("`versionVector` names a change of {own} that {own} has never made"));
        }
        Ok(item)
    }

    /// The version that an item brings; none where it says only what is shown already.
    fn version(&mut self, act: &mut HubTransaction<'_>, item: &Pushed, heads: &[Version]) -> Option<Version> {
        let vector = match &item.vector {
            Some(vector) => {
                let mut vector = vector.clone();
                // A change that comes after later ones of its author would be missed by who has seen those.
                if act.state.seen.covers(&vector) && !seen_by(heads).covers(&vector) {
                    let (own, counter) = act.stamp();
                    vector.see(&own, counter);
                }
                vector
            }
            None => {
                if heads.first().is_some_and(|shown| shown.content == item.content) {
                    self.base.join(&vector_as_shown(heads));
                    return None;
                }
                // Its own words again, which wait beside the shown ones already.
                let is_repeated =
                    |head: &Version| head.content == item.content && self.base.covers(&head.vector);
                if heads.iter().any(is_repeated) || heads.is_empty() && item.content.is_none() {
                    return None;
                }
                let mut vector = VersionVector::default();
                for head in heads.iter().filter(|head| self.base.covers(&head.vector)) {
                    vector.join(&head.vector);
                }
                if self.pusher == act.hub.settings().instance {
                    let (own, counter) = act.stamp();
                    vector.with(&own, counter)
                } else {
                    self.next += 1;
                    vector.with(&self.pusher, self.next - 1)
                }
            }
        };
        Some(Version {
            number: 0,
            content: item.content.clone(),
            vector,
            author: item.author.clone(),
            edited_by: item.edited_by.clone(),
            by_person: item.by_person,
            chat_ids: item.chat_ids.clone(),
            participants: item.participants.clone(),
            written_at: item.written_at,
        })
    }
}

fn seen_by(heads: &[Version]) -> VersionVector {
    let mut seen = VersionVector::default();
    for head in heads {
        seen.join(&head.vector);
    }
    seen
}

/// Two versions put together, where nothing of either is lost by it: the bullets of a day, different sections.
async fn merged(
    act: &mut HubTransaction<'_>,
    name: &DocumentName,
    heads: &[Version],
) -> Result<Option<Version>, HubError> {
    let [one, other] = heads else { return Ok(None) };
    let (Some(text), Some(other_text)) = (&one.content, &other.content) else { return Ok(None) };
    if text == other_text {
        return Ok(None);
    }
    let together = match name {
        DocumentName::Diary(memory) if memory.granularity() == Granularity::Daily => {
            let (first, second) =
                if one.written_at <= other.written_at { (text, other_text) } else { (other_text, text) };
            Some(daily::merge(first, second))
        }
        DocumentName::Diary(_) => None,
        DocumentName::Identity(..) => {
            let store = &act.hub.inner().parts.store;
            let versions = store.document_versions(&act.caller.scope, name, VERSIONS_LOOKED_AT).await?;
            let base = versions
                .iter()
                .find(|version| one.vector.covers(&version.vector) && other.vector.covers(&version.vector));
            let base = base.and_then(|base| base.content.as_deref());
            base.and_then(|base| sections::merge_sections(base, text, other_text))
        }
    };
    Ok(together.map(|content| {
        let mut version = act.successor(heads, Some(content));
        version.author = one.author.clone();
        version.by_person = one.by_person && other.by_person;
        version
    }))
}
