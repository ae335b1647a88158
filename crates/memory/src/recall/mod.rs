//! Recall: finds the memories and passages that a reply needs.
//!
//! [`recall`] has these steps: the message becomes a [`Query`] → candidates are found by words, vectors, named
//! entities, named times and evidence edges → [`score`] computes each one's score → the best are selected → verbatim
//! passages and pinned memories are added. The number of reads is bounded, whatever the past contains.
//!
//! The entry points return boxed futures, so that the unit tests of this crate don't contain all of recall.

mod query;
mod message_query;
mod speakers;
mod identity;
mod candidate_sources;
mod node_candidate;
mod candidates;
mod words;
mod word_search;
mod message_pool;
pub(crate) mod named;
mod occasions;
mod graph;
pub mod score;
mod select;
mod messages;
mod signals;
mod message_neighbours;
mod passages;
mod pinned;
mod absence;
mod corrected;
mod doubts;
mod expectations;
mod former_values;
mod fresh_corrections;
mod receipt;
mod search;
mod snippet;
mod settings;
mod silenced;

use std::time::Instant;

use futures_util::future::{BoxFuture, join_all, try_join_all};
use futures_util::try_join;
use jiff::Timestamp;
use jiff::tz::TimeZone;

pub use absence::{MESSAGE_SUPPORT_MIN, MessageFit};
pub use corrected::{OmittedValue, OutdatedValues, outdated_nodes};
pub use doubts::Doubt;
pub use former_values::FormerValue;
pub use fresh_corrections::{FreshCorrection, is_fresh_correction};
pub use identity::IdentityQuestion;
pub use message_query::MessageQuery;
pub use messages::{RankedMessage, rank_messages};
pub(crate) use named::named_entities;
pub use passages::Passage;
pub use pinned::PinnedMemories;
pub use query::{Query, Sentence};
pub use receipt::{Candidate, CandidateKind, RecallTimings};
pub use score::Score;
pub use search::{
    MessageHit, SearchHit, SearchPage, SearchPlace, SearchQuery, SearchResults, search, search_messages,
};
pub use select::ScoredNode;
pub use settings::{NodeWeights, RecallSettings, SpeakerNames};
pub use signals::{MessageWeights, Signal, Signals};
pub use silenced::mask_silenced;
pub use words::{IndexedText, Occurrences, WordStatistics};

use self::candidate_sources::SearchBreadth;
use crate::entities::Entity;
use crate::ports::{Embedder, Store, StoreError};
use crate::scope::Scope;
use crate::vector_index::VectorIndex;

/// Messages that are ranked and shown in the trace. A prompt has room for about ten; the others show a person which
/// ones were nearly chosen.
const RANKED_MESSAGES: usize = 50;

/// A request to recall memories for a text. Memories do not depend on the channel.
#[derive(Clone, Debug)]
pub struct RecallRequest {
    pub scope: Scope,
    pub text: String,
    pub now: Timestamp,
    /// The user's zone, in which "yesterday" is resolved.
    pub zone: TimeZone,
    /// Numbers of the messages in the recent window, including the new one: they are never repeated as passages.
    pub window: Vec<i64>,
}

/// The result of a recall.
#[derive(Clone, Debug, Default)]
pub struct RecallResult {
    /// The chosen nodes, best first.
    pub nodes: Vec<ScoredNode>,
    /// The chosen passages, best first.
    pub passages: Vec<Passage>,
    /// The entities that the text names.
    pub entities: Vec<Entity>,
    /// Pairs of entities that may be the same, at least one of which the text names. The persona may ask.
    pub in_doubt: Vec<(Entity, Entity)>,
    /// Parts that are in every prompt.
    pub pinned: PinnedMemories,
    /// Every candidate, nodes then messages, each best first, with the reason why it was used or not.
    pub candidates: Vec<Candidate>,
    /// Values that are no longer current, and where they were left out or marked.
    pub corrected: OutdatedValues,
    /// Match of the best memory, from 0 to 1: the highest relevance of all candidates.
    pub support: f64,
    /// True if no memory is about the text; the results are only the nearest.
    pub nothing_found: bool,
    /// Why the search used no vectors, for a person; `None` if it did.
    pub words_only: Option<String>,
    /// Durations of the steps.
    pub elapsed: RecallTimings,
}

