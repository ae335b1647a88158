//! Text chunks of a PNG file. A wrong length ends the file with an error; nothing beyond the file is read.

use std::io::Read;

use flate2::Crc;
use flate2::read::ZlibDecoder;

use crate::limits::DOCUMENT_BYTES_MAX;

pub(super) const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Maximum chunks of one picture. Large pictures have some thousands; a file with more is an attack.
const CHUNKS_MAX: usize = 100_000;

/// A picture split into its chunks.
pub(crate) struct Png<'a> {
    chunks: Vec<Chunk<'a>>,
}

struct Chunk<'a> {
    /// The chunk with its length, kind and checksum.
    whole: &'a [u8],
    /// Keyword and text of a text chunk.
    text: Option<(String, String)>,
}

impl<'a> Png<'a> {
    /// Splits a picture into chunks; fails if a chunk is longer than the file.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, String> {
        let mut rest = bytes.strip_prefix(SIGNATURE).ok_or("it is not a PNG picture")?;
        let mut chunks = Vec::new();
        while !rest.is_empty() {
            let (length, kind) = match rest {
                [a, b, c, d, kind @ ..] if kind.len() >= 4 => {
                    (u32::from_be_bytes([*a, *b, *c, *d]), &kind[..4])
                }
                _ => return Err("the picture ends in the middle of a chunk".to_owned()),
            };
            let end =
                usize::try_from(length).ok().and_then(|length| length.checked_add(12)).unwrap_or(usize::MAX);
            if end > rest.len() {
                return Err("a chunk of the picture claims to be longer than the file".to_owned());
            }
            if chunks.len() >= CHUNKS_MAX {
                return Err(format!("the picture has more than {CHUNKS_MAX} chunks"));
            }
            let (whole, after) = rest.split_at(end);
            let data = &whole[8..end - 4];
            chunks.push(Chunk { whole, text: text_chunk(kind, data) });
            let is_end = kind == b"IEND";
            rest = after;
            if is_end {
                break;
            }
        }
        Ok(Self { chunks })
    }

    /// The text of the first chunk with this keyword, ignoring case.
    pub(super) fn chunk_text(&self, keyword: &str) -> Option<&String> {
        let texts = self.chunks.iter().filter_map(|chunk| chunk.text.as_ref());
        texts.into_iter().find(|(own, _)| own.eq_ignore_ascii_case(keyword)).map(|(_, text)| text)
    }

    /// The picture without text chunks of these keywords.
    pub(super) fn without_texts(&self, keywords: &[&str]) -> Vec<u8> {
        let mut bytes = SIGNATURE.to_vec();
        for chunk in self.chunks.iter().filter(|chunk| !chunk.has_keyword(keywords)) {
            bytes.extend_from_slice(chunk.whole);
        }
        bytes
    }

    /// The picture with these texts added at its end, by keyword; they replace those with the same keywords. Texts
    /// are ASCII.
    pub(crate) fn with_texts(&self, texts: &[(&str, &str)]) -> Vec<u8> {
        let keywords: Vec<&str> = texts.iter().map(|(keyword, _)| *keyword).collect();
        let mut bytes = SIGNATURE.to_vec();
        let (end, others): (Vec<_>, Vec<_>) = self
            .chunks
            .iter()
            .filter(|chunk| !chunk.has_keyword(&keywords))
            .partition(|chunk| &chunk.whole[4..8] == b"IEND");
        others.into_iter().for_each(|chunk| bytes.extend_from_slice(chunk.whole));
        for (keyword, text) in texts {
            let mut chunk = b"tEXt".to_vec();
            chunk.extend_from_slice(keyword.as_bytes());
            chunk.push(0);
            chunk.extend_from_slice(text.as_bytes());
            let mut checksum = Crc::new();
            checksum.update(&chunk);
            let length = u32::try_from(chunk.len() - 4).unwrap_or(u32::MAX);
            bytes.extend_from_slice(&length.to_be_bytes());
            bytes.extend_from_slice(&chunk);
            bytes.extend_from_slice(&checksum.sum().to_be_bytes());
        }
        end.into_iter().for_each(|chunk| bytes.extend_from_slice(chunk.whole));
        bytes
    }
}

impl Chunk<'_> {
    fn has_keyword(&self, keywords: &[&str]) -> bool {
        let own = self.text.as_ref().map(|(keyword, _)| keyword);
        own.is_some_and(|own| keywords.iter().any(|keyword| own.eq_ignore_ascii_case(keyword)))
    }
}

/// Keyword and text of `tEXt`, `zTXt` and `iTXt`.
fn text_chunk(kind: &[u8], data: &[u8]) -> Option<(String, String)> {
    let (keyword, rest) = split_at_zero(data)?;
    let keyword = from_latin1(keyword);
    let text = match kind {
        b"tEXt" => from_latin1(rest),
        b"zTXt" => String::from_utf8_lossy(&inflate(rest.get(1..)?)?).into_owned(),
        b"iTXt" => {
            let (flag, rest) = rest.split_first()?;
            let (_language, rest) = split_at_zero(rest.get(1..)?)?;
            let (_translated, text) = split_at_zero(rest)?;
            let text = if *flag == 1 { inflate(text)? } else { text.to_vec() };
            String::from_utf8_lossy(&text).into_owned()
        }
        _ => return None,
    };
    Some((keyword, text))
}

fn split_at_zero(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = data.iter().position(|byte| *byte == 0)?;
    Some((&data[..at], &data[at + 1..]))
}

fn from_latin1(bytes: &[u8]) -> String {
    // The standard says Latin-1, but programs write UTF-8.
    std::str::from_utf8(bytes)
        .map_or_else(|_| bytes.iter().map(|byte| char::from(*byte)).collect(), str::to_owned)
}

fn inflate(compressed: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = DOCUMENT_BYTES_MAX as u64;
    ZlibDecoder::new(compressed).take(limit + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() <= DOCUMENT_BYTES_MAX).then_some(bytes)
}
