//! Search by a person: which memories hold these words, or mean them. Unlike recall it ranks by nothing but the match,
//! and it has pages.

use std::collections::HashSet;

use super::score::vector_relevance;
use super::snippet::{Marks, snippet};
use super::word_search::find_words;
use super::words::IndexedText;
use crate::nodes::{Node, NodeKind};
use crate::ports::{Corpus, Embedder, IndexedNode, Store, StoreError};
use crate::scope::Scope;
use crate::text::{QueryTerm, fold, query_terms};
use crate::vector_index::{READABILITY_MIN, VectorIndex};

/// Memories that are found by their words.
const WORD_MATCHES_MAX: usize = 2_000;
/// Memories that are found by their meaning.
const MEANT_MAX: usize = 50;
/// Nearness from which on a memory means what was asked, though it says it in other words.
const MEANT_MIN: f64 = 0.6;
/// The newest memories that are read through when the text has no word that is indexed.
const READ_THROUGH_MAX: u32 = 5_000;

/// What to look for.
#[derive(Clone, Debug)]
pub struct SearchQuery {
    /// Whose memory.
    pub scope: Scope,
    /// The words.
    pub text: String,
    /// Only these kinds.
    pub kinds: Vec<NodeKind>,
    /// Only memories with this emotion or relational tag.
    pub tag: Option<String>,
}

/// A memory that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchHit {
    /// The memory.
    pub node: Node,
    /// How well it matches, 0 to 1.
    pub score: f64,
    /// Where it matches: HTML whose only marks are `<b>`.
    pub snippet: String,
}

/// All that matches, the best first, ties by the newer. A text without anything to look for finds nothing; a missing or
/// failing embedder leaves words alone.
pub async fn search(
    store: &dyn Store,
    index: &VectorIndex,
    embedder: Option<&dyn Embedder>,
    asked: &SearchQuery,
) -> Result<Vec<SearchHit>, StoreError> {
    if asked.text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let terms = query_terms(&asked.text);
    let mut found = matching(store, index, embedder, asked, &terms).await?;
    if found.is_empty() {
        found = holding(store, asked).await?;
    }
    found.retain(|(node, _)| is_wanted(node, asked));
    found.sort_by(|(a, first), (b, second)| second.total_cmp(first).then(b.seq.cmp(&a.seq)));
    let marks = Marks::of(&terms, &asked.text);
    let found = found.into_iter().map(|(node, score)| {
        let snippet = snippet(&node.description, &marks);
        SearchHit { node, score, snippet }
    });
    Ok(found.collect())
}

/// Memories with the words of the text, and those that are near it.
async fn matching(
    store: &dyn Store,
    index: &VectorIndex,
    embedder: Option<&dyn Embedder>,
    asked: &SearchQuery,
    terms: &[QueryTerm],
) -> Result<Vec<(Node, f64)>, StoreError> {
    let near = meant(store, index, embedder, asked).await?;
    let weighted = terms.iter().map(|term| (term, 1.0));
    let words = find_words(store, &asked.scope, Corpus::Nodes, weighted, WORD_MATCHES_MAX).await?;
    let seqs: HashSet<i64> = words.seqs.iter().chain(near.iter().map(|(seq, _)| seq)).copied().collect();
    let seqs: Vec<i64> = seqs.into_iter().collect();
    let rows = if seqs.is_empty() { Vec::new() } else { store.nodes_numbered(&asked.scope, &seqs).await? };
    let score = |row: &IndexedNode| {
        let said = words.statistics.relevance(terms, &IndexedText::new(&row.terms));
        let readable = row.readability.is_some_and(|share| share >= READABILITY_MIN);
        let meant = near.iter().find(|(seq, _)| readable && *seq == row.node.seq);
        said.max(meant.map_or(0.0, |(_, nearness)| *nearness))
    };
    let scored = rows.into_iter().map(|row| {
        let score = score(&row);
        (row.node, score)
    });
    Ok(scored.filter(|(_, score)| *score > 0.0).collect())
}

async fn meant(
    store: &dyn Store,
    index: &VectorIndex,
    embedder: Option<&dyn Embedder>,
    asked: &SearchQuery,
) -> Result<Vec<(i64, f64)>, StoreError> {
    let Some(embedder) = embedder else { return Ok(Vec::new()) };
    let Ok(embedded) = embedder.embed_queries(std::slice::from_ref(&asked.text)).await else {
        return Ok(Vec::new());
    };
    let Some(query) = embedded.into_iter().next().filter(|query| query.readability >= READABILITY_MIN) else {
        return Ok(Vec::new());
    };
    let fingerprint = embedder.fingerprint();
    let near =
        index.nearest(store, &asked.scope, Corpus::Nodes, fingerprint, &query.vector, MEANT_MAX).await?;
    let near = near.into_iter().map(|(seq, cosine)| (seq, vector_relevance(f64::from(cosine))));
    Ok(near.filter(|(_, nearness)| *nearness >= MEANT_MIN).collect())
}

/// The newest memories that hold the text verbatim: for what is no indexed word, as "the" or "?!".
async fn holding(store: &dyn Store, asked: &SearchQuery) -> Result<Vec<(Node, f64)>, StoreError> {
    let wanted = fold(asked.text.trim());
    let rows = store.nodes_before(&asked.scope, &asked.kinds, None, READ_THROUGH_MAX).await?;
    let held = rows.into_iter().filter(|node| fold(&node.description).contains(&wanted));
    Ok(held.map(|node| (node, 1.0)).collect())
}

fn is_wanted(node: &Node, asked: &SearchQuery) -> bool {
    let tagged = asked.tag.as_deref().is_none_or(|tag| {
        node.emotion_tags.iter().any(|own| own == tag)
            || node.relational_tags.iter().any(|own| own.as_str() == tag)
    });
    tagged && asked.kinds.contains(&node.kind)
}
