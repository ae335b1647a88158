//! Finds candidates for a query: by its words and vectors, by the entities and times that it names, and by questions
//! about the user's identity.

use std::collections::HashSet;

use futures_util::try_join;
use jiff::Timestamp;

use super::RecallRequest;
use super::identity::identity_nodes;
use super::named::named_entities;
use super::query::Query;
use super::settings::RecallSettings;
use super::word_search::{WordHits, find_words, find_words_of_each};
use crate::entities::Entity;
use crate::identifiers::EntityId;
use crate::ports::{Corpus, EdgeLimits, Store, StoreError};
use crate::scope::Scope;
use crate::text::QueryTerm;
use crate::vector_index::{LoadedVectors, VectorIndex};

/// Rows to read when searching for nearly equal texts, for all texts together and at least for each.
const NEAREST_ROWS: usize = 120;
/// Minimum rows for each text: with fewer, the nearest one is sometimes missed.
const NEAREST_ROWS_MIN: usize = 40;
/// Nodes to consider for the named entities, in equal shares: the newest and those of the highest impact.
const LINKED_CANDIDATES: u32 = 200;
/// Maximum pairs of entities that the persona may ask about: a person answers few questions at once.
const DOUBTS_MAX: u32 = 2;
/// Nodes to consider because of their event time.
const TIME_CANDIDATES: u32 = 100;
/// Maximum times of one text to look up. Each is a query, and a message with more dates is a list.
const NAMED_TIMES_MAX: usize = 8;
/// Limits for evidence edges: a path of three steps has at most six edges, half of which are found from either end.
const EVIDENCE_EDGE_REACH: EdgeLimits = EdgeLimits { rounds: 3, nodes_max: 300, edges_max: 1_000 };

/// Breadth of the search for candidates.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchBreadth {
    /// Maximum nodes to consider for their words.
    pub(super) words: usize,
    /// Maximum nodes to consider for their meaning, for each sentence.
    pub(super) vectors: usize,
    /// Maximum nodes to read, of those with sufficient relevance; the most promising first.
    pub(super) rows: usize,
    /// Limits for evidence edges; `None` to search only for the text itself.
    pub(super) edges: Option<EdgeLimits>,
}

impl SearchBreadth {
    pub(super) const RECALL: Self =
        Self { words: 200, vectors: 50, rows: usize::MAX, edges: Some(EVIDENCE_EDGE_REACH) };
    /// Limits for finding a few memories nearly equal to a text, one of this number of texts that share the limits.
    pub(super) fn nearest(texts: usize) -> Self {
        Self {
            words: 100,
            vectors: 25,
            rows: (NEAREST_ROWS / texts.max(1)).max(NEAREST_ROWS_MIN),
            edges: None,
        }
    }
}

/// Candidates by the query's words and by its vectors.
pub(super) struct CandidateSources {
    pub(super) words: WordHits,
    pub(super) vectors: Option<LoadedVectors>,
    /// Nodes with similar vectors.
    pub(super) near: HashSet<i64>,
}

/// Looks up candidates for a query.
pub(super) async fn find_leads(
    store: &dyn Store,
    index: &VectorIndex,
    scope: &Scope,
    query: &Query,
) -> Result<CandidateSources, StoreError> {
    let SearchBreadth { words, vectors, .. } = SearchBreadth::RECALL;
    let (mut near, words) = try_join!(
        search_vectors(store, index, scope, std::slice::from_ref(query), vectors),
        find_words(store, scope, Corpus::Nodes, newest_terms(query).map(|term| (term, 1.0)), words),
    )?;
    let (vectors, near) = near.pop().unwrap_or_default();
    Ok(CandidateSources { words, vectors, near })
}

/// [`find_leads`] for several queries, limited to the nearest candidates: shared words are looked up once, and the
/// vectors are scanned once.
pub(super) async fn find_leads_of_each(
    store: &dyn Store,
    index: &VectorIndex,
    scope: &Scope,
    queries: &[Query],
) -> Result<Vec<CandidateSources>, StoreError> {
    let SearchBreadth { words, vectors, .. } = SearchBreadth::nearest(queries.len());
    let terms = queries.iter().map(newest_terms);
    let (near, words) = try_join!(
        search_vectors(store, index, scope, queries, vectors),
        find_words_of_each(store, scope, Corpus::Nodes, terms, words),
    )?;
    Ok(words
        .into_iter()
        .zip(near)
        .map(|(words, (vectors, near))| CandidateSources { words, vectors, near })
        .collect())
}

