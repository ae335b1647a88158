//! Corrected values: messages that state one get a dated note, nodes derived from one are left out, and a question
//! about the past finds it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::former_values::{FormerValue, FormerValues};
use super::{Candidate, CandidateKind, Doubt, FreshCorrection, RecallRequest, RecallResult};
use crate::corrections::{ReplacedQuery, ReplacedSpan, ReplacedValue, ReplacedValues};
use crate::identifiers::{EntityId, MessageId, NodeId};
use crate::messages::{Message, Role};
use crate::nodes::{Node, NodeKind};
use crate::ports::{CorrectionStore, StoreError};
use crate::scope::Scope;
use crate::text::{Utterance, Values, content_terms, correction_cue, split_sentences};

/// Maximum values that one prompt lists as no longer current, so that they never crowd out memories.
const FORMER_VALUES_SHOWN_MAX: usize = 10;
/// Share of a former value's words from which a text only repeats it. A text with other content stays.
const REPETITION_SHARE_MIN: f64 = 0.6;

/// A value that was left out of a prompt, with the places where it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OmittedValue {
    /// The memory that stated the value.
    pub node_id: NodeId,
    /// The replaced text or value.
    pub text: String,
    /// Time at which the value was replaced.
    pub until: Timestamp,
    /// The memory that is current instead.
    pub current: NodeId,
    /// Text of the memory that is current.
    pub current_text: String,
    /// True if the value was never right; otherwise it was right until then.
    pub mistaken: bool,
    /// Places where the value was left out or marked: `message`, `event`, `thought`, `intention`, `expectation`,
    /// `summary`, `description`, `mood`, `document`.
    pub places: BTreeSet<String>,
}

/// Values that recall found to be no longer current.
#[derive(Clone, Debug, Default)]
pub struct OutdatedValues {
    /// Former values that the text asks about, the earliest first.
    pub former: Vec<ReplacedValue>,
    /// Values that are no longer current, by the message that states them.
    pub messages: BTreeMap<MessageId, ReplacedValue>,
    /// Values that are no longer current, by the node that states them.
    pub nodes: BTreeMap<NodeId, ReplacedValue>,
    /// Former values in texts that people wrote. These texts are not changed.
    pub written: Vec<ReplacedValue>,
    /// Corrections that are not memories yet, the earliest first.
    pub fresh: Vec<FreshCorrection>,
    /// Values that may not be current.
    pub doubts: Vec<Doubt>,
    /// Former values that were left out.
    pub held_back: Vec<OmittedValue>,
    values: FormerValues,
    /// Values that the fresh corrections deny, in the same order.
    pub(super) fresh_values: Vec<Values>,
    spans: Vec<ReplacedSpan>,
    asks_for_the_past: bool,
}

/// Query for the former values that the recalled texts may state.
pub(super) fn query_of_recalled(request: &RecallRequest, found: &RecallResult) -> ReplacedQuery {
    let pinned = &found.pinned;
    let chosen = found.nodes.iter().map(|scored| &scored.node);
    let citing =
        chosen.clone().chain(&pinned.about_user).chain(&pinned.about_self).chain(&pinned.expectations);
    let passages = found.passages.iter().flat_map(|passage| &passage.messages).map(|message| message.seq);
    let nodes = citing.clone().chain(&pinned.intentions).chain(&pinned.events).chain(&pinned.fulfilled);
    let texts = nodes.map(|node| &node.description);
    let said = found.passages.iter().flat_map(|passage| &passage.messages);
    let texts = texts.chain(said.map(|message| &message.content));
    let texts = texts.chain(pinned.summaries.iter().filter_map(|session| session.summary.as_ref()));
    let named = found.entities.iter();
    let texts = texts.chain(
        named.flat_map(|entity| [Some(&entity.canonical_name), entity.description.as_ref()]).flatten(),
    );
    ReplacedQuery {
        sessions: pinned.summaries.iter().map(|session| session.id).collect(),
        texts: texts.chain([&request.text]).cloned().collect(),
        messages: passages.chain(request.window.iter().copied()).collect(),
        nodes: chosen.clone().chain(&pinned.events).map(|node| node.id).collect(),
        citing: citing.chain(&pinned.fulfilled).map(|node| node.seq).collect(),
        entities: found.entities.iter().map(|entity| entity.id).collect(),
    }
}

