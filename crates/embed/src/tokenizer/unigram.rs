//! Splits text into pieces with scores: finds the likeliest sequence (Kudo 2018), like SentencePiece.
//!
//! The vocabulary of a multilingual model has a quarter of a million pieces. They are stored in one string with a
//! hash table, about 7 MB; a map of strings would take ten times that.

use std::ops::Range;

use serde_json::Value;

use super::{Piece, Symbol, read_id};

/// Stands for a space in pieces.
const SPACE_MARK: char = '\u{2581}';
/// Cost of an unknown character, added to that of the rarest piece: SentencePiece has the same.
const UNKNOWN_PENALTY: f32 = 10.0;
const EMPTY: u32 = u32::MAX;

/// The pieces with their scores, and the replacements before splitting.
pub(crate) struct PieceTable {
    /// The texts of all pieces, joined together.
    text: Vec<u8>,
    /// Start of each piece, and the end of the last one.
    bounds: Vec<u32>,
    /// Logarithms of the pieces’ probabilities.
    scores: Vec<f32>,
    /// Hash table of piece ids with open addressing.
    slots: Vec<u32>,
    longest: usize,
    unknown_score: f32,
    start: u32,
    end: u32,
    unknown: u32,
    replacements: Replacements,
}

/// Replacements of single characters: full width by half width, white space by a space, ligatures by letters.
pub(crate) struct Replacements {
    /// Characters in ascending order, each with the end of its replacement in `replaced`.
    ends: Vec<(char, u32)>,
    replaced: Vec<char>,
}

impl Replacements {
    /// Parses `count` entries: the character, the number of bytes that replace it, and these bytes.
    ///
    /// # Errors
    ///
    /// A description of the first invalid entry.
    pub(crate) fn read(count: usize, bytes: &[u8]) -> Result<Self, String> {
        let damaged = || "its table of replaced characters is damaged".to_owned();
        let character = |bytes: &[u8]| {
            bytes
                .first_chunk()
                .and_then(|bytes| char::from_u32(u32::from_le_bytes(*bytes)))
                .ok_or_else(damaged)
        };
        let (mut ends, mut replaced, mut rest) = (Vec::with_capacity(count), Vec::new(), bytes);
        for _ in 0..count {
            let (head, tail) = rest.split_at_checked(5).ok_or_else(damaged)?;
            let (with, tail) = tail.split_at_checked(usize::from(head[4]) * 4).ok_or_else(damaged)?;
            for bytes in with.as_chunks::<4>().0 {
                replaced.push(character(bytes)?);
            }
            ends.push((character(head)?, replaced.len() as u32));
            rest = tail;
        }
        if !rest.is_empty() || !ends.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(damaged());
        }
        Ok(Self { ends, replaced })
    }

    /// Parses SentencePiece's `precompiled_charsmap`: the size of a double-array trie, the trie, and the texts that
    /// its values point to, each followed by a zero byte. Only entries of single characters are used.
    ///
    /// # Errors
    ///
    /// If it is cut off, or a value points outside the texts.
    pub(crate) fn from_character_map(bytes: &[u8]) -> Result<Self, String> {
        let damaged = || "its precompiled_charsmap is damaged".to_owned();
        let (length, rest) = bytes.split_first_chunk().ok_or_else(damaged)?;
        let (trie, texts) =
            rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(damaged)?;
        let trie: Vec<u32> = trie.as_chunks().0.iter().map(|unit| u32::from_le_bytes(*unit)).collect();
        let (mut ends, mut replaced) = (Vec::new(), Vec::new());
        for character in '\u{1}'..=char::MAX {
            let Some(at) = find_in_trie(&trie, character.encode_utf8(&mut [0; 4]).as_bytes()) else {
                continue;
            };
            let text = texts.get(at as usize..).and_then(|rest| rest.split(|byte| *byte == 0).next());
            let text = text.and_then(|text| std::str::from_utf8(text).ok()).ok_or_else(damaged)?;
            replaced.extend(text.chars());
            ends.push((character, replaced.len() as u32));
        }
        Ok(Self { ends, replaced })
    }

    /// The replacement of `character`; `None` if it stays.
    pub(super) fn replacement_of(&self, character: char) -> Option<&[char]> {
        let at = self.ends.binary_search_by_key(&character, |entry| entry.0).ok()?;
        let from = at.checked_sub(1).map_or(0, |before| self.ends[before].1);
        self.replaced.get(from as usize..self.ends[at].1 as usize)
    }
}

