//! Search by a user: finds memories and messages by words or meaning. Unlike recall it ranks only by the match, and
//! has pages.

use std::collections::{HashMap, HashSet};

use futures_util::future::BoxFuture;

use super::score::vector_relevance;
use super::snippet::{MarkedTerms, snippet};
use super::word_search::find_words;
use crate::messages::Message;
use crate::nodes::{Node, NodeKind};
use crate::ports::{Corpus, Embedder, IndexedMessage, IndexedNode, Phrase, PhraseCounts, Store, StoreError};
use crate::scope::Scope;
use crate::text::{QueryTerm, fold, index_terms, query_terms};
use crate::vector_index::{READABILITY_MIN, VectorIndex};

/// Maximum rows found by their words: a page shows 20, and nobody turns a hundred pages.
const WORD_MATCHES_MAX: usize = 2_000;
/// Maximum rows found by their meaning.
const ROWS_BY_MEANING_MAX: usize = 50;
/// Minimum similarity of a text with the same meaning in other words.
const MEANING_NEARNESS_MIN: f64 = 0.6;
/// Maximum newest rows to scan for a text without content words; for memories, of each kind.
const READ_THROUGH_MAX: u32 = 5_000;

/// A search by a user.
#[derive(Clone, Debug)]
pub struct SearchQuery {
    pub scope: Scope,
    pub text: String,
    pub kinds: Vec<NodeKind>,
    /// Finds only memories with this emotion or relational tag.
    pub tag: Option<String>,
}

/// Position of a match in the results: its score, then its row number, both descending.
pub type SearchPlace = (f64, i64);

/// Selects a page of the matches.
#[derive(Clone, Copy, Debug)]
pub struct SearchPage {
    /// Position after which the page begins.
    pub behind: Option<SearchPlace>,
    /// Number of results before this page.
    pub skipped: usize,
    pub limit: usize,
}

/// A page of what was found.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchResults<T> {
    /// Number of all matches.
    pub total: usize,
    /// The matches of the page, best first, ties by the newer.
    pub hits: Vec<T>,
    /// Position of the last match of the page, if there are more.
    pub next: Option<SearchPlace>,
}

impl<T> Default for SearchResults<T> {
    fn default() -> Self {
        Self { total: 0, hits: Vec::new(), next: None }
    }
}

/// A memory found by a search.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchHit {
    pub node: Node,
    /// Match with the query, from 0 to 1.
    pub score: f64,
    /// The matching passage, as HTML whose only tags are `<b>`.
    pub snippet: String,
}

/// A message found by a search.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageHit {
    pub message: Message,
    /// Match with the query, from 0 to 1.
    pub score: f64,
    /// The matching passage, as HTML whose only tags are `<b>`.
    pub snippet: String,
}

/// A page of matching memories. A text with nothing to search for finds nothing; without a working embedder only
/// words are used. Whole rows are read only for the page.
pub fn search<'a>(
    store: &'a dyn Store,
    index: &'a VectorIndex,
    embedder: Option<&'a dyn Embedder>,
    asked: &'a SearchQuery,
    page: &'a SearchPage,
) -> BoxFuture<'a, Result<SearchResults<SearchHit>, StoreError>> {
    Box::pin(async move {
        let sought = TextSearch::new(store, index, embedder, &asked.scope, &asked.text);
        let mut found = sought.find_matches(Corpus::Nodes).await?;
        found.retain(|found| found.kind.is_some_and(|kind| asked.kinds.contains(&kind)));
        if let Some(tag) = asked.tag.as_deref() {
            let seqs: Vec<i64> = found.iter().map(|found| found.seq).collect();
            let rows = store.nodes_numbered(&asked.scope, &seqs).await?;
            let tagged: HashSet<i64> =
                rows.iter().filter(|row| is_tagged(&row.node, tag)).map(|row| row.node.seq).collect();
            found.retain(|found| tagged.contains(&found.seq));
        }
        let (page, seqs) = UnreadPage::from_matches(found, page);
        let marks = MarkedTerms::from_terms(&sought.terms, &asked.text);
        let rows = store.nodes_numbered(&asked.scope, &seqs).await?;
        let hits = rows.into_iter().map(|IndexedNode { node, .. }| {
            let snippet = snippet(&node.description, &marks);
            (node.seq, move |score| SearchHit { node, score, snippet })
        });
        Ok(page.with_rows(hits))
    })
}