/// Removes everything from the recalled memories that depends on a value that is no longer current, and marks the
/// rest. `nodes` are those of the query that found the values.
pub(super) fn omit_former_values(
    request: &RecallRequest,
    found: &mut RecallResult,
    replaced: ReplacedValues,
    nodes: Vec<NodeId>,
) {
    let mut corrected = OutdatedValues {
        values: FormerValues::new(replaced.values),
        spans: replaced.spans,
        ..std::mem::take(&mut found.corrected)
    };
    let said: Vec<Message> = found.passages.iter().flat_map(|passage| passage.messages.clone()).collect();
    corrected.note_messages(&said);
    let outdated: BTreeMap<i64, NodeId> = replaced.outdated.into_iter().collect();
    let asks = Utterance::new(&request.text).asks_for_the_past();
    corrected.asks_for_the_past = asks;
    corrected.omit_nodes(found, &outdated);
    corrected.omit_replies(found);
    corrected.omit_summaries_and_descriptions(found, &replaced.descriptions);
    let current: BTreeSet<NodeId> = nodes.into_iter().collect();
    let is_past = |value: &&ReplacedValue| asks && !value.mistaken && current.contains(&value.current);
    let mut former: Vec<ReplacedValue> = corrected.values.iter().filter(is_past).cloned().collect();
    let said = corrected.values.values_in_text(&request.text).filter(|value| !former.contains(value));
    former.extend(said.cloned().collect::<Vec<_>>());
    former.sort_by_key(|value| (value.until, value.since));
    former.truncate(FORMER_VALUES_SHOWN_MAX);
    corrected.former = former;
    found.corrected = corrected;
}

