//! Recall for a turn: the request to `memory::recall`, and its result as inputs of the prompt.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::FutureExt as _;
use hub::PromptDocuments;
use jiff::Timestamp;
use memory::Scope;
use memory::core_blocks::CoreBlocks;
use memory::entities::Entity;
use memory::identifiers::NodeId;
use memory::messages::Message;
use memory::mood::Mood;
use memory::nodes::Node;
use memory::ports::{PersonaRecord, StoreError, UserRecord};
use memory::recall::{RecallRequest, RecallResult, RecallSettings, SpeakerNames, mask_silenced, recall};
use mind::{Passage, PassageLine, ReplyInput, UncertainPair};

use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

use crate::changes::corrected;
use crate::runtime::{Runtime, RuntimeInner};

/// Longest text that is taken apart on a serving thread, in bytes: there it takes about a millisecond.
const SERVED_TEXT_BYTES_MAX: usize = 2_048;

/// Memories for a text, with the parts of every prompt, without values that are no longer current.
pub struct RecalledMemory {
    /// The result of recall; its `corrected` lists everything that was held back.
    pub recalled: RecallResult,
    /// The core blocks as they were written.
    pub core_blocks: CoreBlocks,
    /// The mood with which the persona speaks; none before the first.
    pub mood: Option<Mood>,
    /// The documents of the shared self.
    pub documents: PromptDocuments,
}

impl Runtime {
    /// Recalls for a text as a turn would at `now` (default: the present), without recent messages. Each candidate is
    /// marked with values that are no longer current; corrections in the latest messages count, although they are no memory
    /// yet.
    pub async fn remembered(
        &self,
        scope: Scope,
        text: String,
        now: Option<Timestamp>,
    ) -> Result<RecalledMemory, StoreError> {
        let (persona, user, request) = self.request(scope, text, now).await?;
        let latest = self.runtime.said_lately(&request.scope, request.now).await?;
        let scope = request.scope.clone();
        let mut remembered = self.runtime.remembered(&persona, &user, request, &latest).await?;
        self.runtime.look_in_candidates(&scope, &mut remembered.recalled).await?;
        let RecallResult { corrected, candidates, .. } = &mut remembered.recalled;
        corrected.note_candidates(candidates);
        Ok(remembered)
    }

    /// The candidates of [`Self::remembered`] that the text finds.
    pub async fn recall(
        &self,
        scope: Scope,
        text: String,
        now: Option<Timestamp>,
    ) -> Result<RecallResult, StoreError> {
        Ok(self.remembered(scope, text, now).await?.recalled)
    }

    async fn request(
        &self,
        scope: Scope,
        text: String,
        now: Option<Timestamp>,
    ) -> Result<(PersonaRecord, UserRecord, RecallRequest), StoreError> {
        let now = now.unwrap_or_else(|| self.runtime.clock().now());
        let (persona, user) =
            tokio::try_join!(self.runtime.persona_of(&scope), self.runtime.store().known_user(&scope.user),)?;
        let zone = self.runtime.zone_in(&user);
        Ok((persona, user, RecallRequest { scope, text, now, zone, window: Vec::new() }))
    }
}

impl RuntimeInner {
    /// The memories that a prompt contains: for a turn, for a proactive message, and for other programs. `said` are the messages
    /// that the prompt shows, newest last. Corrections in them are applied, and values in them that were replaced since are marked.
    ///
    /// A long text is analysed on a thread of its own, because the analysis would delay other requests of this thread.
    pub(crate) async fn remembered(
        self: &Arc<Self>,
        persona: &PersonaRecord,
        user: &UserRecord,
        request: RecallRequest,
        said: &[Message],
    ) -> Result<RecalledMemory, StoreError> {
        if request.text.len() <= SERVED_TEXT_BYTES_MAX {
            return self.remembered_on_this_thread(persona, user, request, said).await;
        }
        let (runtime, persona, user, said) = (self.clone(), persona.clone(), user.clone(), said.to_vec());
        let serving = Handle::current();
        let remembering = spawn_blocking(move || {
            serving.block_on(runtime.remembered_on_this_thread(&persona, &user, request, &said))
        });
        remembering.await.unwrap_or_else(|error| Err(StoreError::Failed(error.to_string())))
    }

