//! Splits text into the pieces of a vocabulary with scores: the likeliest sequence (Kudo 2018), as SentencePiece does.
//!
//! The vocabulary of a multilingual model has a quarter of a million pieces. They stay in one string with a table of
//! hashes beside it, about 7 MB; a map of strings would take ten times that.

use std::ops::Range;

use crate::readability::{Scripts, readability};
use crate::word_pieces::{MAX_BYTES, Pieces};

/// What stands for a space inside pieces.
const SPACE_MARK: char = '\u{2581}';
/// What an unknown character costs beyond the rarest piece.
const UNKNOWN_PENALTY: f32 = 10.0;
/// Bytes per piece that are looked at: more than any language needs, so that a book that is pasted costs no more than the
/// text that counts.
const BYTES_PER_PIECE: usize = 16;
const EMPTY: u32 = u32::MAX;

/// The pieces with their scores, and what characters are replaced with before splitting.
pub(crate) struct PieceTable {
    /// All pieces, one after the other.
    text: Vec<u8>,
    /// Where each piece begins, and at the end where the last one ends.
    bounds: Vec<u32>,
    /// Logarithms of probabilities.
    scores: Vec<f32>,
    /// Numbers of pieces by their hashes: the first free slot from the hash on.
    slots: Vec<u32>,
    longest: usize,
    unknown_score: f32,
    start: u32,
    end: u32,
    unknown: u32,
    replacements: Replacements,
}

/// What single characters are replaced with: full width by half width, white space by a space, ligatures by letters.
pub(crate) struct Replacements {
    /// Character, and where what replaces it ends in `replaced`; ascending.
    ends: Vec<(char, u32)>,
    replaced: Vec<char>,
}

impl Replacements {
    /// Reads `count` entries: the character, how many replace it, and these.
    ///
    /// # Errors
    /// What is wrong with them.
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

    /// What `character` is replaced with; none if it stays.
    fn of(&self, character: char) -> Option<&[char]> {
        let at = self.ends.binary_search_by_key(&character, |entry| entry.0).ok()?;
        let from = at.checked_sub(1).map_or(0, |before| self.ends[before].1);
        self.replaced.get(from as usize..self.ends[at].1 as usize)
    }
}

impl PieceTable {
    /// From the pieces in one string, their bounds, their scores, and the numbers of the marks for a text's start, its
    /// end, padding, and the unknown.
    ///
    /// # Errors
    /// What is wrong with them.
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

    /// Marks get no slot: `</s>` in a text is what somebody wrote, not its end. Beside those that are named, a score of 0
    /// tells a mark (`<mask>`), which no piece of a text has.
    fn fill_slots(&mut self, marks: &[u32]) {
        for id in 0..self.scores.len() as u32 {
            let piece = self.piece(id);
            if piece.is_empty() || marks.contains(&id) || self.scores[id as usize] == 0.0 {
                continue;
            }
            let mut at = self.slot(hash(EMPTY_HASH, piece));
            while self.slots[at] != EMPTY {
                at = (at + 1) % self.slots.len();
            }
            self.slots[at] = id;
        }
    }

    fn piece(&self, id: u32) -> &[u8] {
        &self.text[self.bounds[id as usize] as usize..self.bounds[id as usize + 1] as usize]
    }

    fn slot(&self, hash: u64) -> usize {
        // The number of slots is a power of two; the upper half of the product is mixed best.
        (hash >> 32) as usize & (self.slots.len() - 1)
    }

    fn find(&self, hash: u64, piece: &[u8]) -> Option<u32> {
        let mut at = self.slot(hash);
        // At most half of the slots are taken, so there is a free one.
        loop {
            match self.slots[at] {
                EMPTY => return None,
                id if self.piece(id) == piece => return Some(id),
                _ => at = (at + 1) % self.slots.len(),
            }
        }
    }

    /// Number of pieces.
    pub(crate) fn len(&self) -> usize {
        self.scores.len()
    }

    /// All pieces that are text.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        (0..self.len() as u32).filter_map(|id| std::str::from_utf8(self.piece(id)).ok())
    }

    /// The likeliest pieces of a text, and where in it there are characters that no piece has.
    fn likeliest(&self, text: &str) -> Vec<Piece> {
        let symbols = Symbols::of(text, &self.replacements);
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
                let Some(id) = self.find(hash_so_far, &bytes[..length]) else { continue };
                best[to].replace_by(Step { score: score + self.scores[id as usize], id, from });
            }
            best[from + 1].replace_by(Step { score: score + self.unknown_score, id: self.unknown, from });
        }
        let mut pieces = Vec::new();
        let mut at = count;
        while at > 0 {
            let step = best[at];
            pieces.push(Piece { id: step.id, source: symbols.source(step.from..at) });
            at = step.from;
        }
        pieces.reverse();
        pieces
    }
}

