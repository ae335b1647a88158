//! Search for memories by words and meaning, for people who look for one.

use memory::ports::StoreError;
use memory::recall::{SearchHit, SearchQuery, search};

use crate::runtime::Runtime;

impl Runtime {
    /// The memories that contain or mean a text, best first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchHit>, StoreError> {
        let runtime = &self.runtime;
        let meanwhile = runtime.changeover.serving(&query.scope);
        let embedder = meanwhile.as_deref().or(runtime.embedder());
        search(runtime.store(), runtime.index(), embedder, query).await
    }
}
