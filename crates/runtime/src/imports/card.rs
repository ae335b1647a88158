//! Exports a persona as a character card.

use hub::LoreEntry;
use import::export::{CardContainer, CardPersona, card_file, card_json};
use import::{DraftOptions, Lorebook, Picture};
use memory::Scope;
use memory::core_blocks::CORE_BLOCK_LENGTH_MAX;
use memory::ports::AVATAR_SIZE_MAX;

use super::Imports;
use super::registry::ImportError;

impl Imports {
    /// The file of a card: the original one if there is one, with the changes made since. It contains neither the
    /// user's block nor the conversation.
    ///
    /// # Errors
    ///
    /// [`ImportError::NoPicture`] if a picture is required and the persona has none in PNG.
    pub async fn character_card(
        &self,
        scope: &Scope,
        container: CardContainer,
    ) -> Result<Vec<u8>, ImportError> {
        let store = self.core.store();
        let name = self.core.persona_of(scope).await?.display_name;
        let user_name = store.known_user(&scope.user).await?.display_name;
        let blocks = store.core_blocks(scope).await?;
        // It was written as JSON, so it can be parsed.
        let original = store.character_card(&scope.persona).await?.and_then(|card| card.parse().ok());
        let picture = store.avatar(&scope.persona).await?.map(|avatar| Picture {
            media_type: format!("image/{}", avatar.extension.replace("jpg", "jpeg")),
            bytes: avatar.image,
            place: String::new(),
        });
        let lorebooks = match self.shared_self.hub() {
            Some(hub) => group_by_book(hub.lore_entries(scope).await?),
            None => Vec::new(),
        };
        let options = DraftOptions {
            user_name: user_name.as_deref(),
            persona_name: &name,
            block_length_max: CORE_BLOCK_LENGTH_MAX,
            picture_size_max: AVATAR_SIZE_MAX,
        };
        let persona = CardPersona {
            name: name.clone(),
            persona_block: blocks.persona,
            style_block: blocks.style,
            lorebooks,
        };
        let card = card_json(original.as_ref(), &persona, options);
        card_file(container, card, picture.as_ref()).map_err(|_| ImportError::NoPicture)
    }
}

/// Groups entries by their book. Books are in the order of their first entries.
fn group_by_book(entries: Vec<LoreEntry>) -> Vec<Lorebook> {
    let mut books: Vec<Lorebook> = Vec::new();
    for entry in entries {
        let at = books.iter().position(|book| book.name == entry.book).unwrap_or_else(|| {
            books.push(Lorebook { name: entry.book.clone(), ..Lorebook::default() });
            books.len() - 1
        });
        books[at].entries.push(import::LoreEntry {
            id: String::new(),
            name: entry.name,
            keys: entry.keys,
            secondary_keys: entry.secondary_keys,
            content: entry.content,
            is_constant: entry.is_constant,
            is_enabled: entry.is_enabled,
            logic: entry.logic.as_str().to_owned(),
            order: entry.order,
            scan_depth: entry.scan_depth,
            is_case_sensitive: entry.is_case_sensitive,
            whole_words: entry.whole_words,
            other: entry.other,
        });
    }
    books
}
