//! Words that only deleted texts contained: derived texts with one of them are removed too.

use crate::ports::Phrase;
use crate::text::query_terms;

/// True if a text contains a content word that is in one of the removed texts and in none of the remaining ones.
/// `gone` and `left` are index terms ([`crate::text::index_terms`]); function words don't count. A word that is in no
/// text is the writer's own and is not lost.
///
/// If applied for one deletion after another, the result does not depend on their order: a word is lost with the last
/// text that contains it.
pub fn has_removed_words(text: &str, gone: &[&str], left: &[&str]) -> bool {
    let stands = |texts: &[&str], phrase: &Phrase| texts.iter().any(|terms| contains_phrase(terms, phrase));
    query_terms(text).iter().any(|term| {
        let words = std::iter::once(&term.phrase).chain(&term.parts);
        words.into_iter().any(|phrase| stands(gone, phrase) && !stands(left, phrase))
    })
}

/// True if the terms contain the phrase's terms consecutively.
fn contains_phrase(terms: &str, phrase: &Phrase) -> bool {
    let wanted = &phrase.0;
    if wanted.is_empty() {
        return false;
    }
    let terms: Vec<&str> = terms.split(' ').collect();
    terms.windows(wanted.len()).any(|window| window == wanted.as_slice())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::index_terms;

    fn is_lost(text: &str, gone: &[&str], left: &[&str]) -> bool {
        let terms = |texts: &[&str]| texts.iter().map(|text| index_terms(text)).collect::<Vec<_>>();
        let (gone, left) = (terms(gone), terms(left));
        let gone: Vec<&str> = gone.iter().map(String::as_str).collect();
        let left: Vec<&str> = left.iter().map(String::as_str).collect();
        has_removed_words(text, &gone, &left)
    }

    #[test]
    fn a_name_is_removed_with_its_only_message() {
        assert!(is_lost("用户养了一只猫,叫小黑", &["它叫小黑"], &["我养了一只猫"]));
        assert!(!is_lost("用户养了一只猫,叫小黑", &["它叫小黑"], &["我养了一只猫", "小黑睡了"]));
        assert!(is_lost("The user has a cat named Coal", &["He is Coal"], &["I have a cat"]));
        assert!(!is_lost("The user has a cat named Coal", &["He is Coal"], &["I have a cat, Coal"]));
    }

    #[test]
    fn the_writers_own_words_and_function_words_are_not_lost() {
        assert!(!is_lost("The user moved house", &["and then you said it"], &["I moved"]));
        assert!(!is_lost("用户搬家了", &["嗯嗯"], &["我搬家了"]));
    }

    #[test]
    fn a_character_is_not_found_across_a_word_that_stays() {
        assert!(!is_lost("用户喜欢黑猫", &["小狗"], &["我喜欢黑猫"]));
    }
}
