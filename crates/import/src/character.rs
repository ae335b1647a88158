use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::card::{Card, LoreEntry, Lorebook, Picture};
use crate::error::ImportError;
use crate::item::{CoreBlock, CoreDraft, Item, Skip};
use crate::languages::language_of;
use crate::limits::PREVIEW_LIST_MAX;
use crate::macros::resolve_macros;
use crate::read::{ReadOptions, ReadPosition, read};
use crate::sources::Sources;

/// A persona described by cards, instructions and notes, divided into core blocks. A person checks it before it is
/// saved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CharacterDraft {
    /// The character's name; `None` if the files hold only instructions.
    pub name: Option<String>,
    /// Description, personality and scenario of the card, or the persona's part of the instructions.
    pub persona_block: String,
    /// Text about the user from the files.
    pub user_block: String,
    /// The persona's way of speaking: instructions, example dialogue, greetings.
    pub style_block: String,
    /// First messages to choose from. None becomes a message unless a person selects it.
    pub greetings: Vec<String>,
    /// Ends of texts that are longer than their block.
    pub overflow: Vec<Overflow>,
    /// True if `picture` is set; the JSON does not contain the picture itself.
    pub has_picture: bool,
    /// The character's picture, if it is small enough to store.
    #[serde(skip)]
    pub picture: Option<Picture>,
    /// The lorebooks in the files.
    pub lorebooks: Vec<LorebookSummary>,
    /// The lorebooks with their entries; not part of the JSON.
    #[serde(skip)]
    pub lore: Vec<Lorebook>,
    /// Parts of the files that are not used, with the reasons.
    pub unused: Vec<Skip>,
    /// The card as it arrived; not part of the JSON. `None` if the files hold no card.
    #[serde(skip)]
    pub card: Option<Value>,
}

/// The end of a text that is longer than its block. It is saved as a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Overflow {
    /// The core block that holds the beginning of the text.
    pub block: CoreBlock,
    /// The rest of the text.
    pub text: String,
}

/// A lorebook with counts of its entries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LorebookSummary {
    /// The name of the book.
    pub name: String,
    /// Number of its entries.
    pub entries: u64,
}

/// Options for drafting a character.
#[derive(Clone, Copy, Debug)]
pub struct DraftOptions<'a> {
    /// Replaces `{{user}}`; if empty, a generic word in the card's language does.
    pub user_name: Option<&'a str>,
    /// Replaces `{{char}}` in lorebooks without a card.
    pub persona_name: &'a str,
    /// Maximum length of a block, in characters.
    pub block_length_max: usize,
    /// Largest picture, in bytes.
    pub picture_size_max: usize,
}

/// Reads all sources and drafts a character from them; `None` if they hold neither a card nor instructions.
///
/// # Errors
///
/// If a source can't be read.
pub fn draft_character(
    sources: &Sources,
    read_options: &ReadOptions,
    options: DraftOptions<'_>,
) -> Result<Option<CharacterDraft>, ImportError> {
    let mut found = FoundParts::default();
    for item in read(sources, read_options, ReadPosition::default())? {
        found.add_item(item?.item);
    }
    Ok(found.has_character().then(|| found.draft(options)))
}

/// Drafts a character from one card without other files.
pub(crate) fn draft_of_card(card: Card, options: DraftOptions<'_>) -> CharacterDraft {
    FoundParts { card: Some(Box::new(card)), ..FoundParts::default() }.draft(options)
}

#[derive(Default)]
struct FoundParts {
    card: Option<Box<Card>>,
    instructions: Vec<CoreDraft>,
    lorebooks: Vec<Lorebook>,
    messages: u64,
    documents: u64,
    saved_memories: u64,
    unused: Vec<Skip>,
}

impl FoundParts {
    fn add_item(&mut self, item: Item) {
        match item {
            Item::Conversation(_) => {}
            Item::SavedMemory(_) => self.saved_memories += 1,
            Item::Message(_) => self.messages += 1,
            Item::Document(_) => self.documents += 1,
            Item::Lorebook(book) => self.lorebooks.push(book),
            Item::CoreDraft(draft) => self.instructions.push(draft),
            Item::Skip(skip) => self.add_skip(skip),
            Item::Card(card) if self.card.is_none() => self.card = Some(card),
            Item::Card(card) => self.add_skip(Skip::new(
                card.place,
                format!("{} is another character: import it separately", card.name),
            )),
        }
    }

    fn add_skip(&mut self, skip: Skip) {
        if self.unused.len() < PREVIEW_LIST_MAX {
            self.unused.push(skip);
        }
    }

