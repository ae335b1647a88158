//! Word boundaries, in scripts with and without spaces.

use super::is_unspaced;

/// True if the stretch `start..end` of the text (byte positions) begins and ends at a word boundary: `ann` does not
/// in `planning`, 小黑 does anywhere.
pub fn at_word_borders(text: &str, start: usize, end: usize) -> bool {
    let parted = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() && !is_unspaced(c));
    let inside = &text[start..end];
    let cuts_before = parted(inside.chars().next()) && parted(text[..start].chars().next_back());
    let cuts_after = parted(inside.chars().next_back()) && parted(text[end..].chars().next());
    !cuts_before && !cuts_after
}
