//! Search of nodes by words and by meaning.

use std::collections::{BTreeSet, HashMap};

use memory::Scope;
use memory::entities::{fold_name, is_named_in_text};
use memory::ports::{Embedding, StoreError};
use memory::text::content_terms;
use memory::vector_index::{READABILITY_MIN, cosine};
use schemars::JsonSchema;
use serde::Deserialize;
use uuid::Uuid;

use super::ports::GraphNode;
use super::responses::{NodeHit, NodeSearchResponse};
use super::service::Graph;

/// Default minimum score and default number of nodes of a search.
const SCORE_MIN: f64 = 0.3;
const RESULTS_DEFAULT: usize = 10;
/// Score of a label that contains the query or is contained in it. It is below 1, the score of an equal label.
const NAMED_SCORE: f64 = 0.9;

/// Arguments of the tool `graph_node_search`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeSearch {
    /// The text to search for.
    #[serde(default)]
    pub query: Option<String>,
    /// A vector by the hub's own model, compared instead of the query's.
    #[serde(default)]
    pub query_embedding: Option<Vec<f32>>,
    /// Finds nodes of this type only.
    #[serde(default, rename = "type")]
    pub node_type: Option<String>,
    /// Minimum score, from 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0), extend("default" = SCORE_MIN))]
    pub min_score: Option<f64>,
    /// Maximum number of nodes.
    #[schemars(range(min = 1, max = 100), extend("default" = RESULTS_DEFAULT))]
    pub limit: Option<usize>,
}

impl Graph {
    /// Returns the best nodes. A node's score is the larger one of those by words and by vector.
    pub async fn search_nodes(
        &self,
        scope: &Scope,
        asked: NodeSearch,
    ) -> Result<NodeSearchResponse, StoreError> {
        let query = asked.query.as_deref().map(str::trim).filter(|query| !query.is_empty());
        let looked_for = self.query_vector(query, asked.query_embedding.as_deref()).await;
        let mut vectors: HashMap<Uuid, Embedding> = HashMap::new();
        if looked_for.is_some()
            && let Some(fingerprint) = self.fingerprint().await
        {
            self.embed_missing(scope).await?;
            vectors.extend(self.store.graph_vectors(scope, &fingerprint).await?);
        }
        let mut nodes = self.store.graph_nodes(scope).await?;
        nodes.retain(|node| {
            !node.deleted && asked.node_type.as_ref().is_none_or(|wanted| *wanted == node.node_type)
        });
        let words = query.map(Words::new);
        let min_score = asked.min_score.unwrap_or(SCORE_MIN);
        let mut results: Vec<NodeHit> = nodes
            .into_iter()
            .map(|node| {
                let by_words = words.as_ref().map_or(0.0, |words| words.relevance(&node));
                let vector = vectors.get(&node.id).filter(|found| found.readability >= READABILITY_MIN);
                let by_meaning = match (&looked_for, vector) {
                    (Some(query), Some(found)) => f64::from(cosine(query, &found.vector)),
                    _ => 0.0,
                };
                NodeHit { node, score: round_score(by_words.max(by_meaning).min(1.0)) }
            })
            .filter(|hit| hit.score > 0.0 && hit.score >= min_score)
            .collect();
        // Nodes with equal scores keep the order of the list: the last changed first.
        results.sort_by(|a, b| b.score.total_cmp(&a.score));
        results.truncate(asked.limit.unwrap_or(RESULTS_DEFAULT));
        self.set_outdated_values(scope, results.iter_mut().map(|hit| &mut hit.node)).await?;
        Ok(NodeSearchResponse { results, vector_search_used: !vectors.is_empty() })
    }

    /// Ids of the live nodes whose label or alias a text names.
    pub async fn nodes_named_in(&self, scope: &Scope, text: &str) -> Result<Vec<GraphNode>, StoreError> {
        let text = fold_name(text);
        let mut nodes = self.store.graph_nodes(scope).await?;
        nodes.retain(|node| {
            let mut names = node.aliases.iter().chain([&node.label]);
            !node.deleted && names.any(|name| is_named_in_text(&text, &fold_name(name)))
        });
        Ok(nodes)
    }

    /// The vector to compare with: the client's, or that of the query if the model can read it.
    async fn query_vector(&self, query: Option<&str>, given: Option<&[f32]>) -> Option<Vec<f32>> {
        let embedder = self.embedder.as_ref()?;
        if let Some(given) = given {
            let length = given.iter().map(|part| part * part).sum::<f32>().sqrt();
            embedder.identify().await.ok()?;
            return (given.len() == embedder.dimension() && length > 0.0)
                .then(|| given.iter().map(|part| part / length).collect());
        }
        let embedded = embedder.embed_queries(&[query?.to_owned()]).await.ok()?;
        let embedding = embedded.into_iter().next()?;
        (embedding.readability >= READABILITY_MIN).then_some(embedding.vector)
    }
}

/// The terms of a query.
struct Words {
    folded: String,
    terms: BTreeSet<String>,
}

impl Words {
    fn new(query: &str) -> Self {
        Self { folded: fold_name(query), terms: content_terms(query) }
    }

    /// 1 for an equal label, [`NAMED_SCORE`] if one contains the other, else the share of the query's terms that the
    /// node has.
    fn relevance(&self, node: &GraphNode) -> f64 {
        let mut best: f64 = 0.0;
        for name in node.aliases.iter().chain([&node.label]) {
            let name = fold_name(name);
            if name == self.folded {
                return 1.0;
            }
            if is_named_in_text(&self.folded, &name) || is_named_in_text(&name, &self.folded) {
                best = NAMED_SCORE;
            }
        }
        if self.terms.is_empty() {
            let described = is_named_in_text(&fold_name(&node.description), &self.folded);
            return if described { best.max(0.7) } else { best };
        }
        let said = content_terms(&format!("{} {}", node.label, node.description));
        let shared = self.terms.intersection(&said).count();
        best.max(shared as f64 / self.terms.len() as f64)
    }
}

fn round_score(score: f64) -> f64 {
    (score * 1_000.0).round() / 1_000.0
}
