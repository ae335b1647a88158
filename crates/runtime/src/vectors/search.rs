//! Search for memories and messages by words and meaning, for users.

use memory::Scope;
use memory::ports::StoreError;
use memory::recall::{
    MessageHit, SearchHit, SearchPage, SearchQuery, SearchResults, search, search_messages,
};

use crate::vectors::Vectors;

impl Vectors {
    /// A page of the memories that match a text by words or meaning, best first.
    ///
    /// # Errors
    ///
    /// When the store fails.
    pub async fn search(
        &self,
        query: &SearchQuery,
        page: &SearchPage,
    ) -> Result<SearchResults<SearchHit>, StoreError> {
        let (core, embedder) = (&self.core, self.embedder_of(&query.scope));
        search(core.store(), core.index(), embedder.as_deref(), query, page).await
    }

    /// A page of the messages of both sides that match a text by words or meaning, best first.
    ///
    /// # Errors
    ///
    /// When the store fails.
    pub async fn search_messages(
        &self,
        scope: &Scope,
        text: &str,
        page: &SearchPage,
    ) -> Result<SearchResults<MessageHit>, StoreError> {
        let (core, embedder) = (&self.core, self.embedder_of(scope));
        search_messages(core.store(), core.index(), embedder.as_deref(), scope, text, page).await
    }
}
