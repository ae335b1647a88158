use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

use serde_json::Value;
use tokenizers::Tokenizer;

use crate::ModelError;
use crate::readability::{Scripts, readability};

/// Splits text into the pieces of the model's vocabulary, as its `tokenizer.json` says.
pub(crate) struct WordPieces {
    tokenizer: Tokenizer,
    /// Pieces that stand for what the vocabulary does not have.
    unknown: HashSet<u32>,
    /// What is in front of every text.
    start: Vec<u32>,
    /// What stands behind it.
    end: Vec<u32>,
    max_pieces: usize,
    scripts: Scripts,
}

/// A text as the model meets it.
pub(crate) struct Pieces {
    /// Ids in the vocabulary, from the start marks to the end marks.
    pub(crate) ids: Vec<u32>,
    /// Share of the text that the model can read, 0 to 1.
    pub(crate) readability: f32,
}

/// Bytes of a text that are looked at. 512 pieces are seldom more than 4,000 characters; the bound keeps the cost of a
/// book that somebody pastes away from the tokenizer.
pub(crate) const MAX_BYTES: usize = 32 * 1024;

impl WordPieces {
    /// Opens `tokenizer.json`. Without `scripts` the vocabulary itself says what the model reads. No piece may have a
    /// number of `vocabulary` or more.
    pub(crate) fn open(
        path: &Path,
        max_pieces: usize,
        scripts: Option<Scripts>,
        vocabulary: usize,
    ) -> Result<Self, ModelError> {
        let unusable = |reason: String| ModelError::unusable(path, reason);
        let json = std::fs::read(path).map_err(ModelError::io(path))?;
        let mut tokenizer = Tokenizer::from_bytes(&json).map_err(|error| unusable(error.to_string()))?;
        // The file may ask for padding and for truncation. Padding is wasted work; the cut is made by `split`, after
        // readability has seen the whole text.
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(|error| unusable(error.to_string()))?;
        let pieces = tokenizer.get_vocab(true);
        if let Some((piece, id)) = pieces.iter().find(|(_, id)| **id as usize >= vocabulary) {
            return Err(unusable(format!(
                "its piece {piece:?} has the number {id}, but the weights have vectors for {vocabulary} pieces only"
            )));
        }
        let description: Value =
            serde_json::from_slice(&json).map_err(|error| unusable(error.to_string()))?;
        let (start, end) = marks(&tokenizer).map_err(|error| unusable(error.to_string()))?;
        if start.len() + end.len() + 1 > max_pieces {
            return Err(unusable("its start and end marks leave no room for text".to_owned()));
        }
        let scripts = scripts.unwrap_or_else(|| of_vocabulary(&description, &pieces));
        Ok(Self { unknown: unknown(&description, &tokenizer), tokenizer, start, end, max_pieces, scripts })
    }

    /// The scripts that the model reads, for a person.
    pub(crate) fn scripts(&self) -> Vec<String> {
        self.scripts.names()
    }

    /// The pieces of `prefix` and text, cut to the model's limit.
    pub(crate) fn split(&self, prefix: &str, text: &str) -> Result<Pieces, tokenizers::Error> {
        let text = &text[..text.floor_char_boundary(MAX_BYTES)];
        let encoding = match prefix {
            "" => self.tokenizer.encode(text, false)?,
            prefix => self.tokenizer.encode(format!("{prefix}{text}"), false)?,
        };
        let pieces = encoding.get_ids();
        let unknown: Vec<Range<usize>> = pieces
            .iter()
            .zip(encoding.get_offsets())
            .filter(|(id, (_, to))| self.unknown.contains(id) && *to > prefix.len())
            .map(|(_, &(from, to))| from.saturating_sub(prefix.len())..to - prefix.len())
            .collect();
        let room = self.max_pieces - self.start.len() - self.end.len();
        let kept = &pieces[..pieces.len().min(room)];
        Ok(Pieces {
            ids: [&self.start, kept, &self.end].concat(),
            readability: readability(text, &unknown, &self.scripts),
        })
    }
}

/// The marks that the tokenizer puts around a text.
fn marks(tokenizer: &Tokenizer) -> Result<(Vec<u32>, Vec<u32>), tokenizers::Error> {
    let example = tokenizer.encode("a", true)?;
    let mask = example.get_special_tokens_mask();
    let first = mask.iter().position(|special| *special == 0).unwrap_or(mask.len());
    let last = mask.iter().rposition(|special| *special == 0).map_or(mask.len(), |last| last + 1);
    let ids = example.get_ids();
    if first > 0 || last < ids.len() {
        return Ok((ids[..first].to_vec(), ids[last..].to_vec()));
    }
    // A file without a template of its own: the family's customary marks.
    let named = |names: [&str; 2]| names.iter().find_map(|name| tokenizer.token_to_id(name));
    let (start, end) = (named(["[CLS]", "<s>"]), named(["[SEP]", "</s>"]));
    Ok((start.into_iter().collect(), end.into_iter().collect()))
}

/// The pieces that stand for what the vocabulary lacks: the unknown one, and single bytes of characters.
fn unknown(description: &Value, tokenizer: &Tokenizer) -> HashSet<u32> {
    let model = &description["model"];
    let named = model["unk_token"].as_str().and_then(|name| tokenizer.token_to_id(name));
    let numbered = model["unk_id"].as_u64().and_then(|id| u32::try_from(id).ok());
    let bytes = (0..=255_u8).filter_map(|byte| tokenizer.token_to_id(&format!("<0x{byte:02X}>")));
    named.into_iter().chain(numbered).chain(bytes).collect()
}

fn of_vocabulary(description: &Value, pieces: &std::collections::HashMap<String, u32>) -> Scripts {
    let spelled_in_bytes = [&description["pre_tokenizer"], &description["decoder"]]
        .iter()
        .any(|step| step.to_string().contains("\"ByteLevel\""));
    if !spelled_in_bytes {
        return Scripts::of_vocabulary(pieces.keys().map(String::as_str));
    }
    let texts: Vec<String> = pieces.keys().map(|piece| from_byte_letters(piece)).collect();
    Scripts::of_vocabulary(texts.iter().map(String::as_str))
}

/// Undoes the spelling of bytes as letters that byte-level vocabularies use: printable bytes stand for themselves, the
/// others, in ascending order, for the letters from U+0100 on (Radford et al. 2019). Parts of characters are dropped.
fn from_byte_letters(piece: &str) -> String {
    let is_itself = |byte: u32| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    let others: Vec<u8> = (0..=255_u8).filter(|byte| !is_itself(u32::from(*byte))).collect();
    let byte = |letter: char| {
        let code = u32::from(letter);
        if is_itself(code) {
            u8::try_from(code).ok()
        } else {
            others.get(usize::try_from(code.checked_sub(0x100)?).ok()?).copied()
        }
    };
    let bytes: Vec<u8> = piece.chars().filter_map(byte).collect();
    String::from_utf8_lossy(&bytes).replace(char::REPLACEMENT_CHARACTER, "")
}

#[cfg(test)]
mod tests {
    use super::from_byte_letters;

    #[test]
    fn byte_letters_become_text() {
        assert_eq!(from_byte_letters("Ġhello"), " hello");
        assert_eq!(from_byte_letters("çĮ«"), "猫");
        assert_eq!(from_byte_letters("çĮ"), "");
    }
}