/// Looks up a key in a double-array trie (Aoe 1989) in the layout of `darts-clone`: in a unit, the offset to its
/// children is in the bits above 10, times 256 if bit 9 is set; bit 8 says that a value follows; the lowest byte and
/// bit 31 are the label.
fn find_in_trie(trie: &[u32], key: &[u8]) -> Option<u32> {
    let offset = |unit: u32| (unit >> 10) << ((unit & (1 << 9)) >> 6);
    let mut unit = *trie.first()?;
    let mut at = offset(unit);
    for byte in key {
        at ^= u32::from(*byte);
        unit = *trie.get(at as usize)?;
        if unit & (1 << 31 | 0xff) != u32::from(*byte) {
            return None;
        }
        at ^= offset(unit);
    }
    let has_value = unit >> 8 & 1 == 1 && !key.is_empty();
    has_value.then(|| trie.get(at as usize).map(|value| value & !(1 << 31))).flatten()
}

impl PieceTable {
    /// Creates the table from the `model` of a `tokenizer.json`, and the marks that it puts around a text.
    ///
    /// # Errors
    ///
    /// If a piece has no score, a mark has no piece, or characters are encoded as bytes (`byte_fallback`).
    pub(crate) fn from_model(model: &Value, start: &[u32], end: &[u32]) -> Result<Self, String> {
        if model["byte_fallback"].as_bool() == Some(true) {
            return Err("its model Unigram with byte_fallback is not supported".to_owned());
        }
        let unknown = read_id(&model["unk_id"]).ok_or("its model has no unk_id")?;
        let (mut text, mut bounds, mut scores) = (Vec::new(), vec![0], Vec::new());
        for entry in model["vocab"].as_array().into_iter().flatten() {
            let (piece, score) = entry[0]
                .as_str()
                .zip(entry[1].as_f64())
                .ok_or("its vocabulary has a piece without a score")?;
            text.extend_from_slice(piece.as_bytes());
            bounds.push(text.len() as u32);
            scores.push(score as f32);
        }
        let mark = |ids: &[u32]| ids.first().copied().unwrap_or(unknown);
        let none = Replacements { ends: Vec::new(), replaced: Vec::new() };
        Self::new(text, bounds, scores, [mark(start), mark(end), unknown, unknown], none)
    }

    /// Creates the table from the pieces in one string, their bounds and scores, and the ids of the marks for start,
    /// end, padding and unknown.
    ///
    /// # Errors
    ///
    /// A description of what is wrong.
    pub(crate) fn new(
        text: Vec<u8>,
        bounds: Vec<u32>,
        scores: Vec<f32>,
        marks: [u32; 4],
        replacements: Replacements,
    ) -> Result<Self, String> {
        let first_and_last = bounds.first().zip(bounds.last());
        if !bounds.is_sorted() || first_and_last != Some((&0, &(text.len() as u32))) {
            return Err("its pieces overlap or end outside".to_owned());
        }
        if scores.iter().any(|score| !score.is_finite()) || scores.len() + 1 != bounds.len() {
            return Err("a piece has no score".to_owned());
        }
        if marks.iter().any(|mark| *mark as usize >= scores.len()) {
            return Err("it has no marks for start, end and the unknown".to_owned());
        }
        let [start, end, _, unknown] = marks;
        let lengths = bounds.windows(2).map(|pair| (pair[1] - pair[0]) as usize);
        let longest = lengths.max().unwrap_or_default();
        let unknown_score = scores.iter().copied().fold(0.0, f32::min) - UNKNOWN_PENALTY;
        let slots = vec![EMPTY; (scores.len() * 2).next_power_of_two()];
        let mut table =
            Self { text, bounds, scores, slots, longest, unknown_score, start, end, unknown, replacements };
        table.fill_slots(&marks);
        Ok(table)
    }

