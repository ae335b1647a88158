//! What recall looks at: fetched once, in a bounded number of questions to the store.

use std::collections::{BTreeSet, HashMap, HashSet};

use jiff::Timestamp;

use super::RecallRequest;
use super::expectations::is_overdue;
use super::graph::walk;
use super::named::named_entities;
use super::query::Query;
use super::score::{Circumstances, text_vector_relevance, text_word_relevance};
use super::settings::RecallSettings;
use super::words::{IndexedText, WordStatistics, find_words};
use crate::entities::Entity;
use crate::nodes::NodeKind;
use crate::ports::{Corpus, FillingEdge, IndexedNode, Store, StoreError, StoredVector};
use crate::vector_index::VectorIndex;

/// Nodes that are looked at for their words.
const WORD_CANDIDATES: usize = 200;
/// Nodes that are looked at for their meaning, per sentence.
const VECTOR_CANDIDATES: usize = 50;
/// Nodes that are looked at because of whom they are about.
const LINKED_CANDIDATES: u32 = 100;
/// Nodes that are looked at because of when they happened.
const TIME_CANDIDATES: u32 = 100;
/// Evidence edges fetched per round.
const EDGES_MAX: u32 = 1_000;
/// Rounds of following edges. A path of three steps has at most six edges; half of them are met from either end.
const EDGE_ROUNDS: usize = 3;
/// Nodes whose edges are followed in one round.
const FRONTIER_MAX: usize = 300;

/// A node with all that its score needs.
#[derive(Clone, Debug)]
pub(super) struct NodeCandidate {
    pub(super) indexed: IndexedNode,
    pub(super) vector: Option<Vec<f32>>,
    pub(super) known: Circumstances,
}

/// All nodes that recall looks at, and whom the text names.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeCandidates {
    pub(super) nodes: Vec<NodeCandidate>,
    pub(super) entities: Vec<Entity>,
}

/// Fetches the nodes that words, vectors, entities, times and evidence edges lead to.
pub(super) async fn fetch_nodes(
    store: &dyn Store,
    index: &VectorIndex,
    settings: &RecallSettings,
    request: &RecallRequest,
    query: &Query,
) -> Result<NodeCandidates, StoreError> {
    let scope = &request.scope;
    // Of a long message the newest sentence matters most.
    let terms = query.sentences.iter().rev().flat_map(|sentence| &sentence.terms);
    let words = find_words(store, scope, Corpus::Nodes, terms, WORD_CANDIDATES).await?;
    let near = nearest(store, index, request, query).await?;
    let entities = named_entities(store, scope, &request.text).await?;
    let anchored = linked_to(store, request, &entities).await?;
    let timely = within_named_times(store, request).await?;

    let seqs: BTreeSet<i64> =
        words.seqs.iter().chain(&near).chain(&anchored).chain(&timely).copied().collect();
    let mut fetch = Fetch { store, request, query, statistics: &words.statistics, nodes: HashMap::new() };
    fetch.load(seqs).await?;
    let edges = fetch.follow_edges(settings).await?;
    let hits = fetch.hits(settings);
    let paths = walk(&edges, &hits, request.now, settings.half_life_days);
    let mut nodes: Vec<NodeCandidate> = fetch.nodes.into_values().collect();
    for node in &mut nodes {
        let seq = node.indexed.node.seq;
        node.known.path = paths.get(&seq).copied().unwrap_or(0.0);
        node.known.anchored = anchored.contains(&seq);
        node.known.time_match = timely.contains(&seq);
    }
    Ok(NodeCandidates { nodes, entities })
}

async fn nearest(
    store: &dyn Store,
    index: &VectorIndex,
    request: &RecallRequest,
    query: &Query,
) -> Result<HashSet<i64>, StoreError> {
    let mut near = HashSet::new();
    let Some(fingerprint) = &query.fingerprint else { return Ok(near) };
    for vector in query.vectors() {
        let found = index
            .nearest(store, &request.scope, Corpus::Nodes, fingerprint, vector, VECTOR_CANDIDATES)
            .await?;
        near.extend(found.into_iter().map(|(seq, _)| seq));
    }
    Ok(near)
}

async fn linked_to(
    store: &dyn Store,
    request: &RecallRequest,
    entities: &[Entity],
) -> Result<HashSet<i64>, StoreError> {
    if entities.is_empty() {
        return Ok(HashSet::new());
    }
    let ids: Vec<_> = entities.iter().map(|entity| entity.id).collect();
    Ok(store.nodes_linked_to(&request.scope, &ids, LINKED_CANDIDATES).await?.into_iter().collect())
}

