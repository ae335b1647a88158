//! Search by a user: which memories and messages hold these words, or mean them. Unlike recall it ranks by nothing but the match,
//! and it has pages.

use std::collections::{HashMap, HashSet};

use super::score::vector_relevance;
use super::snippet::{Marks, snippet};
use super::word_search::find_words;
use super::words::{IndexedText, WordStatistics};
use crate::messages::Message;
use crate::nodes::{Node, NodeKind};
use crate::ports::{Corpus, Embedder, IndexedMessage, IndexedNode, Store, StoreError};
use crate::scope::Scope;
use crate::text::{QueryTerm, fold, query_terms};
use crate::vector_index::{READABILITY_MIN, VectorIndex};

/// Rows that are found by their words.
const WORD_MATCHES_MAX: usize = 2_000;
/// Rows that are found by their meaning.
const MEANT_MAX: usize = 50;
/// Nearness from which on a text means what was asked, though it says it in other words.
const MEANT_MIN: f64 = 0.6;
/// The newest rows that are read through when the text has no word that is indexed.
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

/// A message that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageHit {
    /// The message.
    pub message: Message,
    /// How well it matches, 0 to 1.
    pub score: f64,
    /// Where it matches: HTML whose only marks are `<b>`.
    pub snippet: String,
}

/// All memories that match, the best first, ties by the newer. A text without anything to look for finds nothing; a
/// missing or failing embedder leaves words alone.
pub async fn search(
    store: &dyn Store,
    index: &VectorIndex,
    embedder: Option<&dyn Embedder>,
    asked: &SearchQuery,
) -> Result<Vec<SearchHit>, StoreError> {
    let sought = TextSearch::new(store, index, embedder, &asked.scope, &asked.text);
    let mut found: Vec<(Node, f64)> = match sought.matches(Corpus::Nodes).await? {
        Some(matches) => {
            let rows = store.nodes_numbered(&asked.scope, &matches.seqs).await?;
            let score = |row: IndexedNode| {
                let score = matches.score(row.node.seq, &row.terms, row.readability, &sought.terms);
                (row.node, score)
            };
            rows.into_iter().map(score).filter(|(_, score)| *score > 0.0).collect()
        }
        None => Vec::new(),
    };
    if found.is_empty() && sought.has_text() {
        let rows = store.nodes_before(&asked.scope, &asked.kinds, None, READ_THROUGH_MAX).await?;
        found.extend(rows.into_iter().filter(|node| sought.is_in(&node.description)).map(|node| (node, 1.0)));
    }
    found.retain(|(node, _)| is_wanted(node, asked));
    found.sort_by(|(a, first), (b, second)| second.total_cmp(first).then(b.seq.cmp(&a.seq)));
    let marks = Marks::of(&sought.terms, &asked.text);
    let found = found.into_iter().map(|(node, score)| {
        let snippet = snippet(&node.description, &marks);
        SearchHit { node, score, snippet }
    });
    Ok(found.collect())
}

/// All messages of both sides that match, as [`search`] finds memories.
pub async fn search_messages(
    store: &dyn Store,
    index: &VectorIndex,
    embedder: Option<&dyn Embedder>,
    scope: &Scope,
    text: &str,
) -> Result<Vec<MessageHit>, StoreError> {
    let sought = TextSearch::new(store, index, embedder, scope, text);
    let mut found: Vec<(Message, f64)> = match sought.matches(Corpus::Messages).await? {
        Some(matches) => {
            let rows = store.messages_numbered(scope, &matches.seqs).await?;
            let score = |row: IndexedMessage| {
                let score = matches.score(row.message.seq, &row.terms, row.readability, &sought.terms);
                (row.message, score)
            };
            rows.into_iter().map(score).filter(|(_, score)| *score > 0.0).collect()
        }
        None => Vec::new(),
    };
    if found.is_empty() && sought.has_text() {
        let rows = store.messages_before(scope, None, READ_THROUGH_MAX).await?;
        found.extend(
            rows.into_iter().filter(|message| sought.is_in(&message.content)).map(|message| (message, 1.0)),
        );
    }
    found.sort_by(|(a, first), (b, second)| second.total_cmp(first).then(b.seq.cmp(&a.seq)));
    let marks = Marks::of(&sought.terms, text);
    let found = found.into_iter().map(|(message, score)| {
        let snippet = snippet(&message.content, &marks);
        MessageHit { message, score, snippet }
    });
    Ok(found.collect())
}

