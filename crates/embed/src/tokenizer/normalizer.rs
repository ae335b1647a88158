//! Normalises a text before it is split, and tracks which bytes each character came from.

use std::iter::once;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use icu_properties::CodePointMapData;
use icu_properties::props::GeneralCategory;
use serde_json::Value;
use unicode_normalization::char::{canonical_combining_class, decompose_canonical};
use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfc_quick};

use super::unigram::Replacements;
use super::{Symbol, part_type, sequence_steps};

/// One rewriting step of the normalizer, applied to the whole text.
enum Step {
    CleanText,
    /// Replaces white space by spaces.
    BlankWhiteSpace,
    /// Puts spaces around Han characters, so that each is a word.
    SpaceHan,
    StripAccents,
    Lowercase,
    Form(UnicodeForm),
    /// SentencePiece's table of characters.
    Map(Replacements),
    CollapseSpaces,
    Replace {
        from: char,
        to: String,
    },
    Strip {
        left: bool,
        right: bool,
    },
    Prepend(String),
}

#[derive(Clone, Copy)]
enum UnicodeForm {
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
}

/// The steps that `tokenizer.json` names, in order.
pub(crate) struct Normalizer {
    steps: Vec<Step>,
}

impl Normalizer {
    /// # Errors
    /// The step that is not supported, or damaged.
    pub(crate) fn read(description: &Value) -> Result<Self, String> {
        let mut read = Vec::new();
        for step in sequence_steps(description, "normalizers") {
            match part_type(step) {
                "BertNormalizer" => read.extend(bert_steps(step)),
                "Precompiled" => {
                    // The table only has composed characters, so a sequence of several is composed first.
                    read.push(Step::Form(UnicodeForm::Nfc));
                    let table = step["precompiled_charsmap"].as_str().unwrap_or_default();
                    let table = STANDARD.decode(table).map_err(|_| "its precompiled_charsmap is damaged")?;
                    read.push(Step::Map(Replacements::from_character_map(&table)?));
                }
                "Lowercase" => read.push(Step::Lowercase),
                "StripAccents" => read.push(Step::StripAccents),
                "NFC" => read.push(Step::Form(UnicodeForm::Nfc)),
                "NFD" => read.push(Step::Form(UnicodeForm::Nfd)),
                "NFKC" => read.push(Step::Form(UnicodeForm::Nfkc)),
                "NFKD" => read.push(Step::Form(UnicodeForm::Nfkd)),
                "Prepend" => {
                    read.push(Step::Prepend(step["prepend"].as_str().unwrap_or_default().to_owned()))
                }
                "Strip" => {
                    let side = |name: &str| step[name].as_bool().unwrap_or(true);
                    read.push(Step::Strip { left: side("strip_left"), right: side("strip_right") });
                }
                "Replace" => read.push(read_replace(step)?),
                other => return Err(format!("its normalizer {other:?} is not supported")),
            }
        }
        Ok(Self { steps: read })
    }

    /// Removes white space except between words, for pre-tokenizers that split there.
    pub(crate) fn split_at_white_space(&mut self) {
        self.steps.extend([Step::BlankWhiteSpace, Step::Strip { left: true, right: true }]);
    }

    /// Normalises a part of `text`. Source ranges refer to the whole text.
    pub(crate) fn apply(&self, text: &str, part: Range<usize>) -> Vec<Symbol> {
        let symbols = text[part.clone()].char_indices().map(|(at, character)| {
            let start = part.start + at;
            Symbol { character, source: start..start + character.len_utf8() }
        });
        let symbols = symbols.collect();
        self.steps.iter().fold(symbols, |symbols, step| step.apply(symbols))
    }
}

/// BERT's normalizer as its steps.
fn bert_steps(step: &Value) -> impl Iterator<Item = Step> {
    let is_set = |name: &str| step[name].as_bool();
    let lowercase = is_set("lowercase").unwrap_or(true);
    [
        (is_set("clean_text").unwrap_or(true), Step::CleanText),
        (is_set("clean_text").unwrap_or(true), Step::BlankWhiteSpace),
        (is_set("handle_chinese_chars").unwrap_or(true), Step::SpaceHan),
        (is_set("strip_accents").unwrap_or(lowercase), Step::StripAccents),
        (lowercase, Step::Lowercase),
    ]
    .into_iter()
    .filter_map(|(is_asked_for, step)| is_asked_for.then_some(step))
}

fn read_replace(step: &Value) -> Result<Step, String> {
    let to = step["content"].as_str().unwrap_or_default();
    let pattern = &step["pattern"];
    match (pattern["String"].as_str(), pattern["Regex"].as_str()) {
        (_, Some(" {2,}")) if matches!(to, " " | "▁") => Ok(Step::CollapseSpaces),
        (Some(from), None) => {
            let mut from = from.chars();
            match (from.next(), from.next()) {
                (Some(from), None) => Ok(Step::Replace { from, to: to.to_owned() }),
                _ => Err(format!("its normalizer Replace with the pattern {pattern} is not supported")),
            }
        }
        _ => Err(format!("its normalizer Replace with the pattern {pattern} is not supported")),
    }
}