impl OutdatedValues {
    /// Finds the former values that these texts of a scope may state.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn former_values_in_texts(
        store: &dyn CorrectionStore,
        scope: &Scope,
        texts: Vec<String>,
    ) -> Result<Self, StoreError> {
        let mut corrected = Self::default();
        corrected.find_former_values(store, scope, texts).await?;
        Ok(corrected)
    }

    /// Reads the former values that further texts may state. Call it before checking these texts.
    ///
    /// # Errors
    ///
    /// When storage fails.
    pub async fn find_former_values(
        &mut self,
        store: &dyn CorrectionStore,
        scope: &Scope,
        texts: Vec<String>,
    ) -> Result<(), StoreError> {
        let replaced =
            store.replaced_values(scope, &ReplacedQuery { texts, ..ReplacedQuery::default() }).await?;
        self.values.add(replaced.values);
        Ok(())
    }

    /// Finds for each of these messages a value that was replaced after it was sent.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn former_values_in_messages(
        store: &dyn CorrectionStore,
        scope: &Scope,
        messages: &[Message],
    ) -> Result<BTreeMap<MessageId, FormerValue>, StoreError> {
        let numbers = messages.iter().map(|message| message.seq).collect();
        let texts = messages.iter().map(|message| message.content.clone()).collect();
        let about = ReplacedQuery { messages: numbers, texts, ..ReplacedQuery::default() };
        let ReplacedValues { values, spans, .. } = store.replaced_values(scope, &about).await?;
        let mut corrected = Self { values: FormerValues::new(values), spans, ..Self::default() };
        corrected.note_messages(messages);
        let earlier = messages.iter().filter_map(|message| {
            let value = corrected.messages.get(&message.id)?;
            (message.created_at <= value.until).then(|| (message.id, FormerValue::from(value)))
        });
        Ok(earlier.collect())
    }

    /// Finds for each of these nodes if it, or a value that it states, was replaced.
    ///
    /// # Errors
    ///
    /// When storage fails.
    pub async fn former_values_in_nodes(
        store: &dyn CorrectionStore,
        scope: &Scope,
        nodes: &[Node],
    ) -> Result<BTreeMap<NodeId, FormerValue>, StoreError> {
        let about = ReplacedQuery {
            nodes: nodes.iter().map(|node| node.id).collect(),
            citing: nodes.iter().map(|node| node.seq).collect(),
            texts: nodes.iter().map(|node| node.description.clone()).collect(),
            ..ReplacedQuery::default()
        };
        let ReplacedValues { values, outdated, .. } = store.replaced_values(scope, &about).await?;
        let corrected = Self { values: FormerValues::new(values), ..Self::default() };
        let outdated = outdated.into_iter().collect();
        let former = nodes.iter().filter_map(|node| {
            let own = corrected.values.value_of_node(node.id).filter(|_| node.superseded_by.is_some());
            let value =
                own.or_else(|| corrected.former_value_behind_node(node, &outdated)).or_else(|| {
                    corrected.former_value_in_text(&node.description).filter(|value| value.current != node.id)
                })?;
            Some((node.id, FormerValue::from(value)))
        });
        Ok(former.collect())
    }

    /// Adds the stated former value to each candidate, also to those that are in no prompt.
    pub fn mark_candidates(&self, candidates: &mut [Candidate]) {
        for candidate in candidates {
            let known = match candidate.kind {
                CandidateKind::Message => self.messages.get(&MessageId(candidate.id)),
                CandidateKind::Node => self.nodes.get(&NodeId(candidate.id)),
            };
            let value = known.or_else(|| self.former_value_in_text(&candidate.text));
            let value = value.filter(|value| value.current.0 != candidate.id);
            candidate.no_longer_current = value.map(FormerValue::from);
            candidate.denied = self.correction_denying(&candidate.text, candidate.created_at).cloned();
        }
    }

    /// The values that a prompt has to list as no longer current: those that were asked about, then those that the
    /// prompt contains.
    pub fn values_to_list(&self) -> Vec<&ReplacedValue> {
        let mut values: Vec<&ReplacedValue> = Vec::new();
        let noted = self.written.iter().chain(self.messages.values()).chain(self.nodes.values());
        for value in self.former.iter().chain(noted) {
            if values.len() < FORMER_VALUES_SHOWN_MAX && !values.contains(&value) {
                values.push(value);
            }
        }
        values
    }

    /// The contradicting statement, if it is undecided which of the two is current.
    pub fn doubt_of(&self, node: NodeId) -> Option<&str> {
        self.doubts.iter().find_map(|doubt| match node {
            node if node == doubt.older => Some(doubt.newer_text.as_str()),
            node if node == doubt.newer => Some(doubt.older_text.as_str()),
            _ => None,
        })
    }

    /// The doubt about a value that a message states.
    pub fn doubt_of_message(&self, message: MessageId) -> Option<&str> {
        self.doubts.iter().find_map(|doubt| {
            let (_, is_newer) = doubt.messages.iter().find(|(id, _)| *id == message)?;
            Some(if *is_newer { doubt.older_text.as_str() } else { doubt.newer_text.as_str() })
        })
    }

    pub(super) fn note_messages(&mut self, messages: &[Message]) {
        for message in messages {
            let quoted = self.spans.iter().find(|span| span.message == message.seq);
            let by_span = quoted.and_then(|span| self.values.value_of_node(span.node));
            // A message that corrects a value names it together with the current one.
            let corrects = correction_cue(&message.content).is_some();
            let by_words = || {
                let value = self.former_value_in_text(&message.content);
                value.filter(|value| !corrects || !value.is_corrected_in(&message.content))
            };
            if let Some(value) = by_span.or_else(by_words).cloned() {
                self.record_omitted_values(&value, "message");
                self.messages.insert(message.id, value);
            }
        }
    }

    /// A former value that the text states.
    pub fn former_value_in_text(&self, text: &str) -> Option<&ReplacedValue> {
        self.values.values_in_text(text).next()
    }

    /// The text without sentences that state a former value; `None` if nothing is left.
    pub fn without_former_values(&mut self, text: &str, place: &str) -> Option<String> {
        let Some(value) = self.former_value_in_text(text).cloned() else { return Some(text.to_owned()) };
        self.record_omitted_values(&value, place);
        // A question about the past is answered with the dates instead.
        let is_wanted =
            self.asks_for_the_past && !value.mistaken && self.former.len() < FORMER_VALUES_SHOWN_MAX;
        if is_wanted && !self.former.contains(&value) {
            self.former.push(value);
        }
        let lines = text.lines().map(|line| {
            let kept = split_sentences(line)
                .into_iter()
                .filter(|sentence| self.former_value_in_text(sentence).is_none());
            let kept: Vec<&str> = kept.collect();
            if self.former_value_in_text(line).is_some() { kept.join(" ") } else { line.to_owned() }
        });
        let left = lines.collect::<Vec<_>>().join("\n").trim().to_owned();
        (!left.is_empty()).then_some(left)
    }

    /// The current name of somebody or something, if the displayed name is a former one. A place where somebody lived
    /// keeps its name.
    fn current_name<'a>(&self, name: &str, aliases: &'a [String]) -> Option<(&ReplacedValue, &'a str)> {
        let value = self.former_value_in_text(name)?;
        let is_current = |alias: &&String| value.is_corrected_in(alias) && !value.is_stated_in(alias);
        aliases.iter().find(is_current).map(|alias| (value, alias.as_str()))
    }

    /// All former values in a text, for its author: the latest change first.
    pub fn former_values_in(&self, text: &str) -> Vec<FormerValue> {
        self.values.values_in_text(text).map(FormerValue::from).collect()
    }

    /// A former value in the name or description of an entity or a node.
    pub fn former_value_in_description(
        &self,
        name: &str,
        aliases: &[String],
        description: &str,
    ) -> Option<FormerValue> {
        let by_name = self.current_name(name, aliases).map(|(value, _)| value);
        by_name.or_else(|| self.former_value_in_text(description)).map(FormerValue::from)
    }

    /// Adds the former values in a text that a person wrote.
    pub fn note_former_values_in(&mut self, text: &str) {
        let said: Vec<ReplacedValue> = self.values.values_in_text(text).cloned().collect();
        for value in said {
            self.record_omitted_values(&value, "document");
            if !self.written.contains(&value) {
                self.written.push(value);
            }
        }
    }

    fn record_omitted_values(&mut self, value: &ReplacedValue, place: &str) {
        let known = |held: &&mut OmittedValue| held.node_id == value.node && held.text == value.text;
        if let Some(held) = self.held_back.iter_mut().find(known) {
            held.places.insert(place.to_owned());
            return;
        }
        self.held_back.push(OmittedValue {
            node_id: value.node,
            text: value.text.clone(),
            until: value.until,
            current: value.current,
            current_text: value.current_text.clone(),
            mistaken: value.mistaken,
            places: BTreeSet::from([place.to_owned()]),
        });
    }

    /// The former value that a node only repeats, or that it was derived from. `outdated` are the replaced events
    /// that nodes cite, by the node's number.
    fn former_value_behind_node(
        &self,
        node: &Node,
        outdated: &BTreeMap<i64, NodeId>,
    ) -> Option<&ReplacedValue> {
        if let Some(event) = outdated.get(&node.seq) {
            return self.values.value_of_node(*event);
        }
        let is_conclusion = matches!(node.kind, NodeKind::Thought | NodeKind::Expectation);
        self.former_value_in_text(&node.description).filter(|value| {
            let is_earlier = value.current != node.id && node.created_at < value.changed_at;
            is_earlier && (is_conclusion || is_repetition_of_former(&node.description, &value.text))
        })
    }

    /// Removes nodes that only repeat a former value, and those derived from one; marks the others.
    fn omit_nodes(&mut self, found: &mut RecallResult, outdated: &BTreeMap<i64, NodeId>) {
        let mut removed: BTreeMap<NodeId, (ReplacedValue, &'static str)> = BTreeMap::new();
        let mut stays = |node: &Node| {
            if let Some(value) = self.former_value_behind_node(node, outdated) {
                removed.insert(node.id, (value.clone(), node.kind.as_str()));
                return false;
            }
            let value = self
                .former_value_in_text(&node.description)
                .filter(|value| value.current != node.id)
                .cloned();
            self.nodes.extend(value.map(|value| (node.id, value)));
            true
        };
        found.nodes.retain(|scored| stays(&scored.node));
        let pinned = &mut found.pinned;
        for list in [
            &mut pinned.about_user,
            &mut pinned.about_self,
            &mut pinned.intentions,
            &mut pinned.expectations,
            &mut pinned.events,
            &mut pinned.fulfilled,
        ] {
            list.retain(&mut stays);
        }
        for candidate in &mut found.candidates {
            let Some((value, _)) = removed.get(&NodeId(candidate.id)).filter(|_| candidate.used) else {
                continue;
            };
            candidate.used = false;
            candidate.reason =
                format!("depends on a memory that is no longer current: now \"{}\"", value.current_text);
        }
        for (value, place) in removed.into_values() {
            self.record_omitted_values(&value, place);
        }
        for value in self.nodes.values().cloned().collect::<Vec<_>>() {
            self.record_omitted_values(&value, "event");
        }
    }

    /// Removes replies of the persona that state a former value, unless the past is asked about: its own words are no
    /// evidence.
    fn omit_replies(&mut self, found: &mut RecallResult) {
        let is_shown = |message: &Message| {
            let value = self.messages.get(&message.id).filter(|_| message.role == Role::Persona);
            value.is_none_or(|value| self.asks_for_the_past && !value.mistaken)
        };
        let mut removed = BTreeSet::new();
        for passage in &mut found.passages {
            let said = passage.messages.iter().filter(|message| !is_shown(message));
            removed.extend(said.map(|message| message.id));
            passage.messages.retain(is_shown);
        }
        found.passages.retain(|passage| !passage.messages.is_empty());
        for candidate in &mut found.candidates {
            if candidate.used && removed.contains(&MessageId(candidate.id)) {
                candidate.used = false;
                "the persona repeated something that has changed since".clone_into(&mut candidate.reason);
            }
        }
        self.messages.retain(|id, _| !removed.contains(id));
    }

    /// Removes former values from summaries and descriptions, except from descriptions that a person wrote.
    fn omit_summaries_and_descriptions(&mut self, found: &mut RecallResult, descriptions: &[EntityId]) {
        for session in &mut found.pinned.summaries {
            let Some(summary) = session.summary.take() else { continue };
            let nameless =
                |value: &&ReplacedValue| value.words.has_no_name() && value.session == Some(session.id);
            let whole = self.values.iter().find(nameless).cloned();
            if let Some(value) = whole {
                self.record_omitted_values(&value, "summary");
            } else {
                session.summary = self.without_former_values(&summary, "summary");
            }
        }
        for entity in &mut found.entities {
            let current = self.current_name(&entity.canonical_name, &entity.aliases);
            if let Some(name) = current.map(|(_, name)| name.to_owned()) {
                entity.canonical_name = name;
            }
        }
        for entity in found.entities.iter_mut().filter(|entity| !entity.owner_override) {
            let Some(description) = entity.description.take() else { continue };
            if !descriptions.contains(&entity.id) {
                entity.description = self.without_former_values(&description, "description");
            }
        }
    }
}

