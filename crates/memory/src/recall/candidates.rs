//! Fetches the candidates of a recall once, in a bounded number of reads.
//!
//! Words and vectors lead to some two hundred and fifty numbers, most of which are not used. So an upper bound of
//! each node's score is computed first, without its row: from the phrases that the index found in it, and from the
//! codes of its vector. Rows are read for those that may enter, and exact vectors for those that the selection
//! depends on.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::RangeInclusive;
use std::sync::OnceLock;

use futures_util::future::try_join_all;
use futures_util::try_join;
use jiff::Timestamp;

use super::RecallRequest;
use super::candidate_sources::{CandidateSources, NamedEntities, QueryContext, SearchBreadth, nearest_nodes};
use super::expectations::is_overdue;
use super::graph::path_strengths;
use super::node_candidate::NodeCandidate;
use super::query::Query;
use super::score::{
    PATH_STRENGTH_WITHOUT_RELEVANCE, ScoreInputs, score_node, text_vector_relevance, vector_relevance,
};
use super::select::{ScoredEntry, undecided_nodes};
use super::settings::RecallSettings;
use super::word_search::{WordBound, WordHits};
use super::words::WeighedTerms;
use crate::entities::Entity;
use crate::nodes::NodeKind;
use crate::ports::{Corpus, FillingEdge, IndexedNode, Store, StoreError, StoredVector};
use crate::vector_index::LoadedVectors;

/// Number of best nodes below the cut to show, so that a person sees what was left out.
const FALLEN_NODES_SHOWN: usize = 30;
/// Maximum rows of one read; more are read in several parts at the same time.
const ROWS_AT_ONCE: usize = 64;
/// Maximum searches for similar vectors if some of the found rows turn out to be deleted. A large deletion may be in
/// progress; the next search then finds live rows.
const SEARCHES_MAX: usize = 3;

/// All nodes that recall considers, and the entities that the text names.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeCandidates {
    pub(super) nodes: Vec<ScoredEntry>,
    pub(super) entities: Vec<Entity>,
    pub(super) in_doubt: Vec<(Entity, Entity)>,
}

/// Fetches and scores the nodes found by words, vectors, entities, times and evidence edges.
pub(super) async fn fetch_nodes(
    store: &dyn Store,
    settings: &RecallSettings,
    request: &RecallRequest,
    query: &Query,
    breadth: SearchBreadth,
    (leads, surroundings): (CandidateSources, QueryContext),
) -> Result<NodeCandidates, StoreError> {
    let CandidateSources { words, vectors, near } = leads;
    let QueryContext { named: NamedEntities { entities, anchored, in_doubt }, timely, identity } =
        surroundings;
    let sentences: Vec<WeighedTerms<'_>> =
        query.sentences.iter().map(|sentence| words.statistics.weigh_terms(&sentence.terms)).collect();
    let bound = words.relevance_bound_of_best(&sentences);
    let words = &words;
    let nodes = BTreeMap::new();
    let mut fetch = Fetch { store, settings, request, query, breadth, words, bound, vectors, nodes };
    let sure: HashSet<i64> = anchored.union(&timely).chain(&identity).copied().collect();
    let edges = fetch.fetch_candidates(&sure, near).await?;
    let paths = fetch.follow_evidence(&edges).await?;
    for (seq, node) in &mut fetch.nodes {
        node.known.path = paths.get(seq).copied().unwrap_or(0.0);
        node.known.anchored = anchored.contains(seq);
        node.known.time_match = timely.contains(seq);
        node.known.identity = identity.contains(seq);
        if let Some(asked) = query.identity.filter(|_| node.known.identity) {
            node.known.words = node.known.words.max(asked.relevance(&node.indexed.node, node.folded_text()));
        }
    }
    let nodes = fetch.score_candidates().await?;
    Ok(NodeCandidates { nodes, entities, in_doubt })
}

/// The nodes fetched so far.
struct Fetch<'a> {
    store: &'a dyn Store,
    settings: &'a RecallSettings,
    request: &'a RecallRequest,
    query: &'a Query,
    breadth: SearchBreadth,
    words: &'a WordHits,
    bound: WordBound<'a>,
    vectors: Option<LoadedVectors>,
    nodes: BTreeMap<i64, Box<NodeCandidate>>,
}

