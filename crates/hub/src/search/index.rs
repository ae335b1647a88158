//! What is searched: every memory of a scope with its pieces, kept in step with the database.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::tz::TimeZone;
use memory::Scope;
use memory::ports::Embedding;
use memory::text::index_terms;

use super::chunks::{cut, dated};
use crate::documents::Document;
use crate::error::HubError;
use crate::hub::Hub;
use crate::memories::{memory_of, source_instance};
use crate::names::{DocumentName, InstanceId, MemoryName};
use crate::port::{Chunk, ChunkedMemory, DocumentFilter};

/// Scopes whose memories are kept ready.
const SCOPES_MAX: usize = 8;
/// Memories that are embedded at once.
const MEMORIES_AT_ONCE: usize = 16;

/// A memory as it is searched.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(super) name: MemoryName,
    pub(super) source: InstanceId,
    pub(super) content: String,
    pub(super) revision: i64,
    pub(super) chunks: Vec<Chunk>,
}

impl Entry {
    pub(super) fn is_embedded(&self) -> bool {
        self.chunks.iter().all(|chunk| chunk.embedding.is_some())
    }
}

/// The memories of a scope.
#[derive(Clone, Debug, Default)]
pub(crate) struct SearchIndex {
    revision: i64,
    entries: BTreeMap<DocumentName, Arc<Entry>>,
}

impl SearchIndex {
    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values().map(|entry| &**entry)
    }
}

/// The indexes of scopes that were searched last.
#[derive(Default)]
pub(crate) struct SearchIndexes {
    indexes: Mutex<HashMap<Scope, Arc<SearchIndex>>>,
}

impl SearchIndexes {
    fn get(&self, scope: &Scope) -> Arc<SearchIndex> {
        let indexes = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        indexes.get(scope).cloned().unwrap_or_default()
    }

    fn put(&self, scope: &Scope, index: Arc<SearchIndex>) {
        let mut indexes = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        if indexes.len() >= SCOPES_MAX && !indexes.contains_key(scope) {
            indexes.clear();
        }
        indexes.insert(scope.clone(), index);
    }

    pub(crate) fn clear(&self) {
        self.indexes.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    pub(crate) fn drop_scope(&self, scope: &Scope) {
        self.indexes.lock().unwrap_or_else(PoisonError::into_inner).remove(scope);
    }
}

impl Hub {
    /// The zone in which the persona lives.
    pub(crate) async fn zone(&self, scope: &Scope) -> Result<TimeZone, HubError> {
        let personas = self.inner().parts.personas.personas().await?;
        let own = personas.into_iter().find(|persona| persona.id == scope.persona);
        let zone = own.and_then(|persona| persona.timezone).and_then(|zone| TimeZone::get(&zone).ok());
        Ok(zone.unwrap_or_else(|| self.settings().zone.clone()))
    }

    /// The index of a scope, brought up to date.
    pub(crate) async fn index(&self, scope: &Scope) -> Result<Arc<SearchIndex>, HubError> {
        let store = &self.inner().parts.store;
        let known = self.inner().indexes.get(scope);
        let revision = store.hub_state(scope).await?.revision;
        if known.revision == revision && revision > 0 {
            return Ok(known);
        }
        let filter = DocumentFilter { deleted: true, after: known.revision, ..DocumentFilter::memories() };
        let documents = store.documents(scope, filter).await?;
        let fingerprint = self.fingerprint();
        let stored = store.chunked_memories(scope, &fingerprint, known.revision).await?;
        let mut stored: HashMap<DocumentName, ChunkedMemory> =
            stored.into_iter().map(|memory| (memory.name.clone(), memory)).collect();
        let mut index = (*known).clone();
        // A reset takes documents away without a trace.
        if revision < known.revision {
            index.entries.clear();
        }
        index.revision = revision;
        for document in documents {
            let chunks = stored.remove(&document.name).filter(|memory| memory.revision == document.revision);
            match entry(&document, chunks.map(|memory| memory.chunks)) {
                Some(entry) => index.entries.insert(document.name.clone(), Arc::new(entry)),
                None => index.entries.remove(&document.name),
            };
        }
        let index = Arc::new(index);
        self.inner().indexes.put(scope, index.clone());
        Ok(index)
    }

