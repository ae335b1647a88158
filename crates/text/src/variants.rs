//! One form for the two ways to write Chinese: the characters of the traditional script are found by the simplified ones.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use ferrous_opencc::OpenCC;
use ferrous_opencc::config::BuiltinConfig;

use super::segment::is_han;

/// Characters that have another form in the simplified script. A table that can't be read leaves all as they are, so
/// that words are still found in the script in which they were written.
static SIMPLIFIED: LazyLock<HashMap<char, char>> = LazyLock::new(|| {
    let Ok(table) = OpenCC::from_config(BuiltinConfig::T2s) else { return HashMap::new() };
    // The unified ideographs of everyday use; rarer ones have no simplified form in use.
    let pairs = ('\u{4e00}'..='\u{9fff}').filter_map(|character| {
        let form = table.convert(character.encode_utf8(&mut [0; 4]));
        let mut forms = form.chars();
        forms
            .next()
            .filter(|simple| *simple != character && forms.next().is_none())
            .map(|simple| (character, simple))
    });
    pairs.collect()
});

/// The text with each traditional character in its simplified form, one for one.
pub(super) fn simplified(text: &str) -> Cow<'_, str> {
    let form = |character: char| if is_han(character) { SIMPLIFIED.get(&character).copied() } else { None };
    if text.chars().all(|character| form(character).is_none()) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|character| form(character).unwrap_or(character)).collect())
}

#[cfg(test)]
mod tests {
    use crate::{index_terms, query_terms};

    #[test]
    fn both_scripts_meet() {
        assert_eq!(index_terms("我養了一隻貓"), index_terms("我养了一只猫"));
        let phrases = |text: &str| query_terms(text).into_iter().map(|term| term.phrase).collect::<Vec<_>>();
        assert_eq!(phrases("你還記得我的貓嗎"), phrases("你还记得我的猫吗"));
        assert_eq!(phrases("我妹妹在臺灣讀大學"), phrases("我妹妹在台湾读大学"));
    }

    #[test]
    fn japanese_words_stay_whole() {
        let surfaces: Vec<String> = query_terms("電車の写真").into_iter().map(|term| term.surface).collect();
        assert_eq!(surfaces, ["電車", "写真"]);
        assert_eq!(index_terms("電車"), index_terms("电车"));
    }
}
