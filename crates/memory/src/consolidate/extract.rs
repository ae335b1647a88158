//! Phase B: extracts memories with quotes as evidence, in one transaction.

use std::cell::LazyCell;
use std::collections::BTreeSet;

use futures_util::future::try_join_all;
use futures_util::{TryFutureExt, try_join};

use super::entities::{KnownEntities, NamedEntities};
use super::evidence::{CheckedEvent, EvidenceSources, check};
use super::known::{folded_names_of_people, is_remembered};
use super::merge::{ComparedEvent, MERGE_COSINE_MIN, has_same_content};
use super::pairs::NewMemory;
use super::reask::{add_second_answer, merge_answers};
use super::vocatives::without_vocatives;
use super::{ConsolidateError, ConsolidationEvent, Consolidator, Participants, event_time, trace};
use crate::entities::{fold_name, is_named_in_text};
use crate::forget::{ForgottenSpan, are_quotes_forgotten, is_forgotten, without_forgotten};
use crate::identifiers::{EntityId, NodeId, RejectedId};
use crate::messages::Message;
use crate::mood::Mood;
use crate::nodes::{Evidence, NewNode, RejectedMemory};
use crate::ports::{
    CommitOutcome, Corpus, Embedding, EvidenceFailure, Extraction, ExtractionCommit, ExtractionInput,
    MentionMerge, ProposedEvent, RefusedEvent,
};
use crate::sessions::Session;
use crate::text;

/// Maximum events of one session.
const EVENTS_MAX: usize = 3;
/// Number of existing nodes to compare a new event with, to find a repetition. It is nearly always the nearest; two
/// more allow for one of another subject or kind.
const MERGE_CANDIDATES: usize = 3;
/// Maximum length of a session's summary, in characters. Five summaries are in every prompt.
const SUMMARY_LENGTH_MAX: usize = 400;

/// Events that passed the checks, and those that failed.
struct CheckedExtraction {
    accepted: Vec<CheckedEvent>,
    rejected: Vec<RejectedMemory>,
    answer: Extraction,
    /// The session's messages, verbatim.
    messages: Vec<Message>,
    /// Spans of the session's messages that were forgotten.
    forgotten: Vec<ForgottenSpan>,
    /// The text of all messages of the session.
    said: String,
}