/// A piece of a text.
struct Piece {
    id: u32,
    /// The bytes of the text that it was made of.
    source: Range<usize>,
}

/// The best way to a place in the text.
#[derive(Clone, Copy)]
struct Step {
    score: f32,
    /// The piece that leads here.
    id: u32,
    /// Where it begins.
    from: usize,
}

impl Step {
    fn replace_by(&mut self, other: Self) {
        if other.score > self.score {
            *self = other;
        }
    }
}

/// A text as pieces are looked for in it: characters replaced, spaces as marks and never two in a row, one in front.
struct Symbols {
    text: String,
    /// Where each character begins in `text`, and at the end where the last one ends.
    bounds: Vec<usize>,
    /// The bytes of the original text that each character came from.
    sources: Vec<Range<usize>>,
}

impl Symbols {
    fn of(original: &str, replacements: &Replacements) -> Self {
        let mut symbols = Self { text: String::new(), bounds: vec![0], sources: Vec::new() };
        for (at, character) in original.char_indices() {
            let source = at..at + character.len_utf8();
            match replacements.of(character) {
                None => symbols.push(character, source),
                Some(replaced) => replaced.iter().for_each(|&one| symbols.push(one, source.clone())),
            }
        }
        if symbols.sources.is_empty() {
            symbols.push(' ', 0..0);
        }
        symbols
    }

    fn push(&mut self, character: char, source: Range<usize>) {
        if self.sources.is_empty() && character != ' ' {
            self.push(' ', source.start..source.start);
        }
        if character == ' ' && self.text.ends_with(SPACE_MARK) && !self.sources.is_empty() {
            return;
        }
        self.text.push(if character == ' ' { SPACE_MARK } else { character });
        self.bounds.push(self.text.len());
        self.sources.push(source);
    }

    fn source(&self, range: Range<usize>) -> Range<usize> {
        let of = |at: usize| self.sources.get(at).cloned().unwrap_or_default();
        of(range.start).start..of(range.end.saturating_sub(1)).end
    }
}

const EMPTY_HASH: u64 = 0xcbf2_9ce4_8422_2325;

