//! Phase B: what is worth remembering, proven by the user's own words, in one transaction.

use std::collections::BTreeSet;

use super::evidence::{Checked, check};
use super::merge::{Mention, says_the_same};
use super::second_answer::{reconcile, supplement};
use super::{ConsolidateError, Consolidator, Formed, Parties, trace};
use crate::entities::{Entity, EntityKind, MergeStatus, fold_name, name_stands_in};
use crate::identifiers::{EntityId, NodeId, RejectedId};
use crate::messages::{Message, Role};
use crate::mood::Mood;
use crate::nodes::{NewNode, Node, RejectedMemory};
use crate::ports::{
    CommitOutcome, Corpus, Embedding, EvidenceFailure, Extraction, ExtractionCommit, ExtractionInput,
    MentionMerge, MentionedEntity, NewEntity, ProposedEvent, RefusedEvent, Supersession,
};
use crate::recall::{RecallRequest, recall};
use crate::sessions::Session;
use crate::text;

/// Events that one session may leave.
const EVENTS_MAX: usize = 3;
/// Known entities that the model is shown.
const KNOWN_ENTITIES_MAX: u32 = 60;
/// Existing nodes that the model is shown as what it may replace.
const KNOWN_NODES_MAX: usize = 10;
/// Existing nodes that a new event is compared with for a repeated mention.
const MERGE_CANDIDATES: usize = 3;
/// Entities among which a namesake of another kind is looked for, the last changed.
const NAMESAKES_LOOKED_AT: u32 = 1_000;
/// Longest summary of a session, in characters.
const SUMMARY_LENGTH_MAX: usize = 400;

/// What passed the checks and what did not.
struct Sifted {
    accepted: Vec<Checked>,
    rejected: Vec<RejectedMemory>,
    answer: Extraction,
}

/// The session's entities, known or new.
#[derive(Default)]
struct Named {
    /// By folded name; namesakes of different kinds share one.
    by_name: Vec<(String, Entity)>,
    new: Vec<NewEntity>,
    aliases: Vec<(EntityId, String, String)>,
}

impl Named {
    /// An entity that this session has already named so.
    fn same(&self, folded: &[String], kind: EntityKind) -> Option<&Entity> {
        let named = self.by_name.iter().find(|(name, e)| folded.contains(name) && kinds_agree(e.kind, kind));
        named.map(|(_, entity)| entity)
    }

    /// Every entity once, with how it was found, for the trace.
    fn resolved(&self) -> Vec<(Entity, &'static str)> {
        let mut resolved: Vec<(Entity, &'static str)> = Vec::new();
        for (_, entity) in &self.by_name {
            if !resolved.iter().any(|(known, _)| known.id == entity.id) {
                let is_new = self.new.iter().any(|new| new.id == entity.id);
                resolved.push((entity.clone(), if is_new { "new" } else { "alias" }));
            }
        }
        resolved
    }
}

impl Consolidator<'_> {
    pub(super) async fn extract(
        &self,
        session: &Session,
        messages: Vec<Message>,
        parties: &Parties,
    ) -> Result<(), ConsolidateError> {
        let started = self.clock.now();
        let known = self.known_nodes(session, &messages, parties).await?;
        let sifted = self.ask(session, messages, parties, known).await?;
        let named = self.name_entities(session, &sifted.answer.mentioned_entities).await?;
        let notes = sifted.answer.notes.clone();
        let commit = self.compose(session, sifted, &named).await?;
        if self.store.commit_extraction(commit.clone()).await? == CommitOutcome::Committed {
            let detail = trace::extraction(&commit, &named.resolved(), &notes, started);
            self.note_phase(session.id, 'b', detail).await;
            self.announce(session, commit, named);
        }
        Ok(())
    }