    fn has_character(&self) -> bool {
        self.card.is_some() || !self.instructions.is_empty() || !self.lorebooks.is_empty()
    }

    fn resolve_lore(&mut self, persona_name: &str, user_name: &str) {
        for entry in self.lorebooks.iter_mut().flat_map(|book| &mut book.entries) {
            entry.content = resolve_macros(&entry.content, persona_name, user_name);
        }
    }

    /// Adds settings of lorebooks without effect, and entries that can never be used, to the unused parts.
    fn name_unused_of_lore(&mut self) {
        let mut skips = Vec::new();
        for book in &self.lorebooks {
            let fields: BTreeSet<&str> =
                book.entries.iter().flat_map(|entry| entry.other.keys().map(String::as_str)).collect();
            if !fields.is_empty() {
                let fields = fields.into_iter().collect::<Vec<_>>().join(", ");
                skips.push(Skip::new(
                    &book.name,
                    format!("settings of entries that have no effect here: {fields}"),
                ));
            }
            let is_silent =
                |entry: &&LoreEntry| entry.is_enabled && !entry.is_constant && entry.keys.is_empty();
            let silent = book.entries.iter().filter(is_silent).count();
            if silent > 0 {
                skips.push(Skip::new(&book.name, format!("entries without a usable key: {silent}")));
            }
        }
        skips.into_iter().for_each(|skip| self.add_skip(skip));
    }

    fn draft(mut self, options: DraftOptions<'_>) -> CharacterDraft {
        let mut parts = BlockParts::default();
        let mut draft = CharacterDraft::default();
        if let Some(card) = self.card.take() {
            let words = Words::from_card(&card);
            draft.greetings =
                greetings_of(&card.resolve_placeholders(options.user_name.unwrap_or(words.addressed)));
            let card = card.resolve_placeholders(options.user_name.unwrap_or(words.user));
            parts.add_card(&card, &draft.greetings, words);
            if let Some(picture) = &card.picture {
                // As a file it is a picture without a card.
                self.unused.retain(|skip| skip.place != picture.place);
            }
            let had_picture = card.picture.is_some();
            let persona_name = card.persona_name().to_owned();
            draft.name = Some(persona_name.trim().to_owned());
            draft.card = Some(card.json);
            if !card.creator_notes.trim().is_empty() {
                let reason = "the creator's notes are for people who choose a card";
                self.add_skip(Skip::new(&card.place, reason));
            }
            draft.picture = card.picture.filter(|picture| picture.bytes.len() <= options.picture_size_max);
            draft.has_picture = draft.picture.is_some();
            if had_picture && !draft.has_picture {
                let size = options.picture_size_max / 1_048_576;
                self.add_skip(Skip::new(&card.place, format!("the picture is larger than {size} MB")));
            }
            self.resolve_lore(&persona_name, options.user_name.unwrap_or(words.user));
            self.lorebooks.extend(card.lorebook);
        } else {
            self.resolve_lore(options.persona_name, options.user_name.unwrap_or(ENGLISH.user));
        }
        for instruction in self.instructions.drain(..) {
            parts.for_block(instruction.block).push(instruction.text);
        }
        for (count, reason) in [
            (self.messages, "messages are imported as conversations"),
            (self.saved_memories, "saved memories are imported as proposals"),
            (self.documents, "documents are imported as memories of their own"),
        ] {
            if count > 0 {
                self.unused.push(Skip::new(count.to_string(), reason));
            }
        }
        self.name_unused_of_lore();
        let summary =
            |book: &Lorebook| LorebookSummary { name: book.name.clone(), entries: book.entries.len() as u64 };
        draft.lorebooks = self.lorebooks.iter().map(summary).collect();
        draft.lore = self.lorebooks;
        draft.unused = self.unused;
        for block in [CoreBlock::Persona, CoreBlock::User, CoreBlock::Style] {
            let (text, rest) = split_at(paragraphs(parts.for_block(block)), options.block_length_max);
            *draft.block_mut(block) = text;
            if !rest.is_empty() {
                draft.overflow.push(Overflow { block, text: rest });
            }
        }
        draft
    }
}

impl CharacterDraft {
    fn block_mut(&mut self, block: CoreBlock) -> &mut String {
        match block {
            CoreBlock::Persona => &mut self.persona_block,
            CoreBlock::User => &mut self.user_block,
            CoreBlock::Style => &mut self.style_block,
        }
    }
}

