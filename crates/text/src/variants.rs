//! One form for both ways to write Chinese: traditional characters are found by simplified ones.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

/// A traditional character and its simplified form in each line, ascending. Generated in `reference/` from the OpenCC
/// project's table; limited to the common unified ideographs (U+4E00 to U+9FFF), as rarer ones have no simplified
/// form in use.
const SIMPLIFIED_FORMS: &str = include_str!("simplified_forms.txt");

/// First and last character of the table.
const TABLE_RANGE: RangeInclusive<char> = '\u{4e00}'..='\u{9fff}';

/// The form of each character of [`TABLE_RANGE`]: itself, if it has no simpler one. An array, because every character
/// of a Chinese message is looked up twice.
static SIMPLIFIED: LazyLock<Box<[char]>> = LazyLock::new(|| {
    let mut forms: Box<[char]> = TABLE_RANGE.collect();
    for line in SIMPLIFIED_FORMS.lines() {
        let mut characters = line.chars();
        if let (Some(traditional), Some(simple)) = (characters.next(), characters.next())
            && let Some(form) = table_index(traditional).and_then(|index| forms.get_mut(index))
        {
            *form = simple;
        }
    }
    forms
});

fn table_index(character: char) -> Option<usize> {
    (character as usize).checked_sub(*TABLE_RANGE.start() as usize)
}

/// The text with each traditional character replaced by its simplified form.
pub(super) fn simplify(text: &str) -> Cow<'_, str> {
    let forms: &[char] = &SIMPLIFIED;
    let simple_form =
        |character: char| table_index(character).and_then(|at| forms.get(at)).copied().unwrap_or(character);
    if text.chars().all(|character| simple_form(character) == character) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(simple_form).collect())
}

#[cfg(test)]
mod tests {
    use super::{SIMPLIFIED, SIMPLIFIED_FORMS, TABLE_RANGE};
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
        let changed = TABLE_RANGE.zip(SIMPLIFIED.iter()).filter(|(character, form)| character != *form);
        assert_eq!(changed.count(), SIMPLIFIED_FORMS.lines().count());
    }
}