    /// The nearest existing memories: what the session may repeat or replace.
    async fn known_nodes(
        &self,
        session: &Session,
        messages: &[Message],
        parties: &Parties,
    ) -> Result<Vec<Node>, ConsolidateError> {
        let said: Vec<&str> =
            messages.iter().filter(|m| m.role == Role::User).map(|m| m.content.as_str()).collect();
        let request = RecallRequest {
            scope: session.scope.clone(),
            text: said.join("\n"),
            now: self.clock.now(),
            zone: parties.zone.clone(),
            window: Vec::new(),
        };
        let recalled = recall(self.store, self.index, self.embedder, self.recall, request).await?;
        Ok(recalled.nodes.into_iter().map(|scored| scored.node).take(KNOWN_NODES_MAX).collect())
    }

    /// Asks, checks every quote, and asks once more about what failed.
    async fn ask(
        &self,
        session: &Session,
        messages: Vec<Message>,
        parties: &Parties,
        known_nodes: Vec<Node>,
    ) -> Result<Sifted, ConsolidateError> {
        let mut input = ExtractionInput {
            persona_name: parties.persona_name.clone(),
            core_blocks: self.store.core_blocks(&session.scope).await?,
            messages,
            known_entities: self.store.entities(&session.scope, KNOWN_ENTITIES_MAX).await?,
            known_nodes,
            zone: parties.zone.clone(),
            failures: Vec::new(),
        };
        let mut answer = self.mind.extract(input.clone()).await?;
        let first = check_all(&mut answer, &input);
        let failures: Vec<EvidenceFailure> = first.iter().flat_map(|c| c.failures.clone()).collect();
        let (mut accepted, failed): (Vec<_>, Vec<_>) = first.into_iter().partition(Checked::holds_entirely);
        let mut lost = Vec::new();
        if !failures.is_empty() {
            input.failures = failures;
            let second = match self.mind.extract(input.clone()).await {
                Ok(mut second) => {
                    let checked = check_all(&mut second, &input);
                    supplement(&mut answer, second);
                    checked
                }
                Err(error) => {
                    tracing::warn!(session = %session.id, "evidence could not be asked for again: {error}");
                    Vec::new()
                }
            };
            lost = reconcile(&mut accepted, failed, second);
        }
        // What was put right in the second answer needs no person any more.
        answer.refused.retain(|refused| {
            !accepted.iter().any(|checked| checked.event.description == refused.description)
        });
        let refused = answer.refused.drain(..).map(|refused| self.refusal(session, refused));
        let mut rejected: Vec<RejectedMemory> = refused.collect();
        rejected.extend(lost.iter().map(|checked| self.rejection(session, checked)));
        accepted.sort_by_key(|checked| std::cmp::Reverse(checked.event.emotional_impact.unsigned_abs()));
        accepted.truncate(EVENTS_MAX);
        Ok(Sifted { accepted, rejected, answer })
    }

    fn rejection(&self, session: &Session, checked: &Checked) -> RejectedMemory {
        let at = self.clock.now();
        RejectedMemory {
            id: RejectedId(self.ids.next(at)),
            session_id: session.id,
            description: checked.event.description.clone(),
            emotional_impact: Some(f64::from(checked.event.emotional_impact)),
            evidence: checked.proposed_quotes(),
            reason: checked.reason(),
            created_at: at,
        }
    }

    fn refusal(&self, session: &Session, refused: RefusedEvent) -> RejectedMemory {
        let at = self.clock.now();
        RejectedMemory {
            id: RejectedId(self.ids.next(at)),
            session_id: session.id,
            description: refused.description,
            emotional_impact: refused.emotional_impact,
            evidence: refused.evidence,
            reason: refused.reason,
            created_at: at,
        }
    }