async fn within_named_times(store: &dyn Store, request: &RecallRequest) -> Result<HashSet<i64>, StoreError> {
    let mut timely = HashSet::new();
    for (start, end) in crate::text::named_times(&request.text, request.now, &request.zone) {
        timely.extend(store.nodes_within(&request.scope, start, end, TIME_CANDIDATES).await?);
    }
    Ok(timely)
}

/// The nodes loaded so far.
struct Fetch<'a> {
    store: &'a dyn Store,
    request: &'a RecallRequest,
    query: &'a Query,
    statistics: &'a WordStatistics,
    nodes: HashMap<i64, NodeCandidate>,
}

impl Fetch<'_> {
    /// Loads rows and vectors and computes both relevances.
    async fn load(&mut self, seqs: BTreeSet<i64>) -> Result<(), StoreError> {
        let seqs: Vec<i64> = seqs.into_iter().filter(|seq| !self.nodes.contains_key(seq)).collect();
        if seqs.is_empty() {
            return Ok(());
        }
        let scope = &self.request.scope;
        let mut vectors: HashMap<i64, StoredVector> = HashMap::new();
        if let Some(fingerprint) =
            self.query.fingerprint.as_deref().filter(|_| self.query.vectors().next().is_some())
        {
            let stored = self.store.vectors_numbered(scope, Corpus::Nodes, fingerprint, &seqs).await?;
            vectors.extend(stored.into_iter().map(|stored| (stored.seq, stored)));
        }
        let mut nodes = self.store.nodes_numbered(scope, &seqs).await?;
        // What was expected and never came is no memory of anything.
        nodes.retain(|indexed| {
            indexed.node.kind != NodeKind::Expectation || !is_overdue(&indexed.node, self.request.now)
        });
        for mut indexed in nodes {
            let stored = vectors.remove(&indexed.node.seq);
            // That of the model that is asked, which may not be the one whose vector was written last.
            indexed.readability = stored.as_ref().map(|stored| stored.readability).or(indexed.readability);
            let vector = stored.map(|stored| stored.vector);
            let text = IndexedText::new(&indexed.terms);
            let known = Circumstances {
                vector: text_vector_relevance(self.query, vector.as_deref(), indexed.readability),
                words: text_word_relevance(self.query, self.statistics, &text),
                ..Circumstances::default()
            };
            self.nodes.insert(indexed.node.seq, NodeCandidate { indexed, vector, known });
        }
        Ok(())
    }

    /// Numbers of the nodes that the query itself hits.
    fn hits(&self, settings: &RecallSettings) -> Vec<i64> {
        let relevant =
            |node: &&NodeCandidate| node.known.vector.max(node.known.words) >= settings.min_relevance;
        self.nodes.values().filter(relevant).map(|node| node.indexed.node.seq).collect()
    }

    /// Fetches the evidence edges around the nodes, and loads what lies one step from a hit.
    async fn follow_edges(&mut self, settings: &RecallSettings) -> Result<Vec<FillingEdge>, StoreError> {
        let mut edges: Vec<FillingEdge> = Vec::new();
        let mut followed: HashSet<i64> = HashSet::new();
        let mut frontier: Vec<i64> = self.nodes.keys().copied().collect();
        for _ in 0..EDGE_ROUNDS {
            frontier.sort_unstable_by(|a, b| b.cmp(a));
            frontier.truncate(FRONTIER_MAX);
            if frontier.is_empty() {
                break;
            }
            followed.extend(&frontier);
            let found = self.store.filling_edges(&self.request.scope, &frontier, EDGES_MAX).await?;
            let ends: BTreeSet<i64> =
                found.iter().flat_map(|edge| [edge.thought_seq, edge.event_seq]).collect();
            frontier = ends.into_iter().filter(|seq| !followed.contains(seq)).collect();
            edges.extend(found);
        }
        edges.sort_unstable_by_key(|edge| (edge.thought_seq, edge.event_seq));
        edges.dedup();
        let reached = walk_one_step(&edges, &self.hits(settings), self.request.now, settings);
        self.load(reached).await?;
        Ok(edges)
    }
}

/// Nodes that a fresh enough evidence path leads to, so that they may enter without relevance of their own.
fn walk_one_step(
    edges: &[FillingEdge],
    hits: &[i64],
    now: Timestamp,
    settings: &RecallSettings,
) -> BTreeSet<i64> {
    let reached = walk(edges, hits, now, settings.half_life_days);
    reached
        .into_iter()
        .filter(|(_, strength)| *strength >= super::score::PATH_WAIVER)
        .map(|(seq, _)| seq)
        .collect()
}
