//! One form for both ways to write Chinese: traditional characters are found by simplified ones.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use super::segment::is_han;

/// A traditional character and its simplified form in each line, ascending. Generated in `reference/` from the OpenCC
/// project's table; limited to the common unified ideographs (U+4E00 to U+9FFF), as rarer ones have no simplified
/// form in use.
const SIMPLIFIED_FORMS: &str = include_str!("simplified_forms.txt");

static SIMPLIFIED: LazyLock<HashMap<char, char>> = LazyLock::new(|| {
    let pair = |line: &str| {
        let mut characters = line.chars();
        characters.next().zip(characters.next())
    };
    SIMPLIFIED_FORMS.lines().filter_map(pair).collect()
});

/// The text with each traditional character replaced by its simplified form.
pub(super) fn simplify(text: &str) -> Cow<'_, str> {
    let form = |character: char| if is_han(character) { SIMPLIFIED.get(&character).copied() } else { None };
    if text.chars().all(|character| form(character).is_none()) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|character| form(character).unwrap_or(character)).collect())
}

#[cfg(test)]
mod tests {
    use super::{SIMPLIFIED, SIMPLIFIED_FORMS};
    use crate::{index_terms, query_terms};

    #[test]
    fn both_scripts_match() {
        assert_eq!(index_terms("我養了一隻貓"), index_terms("我养了一只猫"));
        let phrases = |text: &str| query_terms(text).into_iter().map(|term| term.phrase).collect::<Vec<_>>();
        assert_eq!(phrases("你還記得我的貓嗎"), phrases("你还记得我的猫吗"));
        assert_eq!(phrases("我妹妹在臺灣讀大學"), phrases("我妹妹在台湾读大学"));
    }

    #[test]
    fn japanese_words_are_not_changed() {
        let surfaces: Vec<String> = query_terms("電車の写真").into_iter().map(|term| term.surface).collect();
        assert_eq!(surfaces, ["電車", "写真"]);
        assert_eq!(index_terms("電車"), index_terms("电车"));
    }

    #[test]
    fn every_line_of_the_table_is_a_pair_and_traditional_forms_ascend() {
        assert!(SIMPLIFIED_FORMS.lines().all(|line| line.chars().count() == 2));
        assert!(SIMPLIFIED_FORMS.lines().map(|line| line.chars().next()).is_sorted_by(|a, b| a < b));
        assert_eq!(SIMPLIFIED.len(), SIMPLIFIED_FORMS.lines().count());
        assert!(SIMPLIFIED.iter().all(|(traditional, simple)| traditional != simple));
    }
}