/// Continues the hash of a text by more of it (Fowler, Noll and Vo), with the multiplication's upper half mixed in.
fn hash(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |hash, byte| {
        let mixed = (hash ^ u64::from(*byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 29
    })
}

/// Splits texts for a model whose pieces are in its own file.
pub(crate) struct UnigramPieces {
    table: PieceTable,
    max_pieces: usize,
    scripts: Scripts,
}

impl UnigramPieces {
    /// Without `scripts` the pieces say which the model reads.
    pub(crate) fn new(table: PieceTable, max_pieces: usize, scripts: Option<Scripts>) -> Self {
        let scripts = scripts.unwrap_or_else(|| Scripts::of_vocabulary(table.texts()));
        Self { table, max_pieces, scripts }
    }

    /// The scripts that the model reads, for a person.
    pub(crate) fn scripts(&self) -> Vec<String> {
        self.scripts.names()
    }

    /// The pieces of `prefix` and text, cut to the model's limit. Unknown characters in a row are one piece.
    pub(crate) fn split(&self, prefix: &str, text: &str) -> Pieces {
        let text = &text[..text.floor_char_boundary(MAX_BYTES)];
        let looked_at = &text[..text.floor_char_boundary(self.max_pieces * BYTES_PER_PIECE)];
        let found = self.table.likeliest(&format!("{prefix}{looked_at}"));
        let mut unknown: Vec<Range<usize>> = Vec::new();
        let mut ids = vec![self.table.start];
        let room = self.max_pieces - 1;
        for piece in found {
            let is_unknown = piece.id == self.table.unknown;
            if is_unknown && piece.source.end > prefix.len() {
                unknown
                    .push(piece.source.start.saturating_sub(prefix.len())..piece.source.end - prefix.len());
            }
            if ids.len() < room && !(is_unknown && ids.last() == Some(&piece.id)) {
                ids.push(piece.id);
            }
        }
        ids.push(self.table.end);
        Pieces { ids, readability: readability(text, &unknown, &self.scripts) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIECES: [(&str, f32); 12] = [
        ("<s>", 0.0),
        ("<pad>", 0.0),
        ("</s>", 0.0),
        ("<unk>", 0.0),
        ("▁my", -2.0),
        ("▁cat", -2.0),
        ("s", -3.0),
        ("▁", -4.0),
        ("我的", -2.0),
        ("我", -3.0),
        ("猫", -2.5),
        ("<mask>", 0.0),
    ];

    fn table(marks: [u32; 4]) -> Result<PieceTable, String> {
        let text: String = PIECES.iter().map(|(piece, _)| *piece).collect();
        let ends = PIECES.iter().scan(0, |end, (piece, _)| {
            *end += piece.len() as u32;
            Some(*end)
        });
        let bounds = std::iter::once(0).chain(ends).collect();
        let entry = |from: char, to: &[char]| {
            let mut bytes = u32::from(from).to_le_bytes().to_vec();
            bytes.push(to.len() as u8);
            bytes.extend(to.iter().flat_map(|one| u32::from(*one).to_le_bytes()));
            bytes
        };
        let bytes =
            [entry('\u{7}', &[]), entry('\n', &[' ']), entry('ﬀ', &['s', 's']), entry('ｃ', &['c'])].concat();
        let replacements = Replacements::read(4, &bytes)?;
        let scores = PIECES.iter().map(|(_, score)| *score).collect();
        PieceTable::new(text.into_bytes(), bounds, scores, marks, replacements)
    }

    fn split(text: &str) -> Vec<&'static str> {
        let pieces = UnigramPieces::new(table([0, 2, 1, 3]).unwrap(), 12, Some(Scripts::Every));
        pieces.split("", text).ids.into_iter().map(|id| PIECES[id as usize].0).collect()
    }

    #[test]
    fn the_likeliest_pieces_are_taken() {
        assert_eq!(split("my cats"), ["<s>", "▁my", "▁cat", "s", "</s>"]);
        assert_eq!(split("我的猫"), ["<s>", "▁", "我的", "猫", "</s>"]);
        assert_eq!(split("我猫"), ["<s>", "▁", "我", "猫", "</s>"]);
    }

    #[test]
    fn white_space_is_one_mark_and_characters_are_replaced() {
        assert_eq!(split("my \n  ｃat"), ["<s>", "▁my", "▁cat", "</s>"]);
        assert_eq!(split("my\u{7}ﬀ"), ["<s>", "▁my", "s", "s", "</s>"]);
        assert_eq!(split(""), ["<s>", "▁", "</s>"]);
        assert_eq!(split(" "), ["<s>", "▁", "</s>"]);
    }

    #[test]
    fn unknown_characters_in_a_row_are_one_piece() {
        assert_eq!(split("my 犬狗s"), ["<s>", "▁my", "▁", "<unk>", "s", "</s>"]);
    }

    #[test]
    fn a_mark_in_a_text_is_text() {
        assert_eq!(split("</s>"), ["<s>", "▁", "<unk>", "s", "<unk>", "</s>"]);
        assert!(!split("<mask>").contains(&"<mask>"));
    }

    #[test]
    fn a_long_text_is_cut_and_keeps_its_end_mark() {
        let ids = split(&"我的".repeat(20_000));
        assert_eq!((ids.len(), ids[0], ids[11]), (12, "<s>", "</s>"));
    }

    #[test]
    fn unknown_characters_are_unreadable_and_the_prefix_does_not_count() {
        let pieces = UnigramPieces::new(table([0, 2, 1, 3]).unwrap(), 12, Some(Scripts::Every));
        assert_eq!(pieces.split("我的 ", "猫犬").readability, 0.5);
        assert_eq!(pieces.split("犬 ", "猫").readability, 1.0);
    }

    #[test]
    fn damaged_tables_are_told() {
        assert!(table([0, 2, 1, 99]).is_err());
        assert!(Replacements::read(1, &[1, 0, 0]).is_err());
        assert!(Replacements::read(1, &[1, 0, 0, 0, 200]).is_err());
        assert!(Replacements::read(0, &[1]).is_err());
        let none = || Replacements::read(0, &[]).unwrap();
        for (bounds, scores) in [
            (vec![0, 9], vec![-1.0]),
            (vec![2, 0], vec![-1.0]),
            (vec![], vec![]),
            (vec![0, 2], vec![f32::NAN]),
            (vec![0, 2], vec![]),
        ] {
            assert!(PieceTable::new(b"ab".to_vec(), bounds, scores, [0; 4], none()).is_err());
        }
    }
}