    /// First tier of L5: an exact alias names a known entity of the same kind; every other name is new.
    async fn name_entities(
        &self,
        session: &Session,
        mentioned: &[MentionedEntity],
    ) -> Result<Named, ConsolidateError> {
        let at = self.clock.now();
        let mut named = Named::default();
        for mention in mentioned {
            let names: Vec<&String> =
                std::iter::once(&mention.canonical_name).chain(&mention.aliases).collect();
            let folded: Vec<String> = names.iter().map(|name| fold_name(name)).collect();
            let known = match named.same(&folded, mention.kind) {
                Some(entity) => Some(entity.clone()),
                None => self.known_entity(session, &folded, mention.kind).await?,
            };
            let entity = known.unwrap_or_else(|| {
                let id = EntityId(self.ids.next(at));
                let canonical_name = mention.canonical_name.clone();
                named.new.push(NewEntity { id, canonical_name: canonical_name.clone(), kind: mention.kind });
                Entity {
                    id,
                    canonical_name,
                    kind: mention.kind,
                    description: None,
                    owner_override: false,
                    merge_status: MergeStatus::Confirmed,
                    merge_target: None,
                    aliases: Vec::new(),
                    created_at: at,
                    updated_at: at,
                }
            });
            for (name, folded) in names.into_iter().zip(folded) {
                named.aliases.push((entity.id, name.clone(), folded.clone()));
                named.by_name.push((folded, entity.clone()));
            }
        }
        Ok(named)
    }

    /// The stored entity of this kind that goes by one of the names. A name leads to one entity only; one of another
    /// kind may go by it too, and is then known by its canonical name.
    async fn known_entity(
        &self,
        session: &Session,
        folded: &[String],
        kind: EntityKind,
    ) -> Result<Option<Entity>, ConsolidateError> {
        let hits = self.store.entities_named(&session.scope, folded).await?;
        if hits.is_empty() {
            return Ok(None);
        }
        if let Some(hit) = hits.into_iter().find(|hit| kinds_agree(hit.entity.kind, kind)) {
            return Ok(Some(hit.entity));
        }
        let all = self.store.entities(&session.scope, NAMESAKES_LOOKED_AT).await?;
        let goes_by = |entity: &Entity| folded.contains(&fold_name(&entity.canonical_name));
        Ok(all.into_iter().find(|entity| kinds_agree(entity.kind, kind) && goes_by(entity)))
    }

    async fn compose(
        &self,
        session: &Session,
        sifted: Sifted,
        named: &Named,
    ) -> Result<ExtractionCommit, ConsolidateError> {
        let at = self.clock.now();
        let texts = sifted.accepted.iter().map(|checked| checked.event.description.clone()).collect();
        let embeddings = self.embed(texts).await;
        let mut commit = self.trivial_commit(session);
        commit.trivial = false;
        commit.at = at;
        commit.rejected = sifted.rejected;
        commit.entities = named.new.clone();
        commit.aliases = named.aliases.clone();
        commit.mood = sifted.answer.mood.map(|signal| {
            Mood::from_signal(&signal.mood, signal.energy, signal.last_user_signal.as_deref(), at)
        });
        commit.summary = sifted.answer.summary.map(|text| text.chars().take(SUMMARY_LENGTH_MAX).collect());
        for (checked, embedding) in sifted.accepted.into_iter().zip(embeddings) {
            let entities = entities_of(&checked, named);
            if let Some(node_id) = self.repeats(session, &checked, embedding.as_ref(), &entities).await? {
                let Checked { event, evidence, .. } = checked;
                commit.mentions.push(MentionMerge { node_id, evidence, description: event.description });
                continue;
            }
            let supersedes = checked.event.supersedes.clone();
            let node = new_event(self.new_node_id(at), checked, embedding);
            commit.links.extend(entities.into_iter().map(|entity| (node.id, entity)));
            commit
                .supersessions
                .extend(supersedes.into_iter().map(|older| Supersession { older, newer: node.id }));
            commit.nodes.push(node);
        }
        Ok(commit)
    }

