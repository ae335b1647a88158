//! Search for memories and messages by words and meaning, for users who look for one.

use memory::Scope;
use memory::ports::StoreError;
use memory::recall::{
    MessageHit, SearchHit, SearchPage, SearchQuery, SearchResults, search, search_messages,
};

use crate::runtime::Runtime;

impl Runtime {
    /// A page of the memories that contain or mean a text, best first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn search(
        &self,
        query: &SearchQuery,
        page: &SearchPage,
    ) -> Result<SearchResults<SearchHit>, StoreError> {
        let runtime = &self.runtime;
        let meanwhile = runtime.changeover.serving(&query.scope);
        let embedder = meanwhile.as_deref().or(runtime.embedder());
        search(runtime.store(), runtime.index(), embedder, query, page).await
    }

    /// A page of the messages of both sides that contain or mean a text, best first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn search_messages(
        &self,
        scope: &Scope,
        text: &str,
        page: &SearchPage,
    ) -> Result<SearchResults<MessageHit>, StoreError> {
        let runtime = &self.runtime;
        let meanwhile = runtime.changeover.serving(scope);
        let embedder = meanwhile.as_deref().or(runtime.embedder());
        search_messages(runtime.store(), runtime.index(), embedder, scope, text, page).await
    }
}
