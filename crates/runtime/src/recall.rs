//! What comes to mind: asked with the names of the two who talk, and handed to the reply.

use std::collections::HashSet;

use hub::{HubError, RelatedMemory};
use jiff::Timestamp;
use memory::Scope;
use memory::entities::Entity;
use memory::identifiers::NodeId;
use memory::messages::Message;
use memory::nodes::Node;
use memory::ports::{PersonaRecord, StoreError, UserRecord};
use memory::recall::{RecallRequest, RecallResult, RecallSettings, SpeakerNames, recall};
use mind::{Passage, PassageLine, ReplyInput, UncertainPair};

use crate::runtime::{Runtime, RuntimeInner};

impl Runtime {
    /// What a text brings to mind, as a turn would see it at `now` (default: the present), with an empty recent window.
    pub async fn recall(
        &self,
        scope: Scope,
        text: String,
        now: Option<Timestamp>,
    ) -> Result<RecallResult, StoreError> {
        self.runtime.ensure_known(&scope).await?;
        let zone = self.runtime.zone_of(&scope.user).await?;
        let now = now.unwrap_or_else(|| self.runtime.clock().now());
        self.runtime.recall(RecallRequest { scope, text, now, zone, window: Vec::new() }).await
    }
}

impl Runtime {
    /// What other programs wrote about a text in the shared self, as a turn would see it; see
    /// [`hub::Hub::related_memories`]. Empty without a hub.
    pub async fn related_memories(&self, scope: &Scope, text: &str) -> Result<Vec<RelatedMemory>, HubError> {
        match self.runtime.hub.get() {
            Some((hub, _)) => {
                hub.related_memories(scope, text, self.runtime.settings().recall.min_relevance).await
            }
            None => Ok(Vec::new()),
        }
    }
}

impl RuntimeInner {
    pub(crate) async fn recall(&self, request: RecallRequest) -> Result<RecallResult, StoreError> {
        let (persona, user) = tokio::try_join!(
            self.persona_of(&request.scope),
            self.store().ensure_user(&request.scope.user, request.now),
        )?;
        self.recall_between(&persona, &user, request).await
    }

    /// Like [`Life::recall`], for those who have the two available.
    pub(crate) async fn recall_between(
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
pub(crate) fn add_recalled(input: &mut ReplyInput, recalled: &RecallResult) {
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
        at: message.created_at,
        text: message.content.clone(),
    };
    let passage = |lines: &[Message]| Passage { lines: lines.iter().map(line).collect() };
    input.passages = recalled.passages.iter().map(|found| passage(&found.messages)).collect();
    input.corrected = recalled.corrected.clone();
    input.nothing_found = recalled.nothing_found;
    input.named_entities.clone_from(&recalled.entities);
    let pair =
        |(entity, other): &(Entity, Entity)| UncertainPair { entity: entity.clone(), other: other.clone() };
    input.uncertain = recalled.in_doubt.iter().map(pair).collect();
}
