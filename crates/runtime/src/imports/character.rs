//! Imports a character from files: a draft for a person to check, and its parts besides the core blocks.

use hub::api::identity::IdentityText;
use hub::lore::KeyLogic;
use hub::{Caller, Hub, HubError, LoreEntry};
use import::{CharacterDraft, CoreBlock, DraftOptions, Lorebook, Overflow, Sources, draft_character};
use memory::Scope;
use memory::capture::MessageInput;
use memory::core_blocks::CORE_BLOCK_LENGTH_MAX;
use memory::identifiers::{ImportId, MessageId};
use memory::messages::Role;
use memory::ports::{AVATAR_SIZE_MAX, Avatar};

use super::Imports;
use super::registry::{ImportError, read_detached};

/// Channel of the persona's first message.
const GREETING_CHANNEL: &str = "web";

/// Parts of a character that were saved besides its core blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedCharacter {
    /// Documents with texts that did not fit into a block.
    pub documents: Vec<String>,
    /// Number of lorebook entries that became documents.
    pub lore_entries: u64,
    /// True if its picture became the persona's avatar.
    pub has_picture: bool,
    /// The chosen greeting, as the persona's message.
    pub greeting: Option<MessageId>,
}

impl Imports {
    /// The character in the files of an upload, for this scope. Nothing is stored.
    ///
    /// # Errors
    ///
    /// [`ImportError::NoCharacter`] if the files contain no card, no instructions and no lorebook.
    pub async fn draft_character(&self, id: ImportId, scope: &Scope) -> Result<CharacterDraft, ImportError> {
        let registry = self.registry()?;
        let upload = registry.uploads.find(id).await?.filter(|upload| upload.started.is_none());
        let upload = upload.ok_or(ImportError::NotFound(id))?;
        let inputs = registry.uploads.inputs(id, &upload.files);
        let user_name = self.core.store().known_user(&scope.user).await?.display_name;
        let persona_name = self.core.persona_of(scope).await?.display_name;
        let drafted = read_detached(move || {
            let options = DraftOptions {
                user_name: user_name.as_deref(),
                persona_name: &persona_name,
                block_length_max: CORE_BLOCK_LENGTH_MAX,
                picture_size_max: AVATAR_SIZE_MAX,
            };
            draft_character(&Sources::open(&inputs)?, &upload.read_options(), options)
        });
        drafted.await?.ok_or(ImportError::NoCharacter)
    }

    /// Saves the other parts of a character whose core blocks were saved before: texts that did not fit, the picture,
    /// and the greeting with this number (from 1) as the persona's message. Deletes the files of the upload. It can
    /// be repeated after a crash.
    ///
    /// # Errors
    ///
    /// As [`Self::draft_character`], and [`ImportError::NoGreeting`] before anything is written.
    pub async fn save_character(
        &self,
        id: ImportId,
        scope: &Scope,
        greeting: Option<usize>,
    ) -> Result<SavedCharacter, ImportError> {
        let registry = self.registry()?;
        let _one_change_at_a_time = registry.change.lock().await;
        let draft = self.draft_character(id, scope).await?;
        let count = draft.greetings.len();
        let greeting = greeting.map(|number| {
            let chosen = number.checked_sub(1).and_then(|at| draft.greetings.get(at));
            chosen.cloned().ok_or(ImportError::NoGreeting { number, count })
        });
        let greeting = greeting.transpose()?;
        self.core.ensure_scope_exists(scope).await?;
        let mut saved = SavedCharacter::default();
        if let Some(hub) = self.shared_self.hub() {
            let caller = person_caller(hub, scope);
            saved.documents = write_overflow(hub, &caller, draft.overflow).await?;
            let lore: Vec<LoreEntry> = draft.lore.into_iter().flat_map(lore_entries).collect();
            saved.lore_entries = hub.write_lore(&caller, &lore).await?;
        }
        if let Some(card) = draft.card {
            self.core.store().put_character_card(&scope.persona, &card.to_string()).await?;
        }
        if let Some(picture) = draft.picture {
            let extension = match picture.media_type.as_str() {
                "image/jpeg" => "jpg",
                "image/webp" => "webp",
                _ => "png",
            };
            let avatar = Avatar { extension: extension.to_owned(), image: picture.bytes };
            self.personas.put_avatar(scope, avatar).await?;
            saved.has_picture = true;
        }
        if let Some(greeting) = greeting {
            saved.greeting = Some(self.say_greeting(scope, id, greeting).await?);
        }
        registry.uploads.remove(id).await?;
        Ok(saved)
    }

    async fn say_greeting(
        &self,
        scope: &Scope,
        upload: ImportId,
        greeting: String,
    ) -> Result<MessageId, ImportError> {
        // It has the id of the upload, so that repeating the save after a crash does not add it twice.
        let id = MessageId(upload.0);
        if self.core.store().message(id).await?.is_some() {
            return Ok(id);
        }
        let line = MessageInput {
            id: Some(id),
            scope: scope.clone(),
            channel_id: GREETING_CHANNEL.to_owned(),
            turn_id: None,
            role: Role::Persona,
            content: greeting,
            incomplete: false,
            external_ref: None,
            channel_write: None,
        };
        let captured = self.messages.record(line, None, None).await?;
        self.messages.publish_unasked(&captured.message);
        Ok(id)
    }
}

fn person_caller(hub: &Hub, scope: &Scope) -> Caller {
    Caller {
        scope: scope.clone(),
        instance: hub.instance_id(),
        is_person: true,
        is_bound: false,
        is_of_one_user: false,
    }
}

fn lore_entries(book: Lorebook) -> impl Iterator<Item = LoreEntry> {
    let Lorebook { name, entries, .. } = book;
    entries.into_iter().map(move |entry| LoreEntry {
        book: name.clone(),
        name: entry.name,
        keys: entry.keys,
        secondary_keys: entry.secondary_keys,
        logic: KeyLogic::parse(&entry.logic).unwrap_or_default(),
        is_constant: entry.is_constant,
        is_enabled: entry.is_enabled,
        order: entry.order,
        scan_depth: entry.scan_depth,
        is_case_sensitive: entry.is_case_sensitive,
        whole_words: entry.whole_words,
        other: entry.other,
        content: entry.content,
    })
}

async fn write_overflow(
    hub: &Hub,
    caller: &Caller,
    overflow: Vec<Overflow>,
) -> Result<Vec<String>, HubError> {
    let mut written = Vec::new();
    for Overflow { block, text } in overflow {
        let (category, filename) = match block {
            CoreBlock::Persona => ("self", "character.md"),
            CoreBlock::User => ("user", "profile.md"),
            CoreBlock::Style => ("custom", "greetings.md"),
        };
        let document = IdentityText {
            category: category.parse()?,
            filename: filename.parse()?,
            content: text,
            instance_id: hub.instance_id(),
        };
        hub.identity_write(caller, document).await?;
        written.push(format!("{category}/{filename}"));
    }
    Ok(written)
}