/// Paragraphs of each block, in order.
#[derive(Default)]
struct BlockParts {
    persona: Vec<String>,
    user: Vec<String>,
    style: Vec<String>,
}

impl BlockParts {
    fn for_block(&mut self, block: CoreBlock) -> &mut Vec<String> {
        match block {
            CoreBlock::Persona => &mut self.persona,
            CoreBlock::User => &mut self.user,
            CoreBlock::Style => &mut self.style,
        }
    }

    fn add_card(&mut self, card: &Card, greetings: &[String], words: &Words) {
        let labelled = |label: &str, text: &str| match text.trim() {
            "" => String::new(),
            text => format!("{label}{text}"),
        };
        self.persona.extend([
            card.description.clone(),
            labelled(words.personality, &card.personality),
            labelled(words.scenario, &card.scenario),
            without_original(&card.system_prompt),
        ]);
        self.style.extend([
            without_original(&card.post_history_instructions),
            labelled(words.examples, &without_starts(&card.example_talk)),
            labelled(words.greetings, &greetings.join("\n\n")),
        ]);
    }
}

/// Fixed phrases of a draft, in the card's language.
struct Words {
    user: &'static str,
    /// Replacement of `{{user}}` in texts that address the user.
    addressed: &'static str,
    personality: &'static str,
    scenario: &'static str,
    examples: &'static str,
    greetings: &'static str,
}

const ENGLISH: Words = Words {
    user: "the user",
    addressed: "you",
    personality: "Personality: ",
    scenario: "Scenario: ",
    examples: "Examples of how they talk:\n",
    greetings: "Ways in which they begin a conversation:\n",
};

const CHINESE: Words = Words {
    user: "用户",
    addressed: "你",
    personality: "性格：",
    scenario: "场景：",
    examples: "说话方式的例子：\n",
    greetings: "开场白的例子：\n",
};

impl Words {
    fn from_card(card: &Card) -> &'static Self {
        let text = [&card.description, &card.personality, &card.first_message].map(String::as_str).join("\n");
        if language_of(&text) == Some("zh") { &CHINESE } else { &ENGLISH }
    }
}

fn greetings_of(card: &Card) -> Vec<String> {
    let all = std::iter::once(&card.first_message).chain(&card.alternate_greetings);
    all.map(|greeting| greeting.trim().to_owned()).filter(|greeting| !greeting.is_empty()).collect()
}

/// Example dialogue without the separators between its parts.
fn without_starts(examples: &str) -> String {
    let is_start = |line: &str| line.trim().eq_ignore_ascii_case("<start>");
    examples.lines().map(|line| if is_start(line) { "" } else { line }).collect::<Vec<_>>().join("\n")
}

/// Instructions without the placeholder for another program's default instructions.
fn without_original(instructions: &str) -> String {
    instructions.replace("{{original}}", "")
}

/// The paragraphs of texts, without consecutive blank lines.
fn paragraphs(texts: &[String]) -> String {
    let lines = texts.iter().flat_map(|text| text.trim().lines().chain([""]));
    let mut joined = String::new();
    let mut blank_lines = 0;
    for line in lines.map(str::trim_end) {
        if line.is_empty() {
            blank_lines += 1;
            continue;
        }
        if !joined.is_empty() {
            joined.push_str(if blank_lines > 0 { "\n\n" } else { "\n" });
        }
        blank_lines = 0;
        joined.push_str(line);
    }
    joined
}

/// Splits a text into a start of at most `length_max` characters and the rest: between paragraphs, else lines, else
/// words, but never so that less than half of the room is used.
fn split_at(text: String, length_max: usize) -> (String, String) {
    let Some((limit, _)) = text.char_indices().nth(length_max) else { return (text, String::new()) };
    let head = &text[..limit];
    let cut = ["\n\n", "\n", " "]
        .into_iter()
        .find_map(|boundary| head.rfind(boundary).filter(|at| *at >= limit / 2))
        .unwrap_or(limit);
    (text[..cut].trim_end().to_owned(), text[cut..].trim_start().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_between_paragraphs_and_loses_nothing() {
        let split = |text: &str, length| split_at(text.to_owned(), length);
        assert_eq!(split("short", 10), ("short".to_owned(), String::new()));
        assert_eq!(split("one two\n\nthree four", 12), ("one two".to_owned(), "three four".to_owned()));
        assert_eq!(split("a\n\nlong words here", 10), ("a\n\nlong".to_owned(), "words here".to_owned()));
        assert_eq!(split("没有空格的长句子", 4), ("没有空格".to_owned(), "的长句子".to_owned()));
    }
}
