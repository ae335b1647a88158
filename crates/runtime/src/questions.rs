//! What a person asks beside talking: for a memory by its words, for a first draft of a persona.

use memory::ports::{MindError, StoreError};
use memory::recall::{SearchHit, SearchQuery, search};
use mind::{PersonaDraft, PersonaDraftInput};

use crate::runtime::Runtime;

impl Runtime {
    /// The memories that hold or mean a text, for a person who looks for them.
    pub async fn search(&self, asked: &SearchQuery) -> Result<Vec<SearchHit>, StoreError> {
        let runtime = &self.runtime;
        let meanwhile = runtime.changeover.serving(&asked.scope);
        let embedder = meanwhile.as_deref().or(runtime.embedder());
        search(runtime.store(), runtime.index(), embedder, asked).await
    }

    /// A first draft of a persona. Nothing is stored.
    pub async fn draft_persona(&self, input: &PersonaDraftInput) -> Result<PersonaDraft, MindError> {
        self.mind().draft_persona(input).await
    }
}
