//! Pieces of a model whose vocabulary is in its own packed file.

use std::ops::Range;

use crate::readability::{Scripts, readability};
use crate::tokenizer::unigram::PieceTable;
use crate::word_pieces::{MAX_BYTES, Pieces};

/// Maximum bytes per piece that are read. No language needs more, so a pasted book costs no more than the part that
/// counts.
const BYTES_PER_PIECE: usize = 16;

/// Splits texts for a model whose packed file contains the pieces.
pub(crate) struct UnigramPieces {
    table: PieceTable,
    max_pieces: usize,
    scripts: Scripts,
}

impl UnigramPieces {
    /// Without `scripts`, the pieces determine which scripts the model reads.
    pub(crate) fn new(table: PieceTable, max_pieces: usize, scripts: Option<Scripts>) -> Self {
        let scripts = scripts.unwrap_or_else(|| Scripts::of_vocabulary(table.text_pieces()));
        Self { table, max_pieces, scripts }
    }

    /// The scripts that the model reads, as shown to people.
    pub(crate) fn scripts(&self) -> Vec<String> {
        self.scripts.script_names()
    }

    /// Splits `prefix` and text into pieces, cut to the model's limit. Consecutive unknown characters are one piece.
    pub(crate) fn split(&self, prefix: &str, text: &str) -> Pieces {
        let text = &text[..text.floor_char_boundary(MAX_BYTES)];
        let looked_at = &text[..text.floor_char_boundary(self.max_pieces * BYTES_PER_PIECE)];
        let found = self.table.likeliest_pieces(self.table.symbols_of(&format!("{prefix}{looked_at}")));
        let mut unknown: Vec<Range<usize>> = Vec::new();
        let (start, end) = self.table.boundary_ids();
        let mut ids = vec![start];
        let room = self.max_pieces - 1;
        for piece in found {
            let is_unknown = self.table.is_unknown(piece.id);
            if is_unknown && piece.source.end > prefix.len() {
                unknown
                    .push(piece.source.start.saturating_sub(prefix.len())..piece.source.end - prefix.len());
            }
            if ids.len() < room && !(is_unknown && ids.last() == Some(&piece.id)) {
                ids.push(piece.id);
            }
        }
        ids.push(end);
        Pieces { ids, readability: readability(text, &unknown, &self.scripts) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::unigram::Replacements;

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
    fn special_tokens_in_a_text_are_text() {
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
    fn damaged_tables_are_reported() {
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
