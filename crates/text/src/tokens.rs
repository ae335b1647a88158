//! Estimates the tokens of a text.

use super::segment::is_unspaced;

/// Characters of a spaced script per token: the usual estimate for English with byte-pair vocabularies.
const CHARACTERS_PER_TOKEN: usize = 4;

/// Estimated tokens of a text: one per character of an unspaced script (Han, kana, Hangul, Thai …), one per four
/// other characters, rounded up. It uses no vocabulary, so the estimate is the same for every model.
pub fn estimate_tokens(text: &str) -> u32 {
    let unspaced = text.chars().filter(|&character| is_unspaced(character)).count();
    let others = text.chars().count() - unspaced;
    u32::try_from(unspaced + others.div_ceil(CHARACTERS_PER_TOKEN)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_scripts_are_counted() {
        assert_eq!(estimate_tokens(""), 0);
        assert_eq!(estimate_tokens("hello"), 2);
        assert_eq!(estimate_tokens("我养了一只猫"), 6);
        assert_eq!(estimate_tokens("我用Rust"), 3);
    }
}