    fn fingerprint(&self) -> String {
        self.inner()
            .parts
            .embedder
            .as_ref()
            .map(|embedder| embedder.fingerprint().to_owned())
            .unwrap_or_default()
    }

    /// Embeds some of the memories that have no vectors yet, the newest first; says how many.
    ///
    /// # Errors
    /// When the store fails. A model that fails gives 0: memories are found by words until it works.
    pub async fn embed_some(&self, scope: &Scope) -> Result<usize, HubError> {
        let Some(embedder) = self.inner().parts.embedder.clone() else { return Ok(0) };
        let index = self.index(scope).await?;
        let mut waiting: Vec<&Entry> = index.entries().filter(|entry| !entry.is_embedded()).collect();
        waiting.sort_by_key(|entry| std::cmp::Reverse(entry.name.date()));
        waiting.truncate(MEMORIES_AT_ONCE);
        let texts: Vec<String> = waiting
            .iter()
            .flat_map(|entry| {
                entry.chunks.iter().map(|chunk| dated(&entry.name, &entry.content[chunk.start..chunk.end]))
            })
            .collect();
        if texts.is_empty() {
            return Ok(0);
        }
        let embeddings = match embedder.embed(&texts).await {
            Ok(embeddings) if embeddings.len() == texts.len() => embeddings,
            Ok(_) => return Ok(0),
            Err(error) => {
                tracing::warn!(%error, "memories got no vectors; they are found by words");
                return Ok(0);
            }
        };
        let mut embeddings = embeddings.into_iter();
        let embedded: Vec<Entry> =
            waiting.into_iter().map(|entry| with_vectors(entry, &mut embeddings)).collect();
        let memories = embedded.iter().map(chunked).collect();
        self.inner().parts.store.put_chunks(scope, embedder.fingerprint(), memories).await?;
        self.take_embedded(scope, embedded);
        Ok(texts.len())
    }

    fn take_embedded(&self, scope: &Scope, embedded: Vec<Entry>) {
        let mut index = (*self.inner().indexes.get(scope)).clone();
        for entry in embedded {
            let name = DocumentName::Memory(entry.name.clone());
            if index.entries.get(&name).is_some_and(|known| known.revision == entry.revision) {
                index.entries.insert(name, Arc::new(entry));
            }
        }
        self.inner().indexes.put(scope, Arc::new(index));
    }
}

fn with_vectors(entry: &Entry, embeddings: &mut impl Iterator<Item = Embedding>) -> Entry {
    let mut entry = entry.clone();
    for chunk in &mut entry.chunks {
        chunk.embedding = embeddings.next();
    }
    entry
}

fn chunked(entry: &Entry) -> ChunkedMemory {
    ChunkedMemory {
        name: DocumentName::Memory(entry.name.clone()),
        revision: entry.revision,
        chunks: entry.chunks.clone(),
    }
}

/// A document as it is searched; none if it was deleted.
fn entry(document: &Document, stored: Option<Vec<Chunk>>) -> Option<Entry> {
    let name = memory_of(&document.name)?.clone();
    let content = document.content()?.to_owned();
    let fits = |chunk: &Chunk| content.get(chunk.start..chunk.end).is_some();
    let stored = stored.filter(|chunks| chunks.iter().all(fits));
    let chunks = stored.unwrap_or_else(|| {
        let pieces = cut(&content).into_iter().enumerate();
        pieces
            .map(|(index, piece)| Chunk {
                index: u32::try_from(index).unwrap_or(u32::MAX),
                terms: index_terms(&content[piece.clone()]),
                start: piece.start,
                end: piece.end,
                embedding: None,
            })
            .collect()
    });
    let source = source_instance(&name, document.shown()?);
    Some(Entry { name, source, content, revision: document.revision, chunks })
}