/// A page of the messages of both sides that match, as [`search`] finds memories.
pub fn search_messages<'a>(
    store: &'a dyn Store,
    index: &'a VectorIndex,
    embedder: Option<&'a dyn Embedder>,
    scope: &'a Scope,
    text: &'a str,
    page: &'a SearchPage,
) -> BoxFuture<'a, Result<SearchResults<MessageHit>, StoreError>> {
    Box::pin(async move {
        let sought = TextSearch::new(store, index, embedder, scope, text);
        let (page, seqs) = UnreadPage::from_matches(sought.find_matches(Corpus::Messages).await?, page);
        let marks = MarkedTerms::from_terms(&sought.terms, text);
        let rows = store.messages_numbered(scope, &seqs).await?;
        let hits = rows.into_iter().map(|IndexedMessage { message, .. }| {
            let snippet = snippet(&message.content, &marks);
            (message.seq, move |score| MessageHit { message, score, snippet })
        });
        Ok(page.with_rows(hits))
    })
}

/// A row that matches.
struct MatchingRow {
    seq: i64,
    score: f64,
    kind: Option<NodeKind>,
}

/// A page whose rows are not read yet.
struct UnreadPage {
    total: usize,
    matches: Vec<MatchingRow>,
    next: Option<SearchPlace>,
}