/// Recalls memories for a message. If the embedder fails, only words are used and the result says so; if the store
/// fails, that is an error.
pub fn recall<'a>(
    store: &'a dyn Store,
    index: &'a VectorIndex,
    embedder: Option<&'a dyn Embedder>,
    settings: &'a RecallSettings,
    request: RecallRequest,
) -> BoxFuture<'a, Result<RecallResult, StoreError>> {
    Box::pin(async move {
        let started = Instant::now();
        let mut query = Query::new(&request.text, request.now, &request.zone, settings, embedder).await;
        let embed = milliseconds(started);

        let started = Instant::now();
        let occasions = occasions::days_of_occasions(store, &request).await?;
        query.question.times.extend(occasions.iter().copied());
        // Nodes, messages and pinned memories are read at the same time.
        let passages = async {
            let (scope, window) = (&request.scope, &request.window);
            let ranked =
                rank_messages(store, index, scope, &query, window, settings, RANKED_MESSAGES).await?;
            let (ranked, around) =
                passages::read_surroundings(store, scope, &request.text, ranked, settings).await?;
            let chosen = passages::choose_passages(&ranked, &around, window, settings);
            Ok((chosen, MessageFit::new(&ranked)))
        };
        let nodes = async {
            let found = try_join!(
                candidate_sources::find_leads(store, index, &request.scope, &query),
                candidate_sources::find_surroundings(store, settings, &request, &query, &occasions),
            )?;
            candidates::fetch_nodes(store, settings, &request, &query, SearchBreadth::RECALL, found).await
        };
        let (found, ((passages, messages), fit), pinned) = try_join!(
            nodes,
            passages,
            pinned::fetch_pinned(store, &request, &query, settings.half_life_days),
        )?;
        let candidates::NodeCandidates { nodes, entities, in_doubt } = found;
        let fetch = milliseconds(started);

        let started = Instant::now();
        let (nodes, mut candidates) = select::select(nodes, settings);
        let of_nodes = absence::node_support(&candidates);
        let support = of_nodes.max(fit.support);
        let nothing_found = absence::nothing_found(&query, of_nodes, fit, &nodes, settings);
        candidates.extend(messages);
        let elapsed = RecallTimings { embed, fetch, score: milliseconds(started) };
        let words_only = query.words_only;
        let mut found = RecallResult {
            nodes,
            passages,
            entities,
            in_doubt,
            pinned,
            candidates,
            corrected: OutdatedValues::default(),
            support,
            nothing_found,
            words_only,
            elapsed,
        };
        let about = corrected::query_of_recalled(&request, &found);
        let (replaced, pairs) = try_join!(
            store.replaced_values(&request.scope, &about),
            doubts::read_open_pairs(store, &request.scope, &found),
        )?;
        corrected::omit_former_values(&request, &mut found, replaced, about.nodes);
        found.corrected.doubts = doubts::doubts_about(&found, pairs);
        Ok(found)
    })
}

/// The nodes that match each of these texts, best first, without the other parts of a recall: for comparing with
/// existing memories. All are of one scope.
pub(crate) async fn recall_nodes(
    store: &dyn Store,
    index: &VectorIndex,
    embedder: Option<&dyn Embedder>,
    settings: &RecallSettings,
    requests: Vec<RecallRequest>,
) -> Result<Vec<Vec<ScoredNode>>, StoreError> {
    let Some(scope) = requests.first().map(|request| request.scope.clone()) else { return Ok(Vec::new()) };
    let query = |request: &RecallRequest| {
        let RecallRequest { text, now, zone, .. } = request.clone();
        async move { Query::new(&text, now, &zone, settings, embedder).await }
    };
    let queries = join_all(requests.iter().map(query)).await;
    let surroundings = requests.iter().zip(&queries).map(async |(request, query)| {
        let occasions = occasions::days_of_occasions(store, request).await?;
        candidate_sources::find_surroundings(store, settings, request, query, &occasions).await
    });
    let (leads, surroundings) = try_join!(
        candidate_sources::find_leads_of_each(store, index, &scope, &queries),
        try_join_all(surroundings)
    )?;
    let breadth = SearchBreadth::nearest(queries.len());
    let each = requests.iter().zip(&queries).zip(leads.into_iter().zip(surroundings));
    let found = each.map(async |((request, query), found)| {
        let found = candidates::fetch_nodes(store, settings, request, query, breadth, found).await?;
        Ok(select::select(found.nodes, settings).0)
    });
    try_join_all(found).await
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1_000.0
}