    async fn remembered_on_this_thread(
        &self,
        persona: &PersonaRecord,
        user: &UserRecord,
        request: RecallRequest,
        said: &[Message],
    ) -> Result<RecalledMemory, StoreError> {
        let RecallRequest { scope, text, now, zone, .. } = request.clone();
        // What doesn't go by what comes to mind is read beside it.
        let (mut recalled, core_blocks, mood, documents) = tokio::try_join!(
            self.recall_between(persona, user, request),
            self.store().core_blocks(&scope),
            self.store().mood(&scope),
            self.shared_self(&scope, &text, said, now, &zone).map(Ok),
        )?;
        let corrected = &mut recalled.corrected;
        let mut texts = corrected::texts(&documents, &core_blocks, mood.as_ref());
        texts.extend(said.iter().map(|message| message.content.clone()));
        corrected.look_for(self.store(), &scope, texts).await?;
        corrected.note_window(said, now);
        let mood = mood.map(|mood| corrected::without_former_signal(mood.at(now), corrected));
        let documents = corrected::hold_back(documents, &core_blocks, corrected);
        Ok(RecalledMemory { recalled, core_blocks, mood, documents })
    }

    /// Reads what candidates may say that is no longer current.
    async fn look_in_candidates(&self, scope: &Scope, recalled: &mut RecallResult) -> Result<(), StoreError> {
        let texts = recalled.candidates.iter().map(|candidate| candidate.text.clone()).collect();
        recalled.corrected.look_for(self.store(), scope, texts).await
    }

    /// The recent window, behind what the user has corrected before it.
    async fn said_lately(&self, scope: &Scope, now: Timestamp) -> Result<Vec<Message>, StoreError> {
        let latest = self.latest_messages(scope, self.settings().recent_window).await?;
        self.with_corrections(scope, latest, now).await
    }

    /// The latest messages without silenced words, the oldest first.
    pub(crate) async fn latest_messages(
        &self,
        scope: &Scope,
        count: u32,
    ) -> Result<Vec<Message>, StoreError> {
        let mut latest = self.store().messages_before(scope, None, count).await?;
        latest.reverse();
        mask_silenced(self.store(), scope, latest).await
    }

    async fn recall_between(
        &self,
        persona: &PersonaRecord,
        user: &UserRecord,
        request: RecallRequest,
    ) -> Result<RecallResult, StoreError> {
        let speaker_names = SpeakerNames {
            user: user.display_name.clone().into_iter().collect(),
            persona: vec![persona.display_name.clone()],
        };
        let settings = RecallSettings { speaker_names, ..self.settings().recall.clone() };
        let meanwhile = self.changeover.serving(&request.scope);
        let embedder = meanwhile.as_deref().or(self.embedder());
        recall(self.store(), self.index(), embedder, &settings, request).await
    }
}

/// Tells the reply what came to mind.
pub(crate) fn add_remembered(input: &mut ReplyInput, remembered: &RecalledMemory) {
    let RecalledMemory {
        recalled,
        core_blocks,
        mood,
        documents: PromptDocuments { documents, periods, related, lore },
    } = remembered;
    input.core_blocks.clone_from(core_blocks);
    input.mood.clone_from(mood);
    input.documents.clone_from(documents);
    input.lore = lore.iter().map(|entry| (entry.label.clone(), entry.text.clone())).collect();
    let related = related.iter().map(|memory| (memory.label(), memory.excerpt.clone()));
    input.periods = periods.iter().cloned().chain(related).collect();
    let chosen: HashSet<NodeId> = recalled.nodes.iter().map(|scored| scored.node.id).collect();
    // A thought that the text itself brought up is not told twice.
    let fresh =
        |nodes: &[Node]| nodes.iter().filter(|node| !chosen.contains(&node.id)).cloned().collect::<Vec<_>>();
    input.recalled = recalled.nodes.iter().map(|scored| scored.node.clone()).collect();
    input.recalled.extend(fresh(&recalled.pinned.events));
    input.fulfilled.clone_from(&recalled.pinned.fulfilled);
    input.pinned_thoughts = fresh(&recalled.pinned.about_user);
    input.self_thoughts = fresh(&recalled.pinned.about_self);
    input.intentions = fresh(&recalled.pinned.intentions);
    input.expectations = fresh(&recalled.pinned.expectations);
    input.sessions.clone_from(&recalled.pinned.summaries);
    let line = |message: &Message| PassageLine {
        message_id: message.id,
        speaker: message.role,
        name: message.speaker.clone(),
        at: message.created_at,
        text: message.content.clone(),
    };
    let passage = |lines: &[Message]| Passage { lines: lines.iter().map(line).collect() };
    input.passages = recalled.passages.iter().map(|found| passage(&found.messages)).collect();
    input.corrected = recalled.corrected.clone();
    // Who remembers the whole summer has something to say of it.
    input.nothing_found = recalled.nothing_found && input.periods.is_empty();
    input.named_entities.clone_from(&recalled.entities);
    let pair =
        |(entity, other): &(Entity, Entity)| UncertainPair { entity: entity.clone(), other: other.clone() };
    input.uncertain = recalled.in_doubt.iter().map(pair).collect();
}