impl Consolidator<'_> {
    /// Extracts memories from a session and commits them. Returns the trace of the phase, or `None` if another
    /// process committed it.
    pub(super) async fn extract(
        &self,
        session: &Session,
        messages: Vec<Message>,
        parties: &Participants,
    ) -> Result<Option<serde_json::Value>, ConsolidateError> {
        let started = self.clock.now();
        let sifted = self.ask_model(session, messages, parties).await?;
        let named = self.name_entities(session, &sifted.answer, &sifted.said).await?;
        let notes = trace::ModelNotes::from_answer(&sifted.answer);
        let commit = self.build_commit(session, sifted, &named, parties).await?;
        if self.store.commit_extraction(commit.clone()).await? != CommitOutcome::Committed {
            return Ok(None);
        }
        let detail = trace::extraction_json(&commit, &named.resolved_entities(), &notes, started);
        self.publish_extraction(session, commit, named).await?;
        Ok(Some(detail))
    }

    /// Asks the model, checks every quote, and asks once more about those that failed.
    async fn ask_model(
        &self,
        session: &Session,
        messages: Vec<Message>,
        parties: &Participants,
    ) -> Result<CheckedExtraction, ConsolidateError> {
        let forgotten = self.store.forgotten_spans(session.id).await?;
        let shown = without_forgotten(messages.clone(), &forgotten);
        let said = shown.iter().map(|message| message.content.as_str()).collect::<Vec<_>>().join("\n");
        let (known_nodes, entities, core_blocks, recalled, remembered) = try_join!(
            self.known_nodes(session, &messages, parties),
            self.known_entities(session, &shown).map_err(ConsolidateError::from),
            self.store.core_blocks(&session.scope).map_err(ConsolidateError::from),
            self.recalled_texts(&messages).map_err(ConsolidateError::from),
            self.store.remembered_of_session(session.id).map_err(ConsolidateError::from),
        )?;
        let KnownEntities { known_entities, entities_in_doubt } = entities;
        let mut input = ExtractionInput {
            persona_name: parties.persona_name.clone(),
            core_blocks,
            messages: shown,
            known_entities,
            entities_in_doubt,
            known_nodes,
            zone: parties.zone.clone(),
            failures: Vec::new(),
        };
        let mut answer = self.mind.extract(input.clone()).await?;
        let first = check_quotes_of_all(&mut answer, &input, &messages, &recalled);
        let failures: Vec<EvidenceFailure> = first.iter().flat_map(|c| c.failures.clone()).collect();
        let (mut accepted, failed): (Vec<_>, Vec<_>) =
            first.into_iter().partition(CheckedEvent::has_only_valid_quotes);
        let mut lost = Vec::new();
        if !failures.is_empty() {
            input.failures = failures;
            let second = match self.mind.extract(input.clone()).await {
                Ok(mut second) => {
                    let checked = check_quotes_of_all(&mut second, &input, &messages, &recalled);
                    add_second_answer(&mut answer, second);
                    checked
                }
                Err(error) => {
                    tracing::warn!(session = %session.id, "the request for better evidence failed: {}", error.log_description());
                    Vec::new()
                }
            };
            lost = merge_answers(&mut accepted, failed, second);
        }
        // An event that the second answer corrected needs no decision of a person.
        answer.refused.retain(|refused| {
            !accepted.iter().any(|checked| checked.event.description == refused.description)
        });
        let refused = answer.refused.drain(..).map(|refused| self.refused_memory(session, refused));
        let mut rejected: Vec<RejectedMemory> = refused.collect();
        rejected.extend(lost.iter().map(|checked| self.rejection(session, checked)));
        rejected.retain(|refused| !are_quotes_forgotten(&refused.evidence, &messages, &forgotten));
        accepted.retain(|checked| !is_remembered(checked, &remembered));
        accepted.retain(|checked| !is_forgotten(&checked.evidence, &forgotten));
        remove_unwanted_names(&mut answer, &input, &messages, &accepted);
        accepted.sort_by_key(|checked| std::cmp::Reverse(checked.event.emotional_impact.unsigned_abs()));
        accepted.truncate(EVENTS_MAX);
        for checked in &mut accepted {
            if let Some(note) =
                event_time::correct_event_time(checked, &messages, &input.zone, self.recall.week_start)
            {
                tracing::debug!(session = %session.id, "{note}");
            }
        }
        Ok(CheckedExtraction { accepted, rejected, answer, messages, forgotten, said })
    }

    fn rejection(&self, session: &Session, checked: &CheckedEvent) -> RejectedMemory {
        let at = self.clock.now();
        RejectedMemory {
            id: RejectedId(self.ids.next(at)),
            session_id: session.id,
            description: checked.event.description.clone(),
            emotional_impact: Some(f64::from(checked.event.emotional_impact)),
            evidence: checked.proposed_quotes(),
            reason: checked.rejection_reason(),
            created_at: at,
            proposal: checked.to_proposal(),
        }
    }

    fn refused_memory(&self, session: &Session, refused: RefusedEvent) -> RejectedMemory {
        let at = self.clock.now();
        RejectedMemory {
            id: RejectedId(self.ids.next(at)),
            session_id: session.id,
            description: refused.description,
            emotional_impact: refused.emotional_impact,
            evidence: refused.evidence,
            reason: refused.reason,
            created_at: at,
            proposal: refused.proposal,
        }
    }

    async fn build_commit(
        &self,
        session: &Session,
        sifted: CheckedExtraction,
        named: &NamedEntities,
        parties: &Participants,
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
        commit.identities = named.identities.clone();
        let mood = sifted.answer.mood.map(|signal| {
            Mood::from_signal(&signal.mood, signal.energy, signal.last_user_signal.as_deref(), at)
        });
        let about = sifted.accepted.iter().map(|checked| self.entities_of(session, checked, named));
        let (near, about, is_recent) = try_join!(
            self.near_events(session, &embeddings),
            try_join_all(about).map_err(ConsolidateError::from),
            self.is_recent(session).map_err(ConsolidateError::from),
        )?;
        commit.mood = mood.filter(|_| is_recent);
        commit.summary = sifted.answer.summary.map(|text| text.chars().take(SUMMARY_LENGTH_MAX).collect());
        let mut used: Vec<Evidence> =
            sifted.accepted.iter().flat_map(|checked| checked.evidence.clone()).collect();
        used.extend(sifted.forgotten.iter().map(|span| Evidence {
            message_id: span.message_id,
            quote: String::new(),
            start: span.start,
            end: span.end,
        }));
        let mut supersedes = Vec::new();
        let found = near.into_iter().zip(about);
        for ((checked, embedding), (near, about)) in sifted.accepted.into_iter().zip(embeddings).zip(found) {
            let entities = about.iter().map(|hit| hit.entity.id).collect();
            if let Some(node_id) =
                self.find_repeated(session, &checked, embedding.as_ref(), &entities, near).await?
            {
                let merged = new_event(self.new_node_id(at), checked, embedding);
                commit.mentions.push(MentionMerge { node_id, merged });
                continue;
            }
            supersedes.push(checked.event.supersedes.clone());
            let node = new_event(self.new_node_id(at), checked, embedding);
            commit.links.extend(about.into_iter().map(|hit| (node.id, hit.named)));
            commit.nodes.push(node);
        }
        let new: Vec<NewMemory<'_>> = commit
            .nodes
            .iter()
            .zip(supersedes)
            .map(|(node, supersedes)| NewMemory { node, supersedes })
            .collect();
        commit.pairs = self.choose_pairs(session, &new, &sifted.messages, &used, parties).await?;
        Ok(commit)
    }

    /// For each new event the existing nodes that are similar enough to mean the same, with their cosines; empty if
    /// the event has no usable vector.
    async fn near_events(
        &self,
        session: &Session,
        embeddings: &[Option<Embedding>],
    ) -> Result<Vec<Vec<(i64, f32)>>, ConsolidateError> {
        let readable = |embedding: &&Embedding| embedding.readability >= super::merge::READABILITY_MIN;
        let readable: Vec<Option<&Embedding>> =
            embeddings.iter().map(|embedding| embedding.as_ref().filter(readable)).collect();
        let vectors: Vec<&[f32]> = readable.iter().flatten().map(|known| known.vector.as_slice()).collect();
        let Some(embedder) = self.embedder else { return Ok(vec![Vec::new(); embeddings.len()]) };
        if vectors.is_empty() {
            return Ok(vec![Vec::new(); embeddings.len()]);
        }
        let loaded =
            self.index.load(self.store, &session.scope, Corpus::Nodes, embedder.fingerprint()).await?;
        let found = loaded.exactly_nearest(self.store, &vectors, MERGE_COSINE_MIN, MERGE_CANDIDATES).await?;
        let mut found = found.into_iter();
        Ok(readable.iter().map(|known| known.and_then(|_| found.next()).unwrap_or_default()).collect())
    }

    /// Finds an older event that certainly means the same, among the most similar ones.
    async fn find_repeated(
        &self,
        session: &Session,
        checked: &CheckedEvent,
        embedding: Option<&Embedding>,
        entities: &BTreeSet<EntityId>,
        near: Vec<(i64, f32)>,
    ) -> Result<Option<NodeId>, ConsolidateError> {
        let Some(embedding) = embedding.filter(|_| !near.is_empty() && checked.event.supersedes.is_empty())
        else {
            return Ok(None);
        };
        let seqs: Vec<i64> = near.iter().map(|hit| hit.0).collect();
        let new = ComparedEvent {
            description: &checked.event.description,
            emotional_impact: checked.event.emotional_impact,
            event_time: checked.event.event_time,
            entities: entities.clone(),
            readability: embedding.readability,
        };
        for older in self.store.nodes_numbered(&session.scope, &seqs).await? {
            let linked = self.store.entities_of_nodes(&[older.node.id]).await?;
            let mention = ComparedEvent {
                description: &older.node.description,
                emotional_impact: older.node.emotional_impact,
                event_time: older.node.event_time,
                entities: linked.into_iter().map(|(_, entity)| entity).collect(),
                readability: older.readability.unwrap_or(0.0),
            };
            let cosine = near.iter().find(|hit| hit.0 == older.node.seq).map_or(0.0, |hit| hit.1);
            let is_current = older.node.superseded_by.is_none();
            if is_current && older.node.kind == checked.event.kind && has_same_content(&new, &mention, cosine)
            {
                return Ok(Some(older.node.id));
            }
        }
        Ok(None)
    }

    async fn publish_extraction(
        &self,
        session: &Session,
        commit: ExtractionCommit,
        named: NamedEntities,
    ) -> Result<(), ConsolidateError> {
        let scope = &session.scope;
        for node in commit.nodes {
            (self.formed)(ConsolidationEvent::Event {
                scope: scope.clone(),
                session_id: session.id,
                node: Box::new(node),
                said_at: session.last_message_at,
                at: commit.at,
            });
        }
        for entity in self.entities_with_certain_identity(session, named).await? {
            (self.formed)(ConsolidationEvent::Entity { scope: scope.clone(), entity: Box::new(entity) });
        }
        if let Some(mood) = commit.mood {
            (self.formed)(ConsolidationEvent::Mood { scope: scope.clone(), mood });
        }
        Ok(())
    }
}

