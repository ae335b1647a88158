//! Selects the part of a memory that answers a query.

use super::chunks::split_into_chunks;
use crate::names::Granularity;

/// Maximum length of an excerpt, in characters; a memory of that length is returned whole. Ten of them are 5,000
/// tokens of English.
const EXCERPT_LENGTH: usize = 2_000;
/// Maximum length of an excerpt of a significant memory, in characters. People mark memories as significant, so they
/// are worth more room.
const SIGNIFICANT_LENGTH: usize = 10_000;

/// The whole memory if it is short, else its title, the best chunk, and as much around it as fits.
pub(super) fn excerpt(granularity: Granularity, content: &str, piece: usize) -> String {
    let longest = match granularity {
        Granularity::Significant => SIGNIFICANT_LENGTH,
        _ => EXCERPT_LENGTH,
    };
    if content.chars().count() <= longest {
        return content.trim_end().to_owned();
    }
    let pieces = split_into_chunks(content);
    let Some(best) = pieces.get(piece) else { return shorten(content, longest) };
    let title = content.lines().next().filter(|line| line.starts_with('#') && best.start > 0);
    let title = title.map(|line| format!("{line}\n…\n")).unwrap_or_default();
    let room = longest.saturating_sub(title.chars().count() + 2);
    let (mut first, mut last) = (piece, piece);
    loop {
        let length = |from: usize, to: usize| content[pieces[from].start..pieces[to].end].chars().count();
        if first > 0 && length(first - 1, last) <= room {
            first -= 1;
        } else if last + 1 < pieces.len() && length(first, last + 1) <= room {
            last += 1;
        } else {
            break;
        }
    }
    let part = &content[pieces[first].start..pieces[last].end];
    let title = if first == 0 { "" } else { &title };
    let ending = if last + 1 < pieces.len() { "\n…" } else { "" };
    format!("{title}{}{ending}", part.trim_end())
}

fn shorten(text: &str, longest: usize) -> String {
    text.chars().take(longest).collect()
}