    /// The older event that already says the same, if there is one beyond doubt.
    async fn repeats(
        &self,
        session: &Session,
        checked: &Checked,
        embedding: Option<&Embedding>,
        entities: &BTreeSet<EntityId>,
    ) -> Result<Option<NodeId>, ConsolidateError> {
        let (Some(embedder), Some(embedding)) = (self.embedder, embedding) else { return Ok(None) };
        if embedding.readability < super::merge::READABILITY_MIN || !checked.event.supersedes.is_empty() {
            return Ok(None);
        }
        let near = self
            .index
            .nearest(
                self.store,
                &session.scope,
                Corpus::Nodes,
                embedder.fingerprint(),
                &embedding.vector,
                MERGE_CANDIDATES,
            )
            .await?;
        let seqs: Vec<i64> = near.iter().map(|hit| hit.0).collect();
        let new = Mention {
            description: &checked.event.description,
            emotional_impact: checked.event.emotional_impact,
            event_time: checked.event.event_time,
            entities: entities.clone(),
            readability: embedding.readability,
        };
        for older in self.store.nodes_numbered(&session.scope, &seqs).await? {
            let linked = self.store.entities_of_nodes(&[older.node.id]).await?;
            let mention = Mention {
                description: &older.node.description,
                emotional_impact: older.node.emotional_impact,
                event_time: older.node.event_time,
                entities: linked.into_iter().map(|(_, entity)| entity).collect(),
                readability: older.readability.unwrap_or(0.0),
            };
            let cosine = near.iter().find(|hit| hit.0 == older.node.seq).map_or(0.0, |hit| hit.1);
            if older.node.kind == checked.event.kind && says_the_same(&new, &mention, cosine) {
                return Ok(Some(older.node.id));
            }
        }
        Ok(None)
    }

    fn announce(&self, session: &Session, commit: ExtractionCommit, named: Named) {
        let scope = &session.scope;
        for node in commit.nodes {
            (self.formed)(Formed::Event {
                scope: scope.clone(),
                session_id: session.id,
                node: Box::new(node),
                at: commit.at,
            });
        }
        let mut told = BTreeSet::new();
        for (_, entity) in named.by_name {
            if entity.merge_status != MergeStatus::Uncertain && told.insert(entity.id) {
                (self.formed)(Formed::Entity { scope: scope.clone(), entity: Box::new(entity) });
            }
        }
        if let Some(mood) = commit.mood {
            (self.formed)(Formed::Mood { scope: scope.clone(), mood });
        }
    }
}

/// Looks up the quotes of all events. What an event may replace is among what the model was shown, whoever answers.
fn check_all(answer: &mut Extraction, input: &ExtractionInput) -> Vec<Checked> {
    let shown = |id: &NodeId| input.known_nodes.iter().any(|node| node.id == *id);
    let event = |mut event: ProposedEvent| {
        event.supersedes.retain(shown);
        check(event, &input.messages)
    };
    answer.events.drain(..).map(event).collect()
}

/// Entities that the event names, or whose name stands in its text or in its quotes.
fn entities_of(checked: &Checked, named: &Named) -> BTreeSet<EntityId> {
    let mut text = fold_name(&checked.event.description);
    for evidence in &checked.evidence {
        text.push('\n');
        text.push_str(&fold_name(&evidence.quote));
    }
    let listed: BTreeSet<String> = checked.event.entities.iter().map(|name| fold_name(name)).collect();
    let about = |name: &String| listed.contains(name) || name_stands_in(&text, name);
    named.by_name.iter().filter(|(name, _)| about(name)).map(|(_, entity)| entity.id).collect()
}

/// Whether both may be one: the same kind, or one that nobody could tell.
fn kinds_agree(a: EntityKind, b: EntityKind) -> bool {
    a == b || a == EntityKind::Other || b == EntityKind::Other
}

fn new_event(id: NodeId, checked: Checked, embedding: Option<Embedding>) -> NewNode {
    let Checked { event, evidence, .. } = checked;
    NewNode {
        id,
        kind: event.kind,
        terms: text::index_terms(&event.description),
        description: event.description,
        emotional_impact: event.emotional_impact,
        emotion_tags: event.emotion_tags,
        relational_tags: event.relational_tags,
        subject: event.subject,
        event_time: event.event_time,
        evidence,
        filling: Vec::new(),
        embedding,
    }
}