impl UnreadPage {
    /// Creates the page, with the numbers of its rows.
    fn from_matches(mut found: Vec<MatchingRow>, wanted: &SearchPage) -> (Self, Vec<i64>) {
        found.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.seq.cmp(&a.seq)));
        let total = found.len();
        let is_behind = |found: &MatchingRow| {
            wanted
                .behind
                .is_none_or(|(score, seq)| score.total_cmp(&found.score).then(seq.cmp(&found.seq)).is_gt())
        };
        let mut rest = found.into_iter().filter(is_behind).skip(wanted.skipped);
        let matches: Vec<MatchingRow> = rest.by_ref().take(wanted.limit).collect();
        let next = rest.next().and(matches.last()).map(|last| (last.score, last.seq));
        let seqs = matches.iter().map(|found| found.seq).collect();
        (Self { total, matches, next }, seqs)
    }

    /// The page with its rows, which may be in any order. Deleted rows are left out.
    fn with_rows<T, F: FnOnce(f64) -> T>(self, rows: impl Iterator<Item = (i64, F)>) -> SearchResults<T> {
        let mut rows: HashMap<i64, F> = rows.collect();
        let hit = |found: &MatchingRow| Some(rows.remove(&found.seq)?(found.score));
        let hits = self.matches.iter().filter_map(hit).collect();
        SearchResults { total: self.total, hits, next: self.next }
    }
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

    /// Rows that match the text by words or meaning; if there are none, rows whose words begin like it. A text
    /// without content words, such as "the" or "?!", is searched in the newest rows directly.
    async fn find_matches(&self, corpus: Corpus) -> Result<Vec<MatchingRow>, StoreError> {
        if self.folded.is_empty() {
            return Ok(Vec::new());
        }
        let near = self.rows_by_meaning(corpus).await?;
        let weighted = self.terms.iter().map(|term| (term, 1.0));
        let words = find_words(self.store, self.scope, corpus, weighted, WORD_MATCHES_MAX).await?;
        let seqs: HashSet<i64> = words.seqs.iter().chain(near.keys()).copied().collect();
        let weighed = words.statistics.weigh_terms(&self.terms);
        let phrases = weighed.phrases();
        let counted = weighed.relevance_from_counts(&phrases);
        let score = |row: &PhraseCounts| {
            let said = counted.relevance(&row.counts);
            said.max(near.get(&row.seq).copied().unwrap_or_default())
        };
        let mut found = self.result_rows(corpus, seqs.into_iter().collect(), &phrases, score).await?;
        found.retain(|found| found.score > 0.0);
        if found.is_empty() {
            let terms: Vec<String> = index_terms(&self.folded).split(' ').map(str::to_owned).collect();
            let seqs = if self.terms.is_empty() {
                self.store.rows_containing(self.scope, corpus, &self.folded, READ_THROUGH_MAX).await?
            } else {
                let most = u32::try_from(WORD_MATCHES_MAX).unwrap_or(u32::MAX);
                self.store.rows_beginning(self.scope, corpus, &Phrase(terms), most).await?
            };
            found = self.result_rows(corpus, seqs, &[], |_| 1.0).await?;
        }
        Ok(found)
    }

    async fn result_rows(
        &self,
        corpus: Corpus,
        mut seqs: Vec<i64>,
        phrases: &[Phrase],
        score: impl Fn(&PhraseCounts) -> f64 + Send,
    ) -> Result<Vec<MatchingRow>, StoreError> {
        if seqs.is_empty() {
            return Ok(Vec::new());
        }
        // In order, so that neighbouring rows are read together.
        seqs.sort_unstable();
        let rows = self.store.phrase_counts(self.scope, corpus, &seqs, phrases).await?;
        let found = |row: PhraseCounts| MatchingRow { seq: row.seq, score: score(&row), kind: row.kind };
        Ok(rows.into_iter().map(found).collect())
    }

    /// Rows with a similar meaning and their similarity; without rows that the model can't read.
    async fn rows_by_meaning(&self, corpus: Corpus) -> Result<HashMap<i64, f64>, StoreError> {
        let Some(embedder) = self.embedder else { return Ok(HashMap::new()) };
        let Ok(embedded) = embedder.embed_queries(&[self.text.to_owned()]).await else {
            return Ok(HashMap::new());
        };
        let Some(query) = embedded.into_iter().next().filter(|query| query.readability >= READABILITY_MIN)
        else {
            return Ok(HashMap::new());
        };
        let fingerprint = embedder.fingerprint();
        let near = self
            .index
            .nearest(self.store, self.scope, corpus, fingerprint, &query.vector, ROWS_BY_MEANING_MAX)
            .await?;
        let near = near.into_iter().map(|(seq, cosine)| (seq, vector_relevance(f64::from(cosine))));
        let mut near: HashMap<i64, f64> =
            near.filter(|(_, nearness)| *nearness >= MEANING_NEARNESS_MIN).collect();
        if !near.is_empty() {
            let seqs: Vec<i64> = near.keys().copied().collect();
            let readable = self.readability(corpus, &seqs).await?;
            near.retain(|seq, _| readable.get(seq).is_some_and(|share| *share >= READABILITY_MIN));
        }
        Ok(near)
    }

    async fn readability(&self, corpus: Corpus, seqs: &[i64]) -> Result<HashMap<i64, f32>, StoreError> {
        Ok(match corpus {
            Corpus::Nodes => {
                let rows = self.store.nodes_numbered(self.scope, seqs).await?.into_iter();
                rows.filter_map(|row| Some((row.node.seq, row.readability?))).collect()
            }
            Corpus::Messages => {
                let rows = self.store.messages_numbered(self.scope, seqs).await?.into_iter();
                rows.filter_map(|row| Some((row.message.seq, row.readability?))).collect()
            }
        })
    }
}

fn is_tagged(node: &Node, tag: &str) -> bool {
    node.emotion_tags.iter().any(|own| own == tag)
        || node.relational_tags.iter().any(|own| own.as_str() == tag)
}