impl Step {
    fn apply(&self, mut symbols: Vec<Symbol>) -> Vec<Symbol> {
        match self {
            Self::CleanText => {
                symbols.retain(|symbol| !is_control(symbol.character));
                symbols
            }
            Self::BlankWhiteSpace => {
                for symbol in symbols.iter_mut().filter(|symbol| symbol.character.is_whitespace()) {
                    symbol.character = ' ';
                }
                symbols
            }
            Self::SpaceHan => rewrite(symbols, |character, push| match is_han(character) {
                true => [' ', character, ' '].into_iter().for_each(push),
                false => push(character),
            }),
            Self::StripAccents => {
                let categories = CodePointMapData::<GeneralCategory>::new();
                rewrite(symbols, |character, push| {
                    decompose_canonical(character, |part| {
                        if categories.get(part) != GeneralCategory::NonspacingMark {
                            push(part);
                        }
                    });
                })
            }
            Self::Lowercase => rewrite(symbols, |character, push| character.to_lowercase().for_each(push)),
            Self::Form(form) => form.apply(symbols),
            Self::Map(table) => rewrite(symbols, |character, push| match table.replacement_of(character) {
                Some(replaced) => replaced.iter().copied().for_each(push),
                None => push(character),
            }),
            Self::CollapseSpaces => {
                symbols.dedup_by(|next, symbol| next.character == ' ' && symbol.character == ' ');
                symbols
            }
            Self::Replace { from, to } => rewrite(symbols, |character, push| match character == *from {
                true => to.chars().for_each(push),
                false => push(character),
            }),
            Self::Strip { left, right } => {
                let is_text = |symbol: &Symbol| !symbol.character.is_whitespace();
                if *right {
                    symbols.truncate(symbols.iter().rposition(is_text).map_or(0, |last| last + 1));
                }
                if *left {
                    symbols.drain(..symbols.iter().position(is_text).unwrap_or(symbols.len()));
                }
                symbols
            }
            Self::Prepend(_) if symbols.is_empty() => symbols,
            Self::Prepend(text) => {
                let front = text.chars().map(|character| Symbol { character, source: 0..0 });
                front.chain(symbols).collect()
            }
        }
    }
}

/// Replaces each character by those that `push` receives for it.
fn rewrite(symbols: Vec<Symbol>, replace: impl Fn(char, &mut dyn FnMut(char))) -> Vec<Symbol> {
    let mut rewritten = Vec::with_capacity(symbols.len());
    for symbol in symbols {
        replace(symbol.character, &mut |character| {
            rewritten.push(Symbol { character, source: symbol.source.clone() });
        });
    }
    rewritten
}

impl UnicodeForm {
    /// A composed character has the source range of all characters that it is composed of.
    fn apply(self, symbols: Vec<Symbol>) -> Vec<Symbol> {
        let belongs_to_previous = |_: &Symbol, next: &Symbol| {
            canonical_combining_class(next.character) != 0
                || is_nfc_quick(once(next.character)) == IsNormalized::Maybe
        };
        let mut rewritten = Vec::with_capacity(symbols.len());
        for group in symbols.chunk_by(belongs_to_previous) {
            if let [symbol] = group
                && symbol.character.is_ascii()
            {
                rewritten.push(symbol.clone());
                continue;
            }
            let source = group[0].source.start..group[group.len() - 1].source.end;
            let characters = group.iter().map(|symbol| symbol.character);
            let mut push = |character| rewritten.push(Symbol { character, source: source.clone() });
            match self {
                Self::Nfc => characters.nfc().for_each(&mut push),
                Self::Nfd => characters.nfd().for_each(&mut push),
                Self::Nfkc => characters.nfkc().for_each(&mut push),
                Self::Nfkd => characters.nfkd().for_each(&mut push),
            }
        }
        rewritten
    }
}

/// Control, format and private characters, but not the white space among them.
fn is_control(character: char) -> bool {
    let category = CodePointMapData::<GeneralCategory>::new().get(character);
    let is_other =
        matches!(category, GeneralCategory::Control | GeneralCategory::Format | GeneralCategory::PrivateUse);
    is_other && !matches!(character, '\t' | '\n' | '\r') || character == char::REPLACEMENT_CHARACTER
}

/// The Unicode blocks that BERT's original code counts as Chinese.
fn is_han(character: char) -> bool {
    matches!(
        character,
        '\u{4e00}'..='\u{9fff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{20000}'..='\u{2a6df}'
            | '\u{2a700}'..='\u{2b73f}'
            | '\u{2b740}'..='\u{2b81f}'
            | '\u{2b920}'..='\u{2ceaf}'
            | '\u{f900}'..='\u{faff}'
            | '\u{2f800}'..='\u{2fa1f}'
    )
}