/// The terms of the newest sentence, which matters most in a long message.
fn newest_terms(query: &Query) -> impl Iterator<Item = &QueryTerm> + Send {
    query.sentences.iter().rev().flat_map(|sentence| &sentence.terms)
}

/// Further sources of candidates: named entities and times, and the identity of the user.
pub(super) struct QueryContext {
    pub(super) named: NamedEntities,
    pub(super) timely: HashSet<i64>,
    pub(super) identity: HashSet<i64>,
}

/// Looks up the context of a query. `occasions` are the days of the occasions that it mentions.
pub(super) async fn find_surroundings(
    store: &dyn Store,
    settings: &RecallSettings,
    request: &RecallRequest,
    query: &Query,
    occasions: &[(Timestamp, Timestamp)],
) -> Result<QueryContext, StoreError> {
    let (named, timely, identity) = try_join!(
        find_named_entities(store, request),
        nodes_within_named_times(store, request, settings, occasions),
        identity_nodes(store, &request.scope, query.identity),
    )?;
    Ok(QueryContext { named, timely, identity: identity.into_iter().collect() })
}

/// The vectors of the nodes, and for each query the first search among them. It runs while the store looks up words,
/// so it has to be started first.
async fn search_vectors(
    store: &dyn Store,
    index: &VectorIndex,
    scope: &Scope,
    queries: &[Query],
    wanted: usize,
) -> Result<Vec<(Option<LoadedVectors>, HashSet<i64>)>, StoreError> {
    let fingerprint = queries
        .iter()
        .filter(|query| query.vectors().next().is_some())
        .find_map(|query| query.fingerprint.as_deref());
    let Some(fingerprint) = fingerprint else { return Ok(vec![Default::default(); queries.len()]) };
    let loaded = index.load(store, scope, Corpus::Nodes, fingerprint).await?;
    let vectors: Vec<&[f32]> = queries.iter().flat_map(Query::vectors).collect();
    let mut near = loaded.nearest_to_each(&vectors, wanted).into_iter();
    let of_query = |query: &Query| {
        let count = query.vectors().count();
        let near: HashSet<i64> = near.by_ref().take(count).flatten().collect();
        ((count > 0).then(|| loaded.clone()), near)
    };
    Ok(queries.iter().map(of_query).collect())
}

/// Searches again for nodes with similar vectors.
pub(super) fn nearest_nodes(loaded: &LoadedVectors, query: &Query, wanted: usize) -> HashSet<i64> {
    let vectors: Vec<&[f32]> = query.vectors().collect();
    loaded.nearest_to_each(&vectors, wanted).into_iter().flatten().collect()
}

/// Entities that the text names.
#[derive(Default)]
pub(super) struct NamedEntities {
    pub(super) entities: Vec<Entity>,
    /// The nodes about the named entities.
    pub(super) anchored: HashSet<i64>,
    /// Pairs of entities that may be the same.
    pub(super) in_doubt: Vec<(Entity, Entity)>,
}

/// The entities that the text names, and the nodes about them.
async fn find_named_entities(
    store: &dyn Store,
    request: &RecallRequest,
) -> Result<NamedEntities, StoreError> {
    let scope = &request.scope;
    let entities = named_entities(store, scope, &request.text).await?;
    let ids: Vec<EntityId> = entities.iter().map(|entity| entity.id).collect();
    if ids.is_empty() {
        return Ok(NamedEntities::default());
    }
    let (linked, in_doubt) = try_join!(
        store.nodes_linked_to(scope, &ids, LINKED_CANDIDATES),
        store.entities_in_doubt(scope, Some(&ids), DOUBTS_MAX),
    )?;
    Ok(NamedEntities { entities, anchored: linked.into_iter().collect(), in_doubt })
}

/// Nodes whose event time is within a time that the text names, or on the day of an occasion that it mentions.
async fn nodes_within_named_times(
    store: &dyn Store,
    request: &RecallRequest,
    settings: &RecallSettings,
    occasions: &[(Timestamp, Timestamp)],
) -> Result<HashSet<i64>, StoreError> {
    let RecallRequest { text, now, zone, .. } = request;
    let mut timely = HashSet::new();
    let named = crate::text::named_times(text, *now, zone, settings.week_start);
    for (start, end) in named.into_iter().chain(occasions.iter().copied()).take(NAMED_TIMES_MAX) {
        timely.extend(store.nodes_within(&request.scope, start, end, TIME_CANDIDATES).await?);
    }
    Ok(timely)
}
