//! What leads from a query to nodes: its words, its vectors, whom and what times it names, and who the user is.

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
use crate::ports::{Corpus, EdgeReach, Store, StoreError};
use crate::scope::Scope;
use crate::text::QueryTerm;
use crate::vector_index::{LoadedVectors, VectorIndex};

/// Rows that are fetched in search of what says nearly the same, for all texts together and at least for each.
const NEAREST_ROWS: usize = 120;
/// Fewest rows for each text: below that the nearest one is sometimes missed.
const NEAREST_ROWS_MIN: usize = 40;
/// Nodes that are looked at because of whom they are about, shared by all who are named: the newest and the weightiest.
const LINKED_CANDIDATES: u32 = 200;
/// Pairs of entities that the persona may ask about.
const DOUBTS_MAX: u32 = 2;
/// Nodes that are looked at because of when they happened.
const TIME_CANDIDATES: u32 = 100;
/// Times of one text that are looked up. Each is a query, and a message that names more dates is a list.
const NAMED_TIMES_MAX: usize = 8;
/// Limits for evidence edges: a path of three steps has at most six edges; half of them are met from either end.
const EVIDENCE_EDGE_REACH: EdgeReach = EdgeReach { rounds: 3, nodes_max: 300, edges_max: 1_000 };

/// Breadth of the search for candidates.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchBreadth {
    /// Nodes that are looked at for their words.
    pub(super) words: usize,
    /// Nodes that are looked at for their meaning, per sentence.
    pub(super) vectors: usize,
    /// Number of nodes that are fetched, of those whose relevance is high enough; the most promising first.
    pub(super) rows: usize,
    /// Limits for evidence edges; none if only the text itself is searched for.
    pub(super) edges: Option<EdgeReach>,
}

impl SearchBreadth {
    pub(super) const RECALL: Self =
        Self { words: 200, vectors: 50, rows: usize::MAX, edges: Some(EVIDENCE_EDGE_REACH) };
    /// Limits for a few memories that say nearly the same as a text, one of this number of texts that share what is looked at.
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
    /// Nodes whose vectors are near.
    pub(super) near: HashSet<i64>,
}

/// Looks up what leads from a query to nodes.
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

/// [`find_leads`] of each of these queries, to the nearest alone: what they share is looked up once, and the vectors are gone
/// through once.
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

/// The terms of the newest sentence: in a long message it matters most.
fn newest_terms(query: &Query) -> impl Iterator<Item = &QueryTerm> + Send {
    query.sentences.iter().rev().flat_map(|sentence| &sentence.terms)
}

/// Further sources of candidates: named entities and times, and the identity of the user.
pub(super) struct QueryContext {
    pub(super) named: NamedEntities,
    pub(super) timely: HashSet<i64>,
    pub(super) identity: HashSet<i64>,
}

/// Looks the surroundings of a query up. `occasions` are the days of those that it speaks of.
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

/// The vectors of the nodes, and for each query the first search among them: it is done while the store looks words up,
/// so it is to be begun first, or its own short question to the store waits for those.
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

/// Nodes whose vectors are near, searched for again.
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
    /// Pairs of entities that may be one.
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

/// Nodes that happened at a time that the text names, or on the day of an occasion that it speaks of.
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
