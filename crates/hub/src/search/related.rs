//! Memories of other programs that are relevant to a reply.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

use memory::Scope;
use memory::ledger::UsedDocument;
use memory::recall::score::vector_relevance;
use memory::text::content_terms;
use schemars::JsonSchema;
use serde::Serialize;

use super::candidates::Candidates;
use super::chunks::split_into_chunks;
use crate::daily::without_tags;
use crate::error::HubError;
use crate::memories::shown_instance;
use crate::names::{DiaryName, DocumentName, Granularity, InstanceId};
use crate::ports::DiaryChunk;
use crate::service::Hub;

/// Maximum memories to add for one text. Nobody asked for them, so they must leave room for the text itself.
const RELATED_MAX: usize = 3;
/// Maximum characters of one excerpt. It is shorter than an excerpt that somebody asked for.
const EXCERPT_LENGTH: usize = 800;

/// A memory that another program wrote, and its relevance.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RelatedMemory {
    /// The name of the memory.
    #[serde(skip)]
    pub name: DiaryName,
    /// Either `daily` or `significant`.
    pub kind: Granularity,
    /// The document's file name.
    pub filename: String,
    /// The instance that wrote the memory.
    pub source_instance: InstanceId,
    /// Relevance for the text, from 0 to 1, on the scale of recall.
    pub relevance: f64,
    /// The lines of the memory that are about the text, at most 800 characters.
    pub excerpt: String,
}

impl RelatedMemory {
    /// The label of the memory in prompts: its date, with the slug of a significant memory. It never contains the
    /// instance, because prompts name no programs.
    pub fn label(&self) -> String {
        let date = self.name.date();
        self.name.slug().map_or_else(|| date.to_string(), |slug| format!("{date} {slug}"))
    }
}

impl Hub {
    /// Significant memories and dailies of other instances that are about a text, the most relevant first, at most 3.
    /// This hub's own dailies are excluded, because recall finds their events. Results have at least `min_relevance`.
    ///
    /// # Errors
    ///
    /// When storage fails. Without an embedder, or when it fails, only words are compared.
    pub async fn related_memories(
        &self,
        scope: &Scope,
        text: &str,
        min_relevance: f64,
    ) -> Result<Vec<RelatedMemory>, HubError> {
        let own = &self.instance_id();
        let is_wanted = |name: &DiaryName| match name.granularity() {
            Granularity::Significant => true,
            Granularity::Daily => name.instance() != Some(own),
            _ => false,
        };
        // Most homes have none, so that the text need not be embedded a second time.
        if !self.shared_parts().parts.store.memory_names(scope).await?.iter().any(is_wanted) {
            return Ok(Vec::new());
        }
        let candidates = self.find_candidates(scope, self.sentences(text, None).await).await?;
        let mut best: HashMap<&DiaryName, (f64, &DiaryChunk)> = HashMap::new();
        for chunk in candidates.pieces.iter().filter(|chunk| is_wanted(&chunk.name)) {
            let relevance = candidates.relevance_with_scale(chunk, vector_relevance);
            let is_better = best.get(&chunk.name).is_none_or(|(known, _)| relevance > *known);
            if relevance >= min_relevance && is_better {
                best.insert(&chunk.name, (relevance, chunk));
            }
        }
        let mut best: Vec<(f64, &DiaryChunk)> = best.into_values().collect();
        best.sort_by(most_relevant_first);
        let mut related = Vec::new();
        for (relevance, chunk) in best.into_iter().take(RELATED_MAX) {
            let name = DocumentName::Diary(chunk.name.clone());
            let Some(document) = self.document(scope, &name).await? else { continue };
            let Some(content) = document.content() else { continue };
            let excerpt = relevant_excerpt(&candidates, chunk, content);
            if excerpt.is_empty() {
                continue;
            }
            related.push(RelatedMemory {
                name: chunk.name.clone(),
                kind: chunk.name.granularity(),
                filename: format!("{}.md", chunk.name.stem()),
                source_instance: shown_instance(&chunk.name, &chunk.author),
                relevance,
                excerpt,
            });
        }
        Ok(related)
    }
}

impl Hub {
    /// Documents of a receipt with their file names and their present lines about `text`. Deleted ones are left out.
    ///
    /// # Errors
    ///
    /// When storage fails.
    pub async fn look_up_used(
        &self,
        scope: &Scope,
        used: Vec<UsedDocument>,
        text: &str,
    ) -> Result<Vec<UsedDocument>, HubError> {
        if used.is_empty() {
            return Ok(used);
        }
        let names = self.shared_parts().parts.store.memory_names(scope).await?;
        let asked = content_terms(text);
        let mut found = self.look_up_used_lore(scope, &used).await?;
        for document in used {
            let is_it = |name: &&DiaryName| {
                name.granularity().as_str() == document.kind
                    && document.date.as_ref() == Some(&name.date().to_string())
            };
            for name in names.iter().filter(is_it) {
                let known = self.document(scope, &DocumentName::Diary(name.clone())).await?;
                let Some((shown, content)) =
                    known.as_ref().and_then(|known| Some((known.shown_version()?, known.content()?)))
                else {
                    continue;
                };
                if shown_instance(name, &shown.author).as_str() == document.source_instance {
                    let filename = Some(format!("{}.md", name.stem()));
                    let excerpt = Some(lines_about(&without_tags(content), &asked));
                    found.push(UsedDocument { filename, excerpt, ..document.clone() });
                }
            }
        }
        Ok(found)
    }
}

/// The lines that contain some of these terms, or all lines if none does; at most [`EXCERPT_LENGTH`] characters.
fn lines_about(content: &str, asked: &BTreeSet<String>) -> String {
    let lines = || content.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("# "));
    let about: Vec<&str> = lines().filter(|line| !content_terms(line).is_disjoint(asked)).collect();
    let chosen = if about.is_empty() { lines().collect() } else { about };
    chosen.join("\n").chars().take(EXCERPT_LENGTH).collect()
}

fn most_relevant_first(one: &(f64, &DiaryChunk), other: &(f64, &DiaryChunk)) -> Ordering {
    other.0.total_cmp(&one.0).then_with(|| one.1.name.cmp(&other.1.name))
}

/// The relevant part of a chunk. A daily has many topics, so if it was found by its words, only the lines that
/// contain some of them are returned.
fn relevant_excerpt(candidates: &Candidates, chunk: &DiaryChunk, content: &str) -> String {
    let chunks = split_into_chunks(content);
    let Some(place) = chunks.get(chunk.place) else { return String::new() };
    let text = without_tags(&content[place.clone()]);
    let lines = text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty());
    let chosen: Vec<&str> = match chunk.name.granularity() {
        Granularity::Daily => {
            let lines: Vec<&str> = lines.filter(|line| !line.starts_with("# ")).collect();
            let about: Vec<&str> =
                lines.iter().copied().filter(|line| candidates.word_relevance(line) > 0.0).collect();
            if about.is_empty() { lines } else { about }
        }
        _ => lines.collect(),
    };
    let mut excerpt = String::new();
    for line in chosen {
        if !excerpt.is_empty() && excerpt.chars().count() + line.chars().count() > EXCERPT_LENGTH {
            break;
        }
        if !excerpt.is_empty() {
            excerpt.push('\n');
        }
        excerpt.extend(line.chars().take(EXCERPT_LENGTH));
    }
    excerpt
}
