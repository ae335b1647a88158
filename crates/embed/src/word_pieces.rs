use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

use serde_json::Value;

use crate::ModelError;
use crate::readability::{Scripts, readability};
use crate::tokenizer::{Tokenizer, text_of_letters};

/// Splits text into the pieces of the model's vocabulary, following its `tokenizer.json`.
pub(crate) struct WordPieces {
    tokenizer: Tokenizer,
    /// Pieces that represent unknown text.
    unknown: HashSet<u32>,
    max_pieces: usize,
    scripts: Scripts,
}

/// A text's pieces, as the model reads them.
pub(crate) struct Pieces {
    /// Ids in the vocabulary, from the start marks to the end marks.
    pub(crate) ids: Vec<u32>,
    /// Share of the text that the model can read, 0 to 1.
    pub(crate) readability: f32,
}

/// Maximum bytes of a text to read. 512 pieces are seldom more than 4,000 characters; the bound keeps a pasted book
/// from being tokenized whole.
pub(crate) const MAX_BYTES: usize = 32 * 1024;

impl WordPieces {
    /// Opens `tokenizer.json`. Without `scripts`, the vocabulary determines which scripts the model reads. Every
    /// piece id must be below `vocabulary`.
    pub(crate) fn open(
        path: &Path,
        max_pieces: usize,
        scripts: Option<Scripts>,
        vocabulary: usize,
    ) -> Result<Self, ModelError> {
        let unusable = |reason: String| ModelError::unusable(path, reason);
        let json = std::fs::read(path).map_err(ModelError::io(path))?;
        let description: Value =
            serde_json::from_slice(&json).map_err(|error| unusable(error.to_string()))?;
        let tokenizer = Tokenizer::read(&description).map_err(unusable)?;
        if let Some((piece, id)) = tokenizer.vocabulary().iter().find(|(_, id)| **id as usize >= vocabulary) {
            return Err(unusable(format!(
                "its piece {piece:?} has the number {id}, but the weights have vectors for {vocabulary} pieces only"
            )));
        }
        let (start, end) = tokenizer.mark_ids();
        if start.len() + end.len() + 1 > max_pieces {
            return Err(unusable("its start and end marks leave no room for text".to_owned()));
        }
        let scripts = scripts.unwrap_or_else(|| scripts_of_vocabulary(&tokenizer));
        Ok(Self { unknown: unknown_pieces(&description, &tokenizer), tokenizer, max_pieces, scripts })
    }

    /// The scripts that the model reads, as shown to people.
    pub(crate) fn scripts(&self) -> Vec<String> {
        self.scripts.script_names()
    }

    /// Splits `prefix` and text into pieces, cut to the model's limit.
    pub(crate) fn split(&self, prefix: &str, text: &str) -> Pieces {
        let text = &text[..text.floor_char_boundary(MAX_BYTES)];
        let pieces = match prefix {
            "" => self.tokenizer.split(text),
            prefix => self.tokenizer.split(&format!("{prefix}{text}")),
        };
        let unknown: Vec<Range<usize>> = pieces
            .iter()
            .filter(|piece| self.unknown.contains(&piece.id) && piece.source.end > prefix.len())
            .map(|piece| piece.source.start.saturating_sub(prefix.len())..piece.source.end - prefix.len())
            .collect();
        let (start, end) = self.tokenizer.mark_ids();
        let room = self.max_pieces - start.len() - end.len();
        let ids = pieces.iter().take(room).map(|piece| piece.id);
        Pieces {
            ids: start.iter().copied().chain(ids).chain(end.iter().copied()).collect(),
            readability: readability(text, &unknown, &self.scripts),
        }
    }
}

/// The pieces that represent unknown text: the unknown piece, and single bytes of characters.
fn unknown_pieces(description: &Value, tokenizer: &Tokenizer) -> HashSet<u32> {
    let model = &description["model"];
    let named = model["unk_token"].as_str().and_then(|name| tokenizer.piece_id(name));
    let numbered = model["unk_id"].as_u64().and_then(|id| u32::try_from(id).ok());
    let bytes = (0..=255_u8).filter_map(|byte| tokenizer.piece_id(&format!("<0x{byte:02X}>")));
    named.into_iter().chain(numbered).chain(bytes).collect()
}

fn scripts_of_vocabulary(tokenizer: &Tokenizer) -> Scripts {
    let pieces = tokenizer.vocabulary().keys();
    if !tokenizer.is_byte_level() {
        return Scripts::of_vocabulary(pieces.map(String::as_str));
    }
    let texts: Vec<String> = pieces.map(|piece| text_of_letters(piece)).collect();
    Scripts::of_vocabulary(texts.iter().map(String::as_str))
}