/// Looks up the quotes of all events. An event may only replace memories that were in the model's prompt.
fn check_quotes_of_all(
    answer: &mut Extraction,
    input: &ExtractionInput,
    messages: &[Message],
    recalled: &[String],
) -> Vec<CheckedEvent> {
    let people = folded_names_of_people(answer, input);
    let grounds = EvidenceSources { messages, recalled, people: &people };
    let shown = |id: &NodeId| input.known_nodes.iter().any(|node| node.id == *id);
    let event = |mut event: ProposedEvent| {
        event.supersedes.retain(shown);
        check(event, grounds)
    };
    answer.events.drain(..).map(event).collect()
}

/// Removes names that only address somebody, and names that occur only in forgotten text, unless they are known or
/// part of a memory.
fn remove_unwanted_names(
    answer: &mut Extraction,
    input: &ExtractionInput,
    messages: &[Message],
    accepted: &[CheckedEvent],
) {
    let descriptions: Vec<String> =
        accepted.iter().map(|checked| fold_name(&checked.event.description)).collect();
    let known = |name: &str| {
        let is_name = |known: &String| fold_name(known) == name;
        input
            .known_entities
            .iter()
            .any(|entity| is_name(&entity.canonical_name) || entity.aliases.iter().any(is_name))
    };
    let stays = |name: &str| known(name) || descriptions.iter().any(|text| is_named_in_text(text, name));
    let folded = |messages: &[Message]| -> Vec<String> {
        messages.iter().map(|message| fold_name(&message.content)).collect()
    };
    let shown = LazyCell::new(|| folded(&input.messages));
    let said = LazyCell::new(|| folded(messages));
    answer.mentioned_entities.retain(|entity| {
        let names = std::iter::once(&entity.canonical_name).chain(&entity.aliases);
        let names: Vec<String> = names.map(|name| fold_name(name)).collect();
        let stand_in =
            |texts: &[String]| texts.iter().any(|text| names.iter().any(|name| is_named_in_text(text, name)));
        names.iter().any(|name| stays(name)) || stand_in(&shown) || !stand_in(&said)
    });
    let mentioned = std::mem::take(&mut answer.mentioned_entities);
    answer.mentioned_entities = without_vocatives(mentioned, &input.messages, &input.persona_name, stays);
}

fn new_event(id: NodeId, checked: CheckedEvent, embedding: Option<Embedding>) -> NewNode {
    let CheckedEvent { event, evidence, .. } = checked;
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
