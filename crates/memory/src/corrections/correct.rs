//! Correction of a memory by a person's own text.

use super::Correction;
use crate::identifiers::{EntityId, NodeId};
use crate::nodes::{DESCRIPTION_LENGTH_MAX, Node, RELATIONAL_TAGS_MAX, RelationalTag};
use crate::ports::{Clock, Embedder, Embedding, IdGenerator, Store, StoreError};
use crate::recall::named_entities;
use crate::scope::Scope;
use crate::text;
use crate::vector_index::VectorIndex;

/// Why a memory was not corrected. Nothing was written.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum CorrectError {
    /// The text is blank.
    #[error("the text is empty; nothing was changed. To remove a memory, delete it")]
    Empty,
    #[error("the text has {length} characters; the limit is {DESCRIPTION_LENGTH_MAX}. Nothing was changed")]
    TooLong {
        /// The text's length in characters.
        length: usize,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Applies corrections that a person makes to memories.
#[derive(Clone, Copy)]
pub struct Corrector<'a> {
    pub store: &'a dyn Store,
    /// Without an embedder, the new text gets its vector later.
    pub embedder: Option<&'a dyn Embedder>,
    /// The vectors of live nodes.
    pub index: &'a VectorIndex,
    pub clock: &'a dyn Clock,
    /// Ids of what is written.
    pub ids: &'a dyn IdGenerator,
}

impl Corrector<'_> {
    /// Gives a memory the text that a person wrote. It keeps its id, so that memories that depend on it still do; the
    /// old text stays in its history. The same text again changes nothing. `None` if there is no such memory.
    pub async fn correct(&self, id: NodeId, text: &str) -> Result<Option<Node>, CorrectError> {
        let text = check_text(text)?;
        let Some(scope) = self.store.scope_of_node(id).await? else { return Ok(None) };
        let Some(found) = self.store.node(id).await? else { return Ok(None) };
        if found.node.description == text {
            return Ok(Some(found.node));
        }
        let correction = Correction {
            node_id: id,
            terms: text::index_terms(text),
            relational_tags: with_correction(&found.node.relational_tags),
            entities: self.entities_in(&scope, text).await?,
            embedding: self.embed(text).await,
            text: text.to_owned(),
            at: self.clock.now(),
        };
        let corrected = self.store.correct_node(correction).await?;
        if let Some(node) = &corrected {
            self.index.forget(&scope, crate::ports::Corpus::Nodes, &[node.seq]);
        }
        Ok(corrected)
    }

    pub(super) async fn entities_in(&self, scope: &Scope, text: &str) -> Result<Vec<EntityId>, StoreError> {
        let named = named_entities(self.store, scope, text).await?;
        Ok(named.into_iter().map(|entity| entity.id).collect())
    }

    /// The model's name and the vector; `None` without a model or if it fails. Then the vector is made later.
    pub(super) async fn embed(&self, text: &str) -> Option<(String, Embedding)> {
        let embedder = self.embedder?;
        let mut embeddings = embedder.embed(&[text.to_owned()]).await.ok()?;
        let embedding = embeddings.pop().filter(|_| embeddings.is_empty())?;
        Some((embedder.fingerprint().to_owned(), embedding))
    }
}

/// Checks a memory's text; returns it trimmed.
pub(super) fn check_text(text: &str) -> Result<&str, CorrectError> {
    let text = text.trim();
    let length = text.chars().count();
    if text.is_empty() {
        return Err(CorrectError::Empty);
    }
    if length > DESCRIPTION_LENGTH_MAX {
        return Err(CorrectError::TooLong { length });
    }
    Ok(text)
}

/// The tags with [`RelationalTag::Correction`] added, if there is room for it.
fn with_correction(tags: &[RelationalTag]) -> Vec<RelationalTag> {
    let mut tags = tags.to_vec();
    if !tags.contains(&RelationalTag::Correction) && tags.len() < RELATIONAL_TAGS_MAX {
        tags.push(RelationalTag::Correction);
    }
    tags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_and_overlong_texts_are_refused() {
        assert_eq!(check_text(" \n"), Err(CorrectError::Empty));
        let length = DESCRIPTION_LENGTH_MAX + 1;
        assert_eq!(check_text(&"长".repeat(length)), Err(CorrectError::TooLong { length }));
        assert_eq!(check_text(" 用户养了狗 "), Ok("用户养了狗"));
    }

    #[test]
    fn a_correction_is_tagged_once_and_crowds_nothing_out() {
        use RelationalTag::{Commitment, Correction, Unresolved, Vulnerability};
        assert_eq!(with_correction(&[]), [Correction]);
        assert_eq!(with_correction(&[Correction]), [Correction]);
        let full = [Unresolved, Vulnerability, Commitment];
        assert_eq!(with_correction(&full), full);
    }
}