/// One search, for memories or for messages.
struct TextSearch<'a> {
    store: &'a dyn Store,
    index: &'a VectorIndex,
    embedder: Option<&'a dyn Embedder>,
    scope: &'a Scope,
    text: &'a str,
    /// The text, trimmed and folded.
    folded: String,
    terms: Vec<QueryTerm>,
}

/// Rows with the words of the text, and those that are near it.
struct Matches {
    seqs: Vec<i64>,
    statistics: WordStatistics,
    near: HashMap<i64, f64>,
}

impl Matches {
    fn score(&self, seq: i64, terms: &str, readability: Option<f32>, wanted: &[QueryTerm]) -> f64 {
        let said = self.statistics.relevance(wanted, &IndexedText::new(terms));
        let readable = readability.is_some_and(|share| share >= READABILITY_MIN);
        let meant = self.near.get(&seq).filter(|_| readable);
        said.max(meant.copied().unwrap_or(0.0))
    }
}

impl<'a> TextSearch<'a> {
    fn new(
        store: &'a dyn Store,
        index: &'a VectorIndex,
        embedder: Option<&'a dyn Embedder>,
        scope: &'a Scope,
        text: &'a str,
    ) -> Self {
        Self { store, index, embedder, scope, text, folded: fold(text.trim()), terms: query_terms(text) }
    }

    fn has_text(&self) -> bool {
        !self.text.trim().is_empty()
    }

    /// Whether a text holds what is looked for verbatim: for what is not an indexed word, as "the" or "?!".
    fn is_in(&self, text: &str) -> bool {
        fold(text).contains(&self.folded)
    }

    /// None if no row matches.
    async fn matches(&self, corpus: Corpus) -> Result<Option<Matches>, StoreError> {
        if !self.has_text() {
            return Ok(None);
        }
        let near = self.meant(corpus).await?;
        let weighted = self.terms.iter().map(|term| (term, 1.0));
        let words = find_words(self.store, self.scope, corpus, weighted, WORD_MATCHES_MAX).await?;
        let seqs: HashSet<i64> = words.seqs.iter().chain(near.keys()).copied().collect();
        let seqs: Vec<i64> = seqs.into_iter().collect();
        Ok((!seqs.is_empty()).then_some(Matches { seqs, statistics: words.statistics, near }))
    }

    async fn meant(&self, corpus: Corpus) -> Result<HashMap<i64, f64>, StoreError> {
        let Some(embedder) = self.embedder else { return Ok(HashMap::new()) };
        let Ok(embedded) = embedder.embed_queries(&[self.text.to_owned()]).await else {
            return Ok(HashMap::new());
        };
        let Some(query) = embedded.into_iter().next().filter(|query| query.readability >= READABILITY_MIN)
        else {
            return Ok(HashMap::new());
        };
        let fingerprint = embedder.fingerprint();
        let near =
            self.index.nearest(self.store, self.scope, corpus, fingerprint, &query.vector, MEANT_MAX).await?;
        let near = near.into_iter().map(|(seq, cosine)| (seq, vector_relevance(f64::from(cosine))));
        Ok(near.filter(|(_, nearness)| *nearness >= MEANT_MIN).collect())
    }
}

fn is_wanted(node: &Node, asked: &SearchQuery) -> bool {
    let tagged = asked.tag.as_deref().is_none_or(|tag| {
        node.emotion_tags.iter().any(|own| own == tag)
            || node.relational_tags.iter().any(|own| own.as_str() == tag)
    });
    tagged && asked.kinds.contains(&node.kind)
}