    /// Adds the pieces to the hash table, except for marks: `</s>` in a text is what somebody wrote, not its end.
    /// Besides the named marks, a score of 0 identifies a mark (`<mask>`); no ordinary piece has it.
    fn fill_slots(&mut self, marks: &[u32]) {
        for id in 0..self.scores.len() as u32 {
            let piece = self.piece_bytes(id);
            if piece.is_empty() || marks.contains(&id) || self.scores[id as usize] == 0.0 {
                continue;
            }
            let mut at = self.slot_index(hash(EMPTY_HASH, piece));
            while self.slots[at] != EMPTY {
                at = (at + 1) % self.slots.len();
            }
            self.slots[at] = id;
        }
    }

    fn piece_bytes(&self, id: u32) -> &[u8] {
        &self.text[self.bounds[id as usize] as usize..self.bounds[id as usize + 1] as usize]
    }

    fn slot_index(&self, hash: u64) -> usize {
        // The number of slots is a power of two; the upper half of the product is mixed best.
        (hash >> 32) as usize & (self.slots.len() - 1)
    }

    fn find_piece(&self, hash: u64, piece: &[u8]) -> Option<u32> {
        let mut at = self.slot_index(hash);
        // At most half of the slots are used, so there is a free one.
        loop {
            match self.slots[at] {
                EMPTY => return None,
                id if self.piece_bytes(id) == piece => return Some(id),
                _ => at = (at + 1) % self.slots.len(),
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.scores.len()
    }

    /// All pieces that are text.
    pub(crate) fn text_pieces(&self) -> impl Iterator<Item = &str> {
        (0..self.len() as u32).filter_map(|id| std::str::from_utf8(self.piece_bytes(id)).ok())
    }

    /// The marks before and after every text.
    pub(crate) fn boundary_ids(&self) -> (u32, u32) {
        (self.start, self.end)
    }

    /// True for the piece that represents unknown characters.
    pub(crate) fn is_unknown(&self, id: u32) -> bool {
        id == self.unknown
    }

    /// The symbols of a text, with what the table replaces.
    pub(crate) fn symbols_of(&self, text: &str) -> Vec<Symbol> {
        let mut symbols = Vec::with_capacity(text.len());
        for (at, character) in text.char_indices() {
            let source = at..at + character.len_utf8();
            match self.replacements.replacement_of(character) {
                None => symbols.push(Symbol { character, source }),
                Some(replaced) => symbols
                    .extend(replaced.iter().map(|&character| Symbol { character, source: source.clone() })),
            }
        }
        symbols
    }

    /// The likeliest pieces of a text. Each character without a piece becomes an unknown piece of its own.
    pub(crate) fn likeliest_pieces(&self, symbols: Vec<Symbol>) -> Vec<Piece> {
        let symbols = MarkedText::from_symbols(symbols);
        let count = symbols.sources.len();
        let mut best = vec![Step { score: f32::NEG_INFINITY, id: self.unknown, from: 0 }; count + 1];
        best[0].score = 0.0;
        for from in 0..count {
            let score = best[from].score;
            let bytes = &symbols.text.as_bytes()[symbols.bounds[from]..];
            let (mut hash_so_far, mut hashed) = (EMPTY_HASH, 0);
            for (ahead, &bound) in symbols.bounds[from + 1..=count].iter().enumerate() {
                let (to, length) = (from + 1 + ahead, bound - symbols.bounds[from]);
                if length > self.longest {
                    break;
                }
                hash_so_far = hash(hash_so_far, &bytes[hashed..length]);
                hashed = length;
                let Some(id) = self.find_piece(hash_so_far, &bytes[..length]) else { continue };
                best[to].replace_by(Step { score: score + self.scores[id as usize], id, from });
            }
            best[from + 1].replace_by(Step { score: score + self.unknown_score, id: self.unknown, from });
        }
        let mut pieces = Vec::new();
        let mut at = count;
        while at > 0 {
            let step = best[at];
            pieces.push(Piece { id: step.id, source: symbols.source_range(step.from..at) });
            at = step.from;
        }
        pieces.reverse();
        pieces
    }
}

/// The best segmentation up to a position in the text.
#[derive(Clone, Copy)]
struct Step {
    score: f32,
    /// The last piece of the segmentation.
    id: u32,
    from: usize,
}

impl Step {
    fn replace_by(&mut self, other: Self) {
        if other.score > self.score {
            *self = other;
        }
    }
}

/// A text prepared for the search of pieces: spaces become marks, never two in a row, and one comes first.
struct MarkedText {
    text: String,
    /// Start of each character in `text`, and the end of the last one.
    bounds: Vec<usize>,
    /// The bytes of the original text that each character came from.
    sources: Vec<Range<usize>>,
}

impl MarkedText {
    fn from_symbols(symbols: Vec<Symbol>) -> Self {
        let mut marked = Self { text: String::new(), bounds: vec![0], sources: Vec::new() };
        for symbol in symbols {
            marked.push_character(symbol.character, symbol.source);
        }
        if marked.sources.is_empty() {
            marked.push_character(' ', 0..0);
        }
        marked
    }

    fn push_character(&mut self, character: char, source: Range<usize>) {
        if self.sources.is_empty() && !matches!(character, ' ' | SPACE_MARK) {
            self.push_character(' ', source.start..source.start);
        }
        if matches!(character, ' ' | SPACE_MARK)
            && self.text.ends_with(SPACE_MARK)
            && !self.sources.is_empty()
        {
            return;
        }
        self.text.push(if character == ' ' { SPACE_MARK } else { character });
        self.bounds.push(self.text.len());
        self.sources.push(source);
    }

    fn source_range(&self, range: Range<usize>) -> Range<usize> {
        let of = |at: usize| self.sources.get(at).cloned().unwrap_or_default();
        of(range.start).start..of(range.end.saturating_sub(1)).end
    }
}

/// The offset basis of FNV with 64 bits.
const EMPTY_HASH: u64 = 0xcbf2_9ce4_8422_2325;

/// Extends a hash by more text (Fowler–Noll–Vo), with the upper half of the product mixed in.
fn hash(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |hash, byte| {
        let mixed = (hash ^ u64::from(*byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 29
    })
}

#[cfg(test)]
mod tests {
    use super::Replacements;

    /// A table with one entry: A is replaced with "ab".
    fn character_map() -> Vec<u8> {
        let mut trie = vec![0_u32; 0x142];
        trie[0] = 0x100 << 10;
        trie[0x100 ^ 0x41] = 1 << 10 | 1 << 8 | 0x41;
        trie[0x140] = 1 << 31 | 2;
        let mut bytes = (trie.len() as u32 * 4).to_le_bytes().to_vec();
        bytes.extend(trie.iter().flat_map(|unit| unit.to_le_bytes()));
        bytes.extend(b"x\0ab\0");
        bytes
    }

    #[test]
    fn character_map_is_read_from_its_trie() {
        let map = Replacements::from_character_map(&character_map()).unwrap();
        assert_eq!(map.replacement_of('A'), Some(&['a', 'b'][..]));
        assert_eq!((map.replacement_of('B'), map.replacement_of('a')), (None, None));
    }

    #[test]
    fn damaged_character_map_is_an_error_or_has_no_entry() {
        let whole = character_map();
        for length in [0, 3, 4, 100, whole.len() - 6] {
            assert!(Replacements::from_character_map(&whole[..length]).is_err(), "{length}");
        }
        let mut elsewhere = whole;
        elsewhere[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(Replacements::from_character_map(&elsewhere).unwrap().replacement_of('A'), None);
    }
}