impl Fetch<'_> {
    /// Fetches nodes that may enter by themselves, by the context (`sure`), or along the given evidence edges around
    /// them.
    async fn fetch_candidates(
        &mut self,
        sure: &HashSet<i64>,
        mut near: HashSet<i64>,
    ) -> Result<Vec<FillingEdge>, StoreError> {
        let (store, scope) = (self.store, &self.request.scope);
        let mut edges = None;
        for _ in 0..SEARCHES_MAX {
            let seqs: BTreeSet<i64> = self.words.seqs.iter().chain(sure).chain(&near).copied().collect();
            let seqs = Vec::from_iter(seqs);
            let (wanted, nearness) = self.choose_nodes_to_fetch(&seqs, sure);
            if edges.is_none() {
                // The edges are requested first, because they take longest.
                let around = async {
                    match self.breadth.edges {
                        Some(reach) => store.edges_around(scope, &seqs, reach).await,
                        None => Ok(Vec::new()),
                    }
                };
                let (found, rows) = try_join!(around, self.read_rows(&wanted, &nearness))?;
                self.nodes.extend(rows);
                edges = Some(found);
            } else {
                let new: Vec<i64> =
                    wanted.iter().copied().filter(|seq| !self.nodes.contains_key(seq)).collect();
                let rows = self.read_rows(&new, &nearness).await?;
                self.nodes.extend(rows);
            }
            let missing = wanted.iter().filter(|seq| near.contains(seq) && !self.nodes.contains_key(seq));
            if !self.drop_deleted(missing.copied().collect()).await? {
                break;
            }
            let nearest = |loaded| nearest_nodes(loaded, self.query, self.breadth.vectors);
            near = self.vectors.as_ref().map(nearest).unwrap_or_default();
        }
        Ok(edges.unwrap_or_default())
    }

    /// Reads rows, many of them in several parts at the same time: while some are being read, the words of others are
    /// compared.
    async fn read_rows(
        &self,
        seqs: &[i64],
        nearness: &HashMap<i64, RangeInclusive<f64>>,
    ) -> Result<Vec<(i64, Box<NodeCandidate>)>, StoreError> {
        let (store, scope) = (self.store, &self.request.scope);
        let parts = seqs.chunks(ROWS_AT_ONCE).map(async |part| {
            let rows = store.nodes_numbered(scope, part).await?;
            let candidate = |row: IndexedNode| (row.node.seq, Box::new(self.build_candidate(row, nearness)));
            // An expectation that was not fulfilled is not a memory of anything.
            let stale = |row: &IndexedNode| {
                row.node.kind == NodeKind::Expectation && is_overdue(&row.node, self.request.now)
            };
            Ok(rows.into_iter().filter(|row| !stale(row)).map(candidate).collect::<Vec<_>>())
        });
        Ok(try_join_all(parts).await?.into_iter().flatten().collect())
    }

    fn build_candidate(
        &self,
        indexed: IndexedNode,
        nearness: &HashMap<i64, RangeInclusive<f64>>,
    ) -> NodeCandidate {
        let seq = indexed.node.seq;
        let nearness = nearness.get(&seq).cloned().unwrap_or(0.0..=0.0);
        let words = self.bound.relevance(seq, &indexed.terms);
        let vector = f64::midpoint(*nearness.start(), *nearness.end());
        let known = ScoreInputs { vector, words, ..ScoreInputs::default() };
        NodeCandidate { indexed, vector: None, nearness, known, folded: OnceLock::new() }
    }

    /// Nodes that may enter, and the best of the others, each with the range that contains V.
    fn choose_nodes_to_fetch(
        &self,
        seqs: &[i64],
        sure: &HashSet<i64>,
    ) -> (Vec<i64>, HashMap<i64, RangeInclusive<f64>>) {
        let nearness = self.cosine_ranges(seqs);
        let at_most =
            |seq: &i64| nearness.get(seq).map_or(0.0, |v| *v.end()).max(self.bound.relevance_bound(*seq));
        let (mut wanted, mut others) = (Vec::new(), Vec::new());
        for seq in seqs {
            match sure.contains(seq) {
                true => wanted.push(*seq),
                false => others.push((at_most(seq), *seq)),
            }
        }
        others.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        let entering = others.partition_point(|(relevance, _)| *relevance >= self.settings.min_relevance);
        others.truncate(entering.saturating_add(FALLEN_NODES_SHOWN).min(self.breadth.rows));
        wanted.extend(others.into_iter().map(|(_, seq)| seq));
        wanted.sort_unstable();
        (wanted, nearness)
    }

    /// Range that contains V, for the nodes with a vector of a readable text.
    fn cosine_ranges(&self, seqs: &[i64]) -> HashMap<i64, RangeInclusive<f64>> {
        let mut nearness: HashMap<i64, RangeInclusive<f64>> = HashMap::new();
        let Some(loaded) = &self.vectors else { return nearness };
        for vector in self.query.vectors() {
            for (seq, cosine) in seqs.iter().zip(loaded.cosine_ranges(vector, seqs)) {
                let Some(cosine) = cosine else { continue };
                let [low, high] =
                    [cosine.start(), cosine.end()].map(|&cosine| vector_relevance(f64::from(cosine)));
                let known = nearness.entry(*seq).or_insert(0.0..=0.0);
                *known = known.start().max(low)..=known.end().max(high);
            }
        }
        nearness
    }

    /// Removes deleted nodes from the loaded vectors; true if there were any.
    async fn drop_deleted(&self, missing: Vec<i64>) -> Result<bool, StoreError> {
        let (Some(loaded), Some(fingerprint), false) =
            (&self.vectors, &self.query.fingerprint, missing.is_empty())
        else {
            return Ok(false);
        };
        // A missing node was replaced by a newer one, or deleted.
        let scope = &self.request.scope;
        let there = self.store.vectors_numbered(scope, Corpus::Nodes, fingerprint, &missing).await?;
        let there: HashSet<i64> = there.into_iter().map(|stored| stored.seq).collect();
        let any = there.len() < missing.len();
        loaded.remove(missing.into_iter().filter(|seq| !there.contains(seq)));
        Ok(any)
    }

    /// Follows evidence edges: fetches the connected nodes, which may enter without relevance of their own, and
    /// returns the strongest path to each node.
    async fn follow_evidence(&mut self, edges: &[FillingEdge]) -> Result<HashMap<i64, f64>, StoreError> {
        if self.breadth.edges.is_none() {
            return Ok(HashMap::new());
        }
        let strongest =
            |hits: &[i64]| path_strengths(edges, hits, self.request.now, self.settings.half_life_days);
        self.fetch_exact_vectors(self.doubtful_hits()).await?;
        let hits = self.query_hits();
        let reached = strongest(&hits);
        let fresh = reached
            .iter()
            .filter(|(_, strength)| **strength >= PATH_STRENGTH_WITHOUT_RELEVANCE)
            .map(|(seq, _)| *seq);
        let mut seqs: Vec<i64> = fresh.filter(|seq| !self.nodes.contains_key(seq)).collect();
        if seqs.is_empty() {
            return Ok(reached);
        }
        seqs.sort_unstable();
        let nearness = self.cosine_ranges(&seqs);
        let rows = self.read_rows(&seqs, &nearness).await?;
        self.nodes.extend(rows);
        self.fetch_exact_vectors(self.doubtful_hits()).await?;
        let with_reached = self.query_hits();
        Ok(if with_reached == hits { reached } else { strongest(&with_reached) })
    }

    /// Nodes that match the query according to their exact vectors, and those that do not.
    fn doubtful_hits(&self) -> Vec<i64> {
        let floor = self.settings.min_relevance;
        let doubtful = |node: &&NodeCandidate| {
            node.known.words < floor && *node.nearness.start() < floor && *node.nearness.end() >= floor
        };
        let nodes = self.nodes.values().map(|node| &**node).filter(doubtful).filter(|node| !node.is_exact());
        nodes.map(|node| node.indexed.node.seq).collect()
    }

    /// Numbers of the nodes that match the query.
    fn query_hits(&self) -> Vec<i64> {
        let relevant =
            |node: &&NodeCandidate| node.known.vector.max(node.known.words) >= self.settings.min_relevance;
        self.nodes.values().map(|node| &**node).filter(relevant).map(|node| node.indexed.node.seq).collect()
    }

    /// Fetches the exact vectors of these nodes.
    async fn fetch_exact_vectors(&mut self, seqs: Vec<i64>) -> Result<(), StoreError> {
        let Some(fingerprint) = self.query.fingerprint.as_deref().filter(|_| !seqs.is_empty()) else {
            return Ok(());
        };
        let scope = &self.request.scope;
        let stored = self.store.vectors_numbered(scope, Corpus::Nodes, fingerprint, &seqs).await?;
        let mut vectors: HashMap<i64, StoredVector> =
            stored.into_iter().map(|stored| (stored.seq, stored)).collect();
        for seq in seqs {
            let Some(node) = self.nodes.get_mut(&seq) else { continue };
            let stored = vectors.remove(&seq);
            // The readability for the model in use, which may not be the one whose vector was stored last.
            node.indexed.readability =
                stored.as_ref().map(|stored| stored.readability).or(node.indexed.readability);
            node.vector = stored.map(|stored| stored.vector);
            let exact = text_vector_relevance(self.query, node.vector.as_deref(), node.indexed.readability);
            node.known.vector = exact;
            node.nearness = exact..=exact;
        }
        Ok(())
    }

    /// Scores the nodes. Those that the selection depends on have exact vectors by then.
    async fn score_candidates(mut self) -> Result<Vec<ScoredEntry>, StoreError> {
        loop {
            let at_most = self.nodes.values().map(|node| {
                let known = ScoreInputs { vector: *node.nearness.end(), ..node.known };
                (&**node, score_node(&node.indexed.node, known, self.request.now, self.settings))
            });
            let seqs = undecided_nodes(at_most.collect(), self.settings);
            if seqs.is_empty() {
                break;
            }
            self.fetch_exact_vectors(seqs).await?;
        }
        let (now, settings): (Timestamp, _) = (self.request.now, self.settings);
        let scored = self.nodes.into_values().map(|candidate| {
            let score = score_node(&candidate.indexed.node, candidate.known, now, settings);
            ScoredEntry { candidate, score }
        });
        Ok(scored.collect())
    }
}