/// Nodes that only repeat a former value, or were derived from one.
///
/// # Errors
///
/// When storage fails.
pub async fn outdated_nodes(
    store: &dyn CorrectionStore,
    scope: &Scope,
    nodes: &[Node],
) -> Result<BTreeSet<NodeId>, StoreError> {
    if nodes.is_empty() {
        return Ok(BTreeSet::new());
    }
    let citing = nodes.iter().map(|node| node.seq).collect();
    let texts = nodes.iter().map(|node| node.description.clone()).collect();
    let replaced =
        store.replaced_values(scope, &ReplacedQuery { citing, texts, ..ReplacedQuery::default() }).await?;
    let outdated = replaced.outdated.into_iter().collect();
    let corrected =
        OutdatedValues { values: FormerValues::new(replaced.values), ..OutdatedValues::default() };
    let rests = nodes.iter().filter(|node| corrected.former_value_behind_node(node, &outdated).is_some());
    Ok(rests.map(|node| node.id).collect())
}

/// True if a text only repeats a former value.
fn is_repetition_of_former(text: &str, former: &str) -> bool {
    let (terms, known) = (content_terms(text), content_terms(former));
    let shared = terms.iter().filter(|term| known.contains(*term)).count();
    shared as f64 >= REPETITION_SHARE_MIN * terms.len().max(1) as f64
}
