//! Attribution of facts: a sister's allergy is not the user's.

use crate::entities::{fold_name, is_named_in_text};
use crate::text::at_word_borders;
use crate::text::lexicon::people as lexicon;

/// Maximum words between "my" and the person ("my older sister"). More would connect "my" to a person of the next
/// phrase.
const WORDS_AFTER_MY_MAX: usize = 2;
/// Characters that end a clause.
const CLAUSE_ENDS: &[char] = &[
    ',', ';', '.', '!', '?', ':', '\n', '\u{ff0c}', '\u{ff1b}', '\u{3002}', '\u{ff01}', '\u{ff1f}',
    '\u{ff1a}', '\u{3001}', '\u{2014}',
];
/// Phrases for the user at the start of a description, each with what may follow.
const USER_SUBJECTS: &[(&str, &str)] =
    &[("用户", "用户的"), ("the user ", "the user's"), ("user ", "user's")];

/// The person that a quote is about, if that is not the user although the description says so. `names` are the folded
/// names of people; `start` is the offset of the quote, in characters.
pub(super) fn other_person_of_quote(
    description: &str,
    content: &str,
    start: usize,
    names: &[String],
) -> Option<String> {
    let description = fold_name(description);
    let about_user = USER_SUBJECTS
        .iter()
        .any(|(subject, owner)| description.starts_with(subject) && !description.starts_with(owner));
    if !about_user
        || first_person_or_somebody(&description, names).is_some_and(|found| found.somebody.is_some())
    {
        return None;
    }
    let said: String = content.chars().take(start).collect();
    let clauses: Vec<&str> = content.split(CLAUSE_ENDS).collect();
    let at = said.matches(CLAUSE_ENDS).count();
    // A clause without a subject continues that of the clause before.
    for clause in clauses.get(..=at)?.iter().rev() {
        let clause = fold_name(clause);
        if let Some(found) = first_person_or_somebody(&clause, names) {
            let somebody = found.somebody?;
            let rest = &clause[found.end..];
            return if has_first_person(rest) { None } else { Some(somebody) };
        }
    }
    None
}

/// The first person named in a clause: the speaker (`None`), or somebody else.
struct Person {
    somebody: Option<String>,
    start: usize,
    end: usize,
}

fn first_person_or_somebody(clause: &str, names: &[String]) -> Option<Person> {
    let somebody = names
        .iter()
        .map(|name| -> &str { name })
        .chain(lexicon::PEOPLE.iter().map(|word| -> &str { word }))
        .filter_map(|word| find_word(clause, word).map(|start| (start, word)))
        .min_by_key(|(start, word)| (*start, std::cmp::Reverse(word.len())))
        .map(|(start, word)| Person { somebody: Some(word.to_owned()), start, end: start + word.len() });
    let speaker = lexicon::FIRST_PERSON
        .iter()
        .filter_map(|word| find_word(clause, word).map(|start| (start, word)))
        .min_by_key(|(start, _)| *start)
        .map(|(start, word)| Person { somebody: None, start, end: start + word.len() });
    match (speaker, somebody) {
        (Some(speaker), Some(somebody)) if speaker.start < somebody.start => {
            let owns = only_names_owner(&clause[..somebody.start], speaker.start);
            Some(if owns { somebody } else { speaker })
        }
        (speaker, somebody) => somebody.or(speaker),
    }
}

/// True if the words before a person only say whose relative or friend it is ("我的", "my older").
fn only_names_owner(before: &str, from: usize) -> bool {
    let before = before[from..].trim();
    lexicon::POSSESSIVES.iter().any(|possessive| {
        before.strip_prefix(possessive).is_some_and(|rest| {
            let rest = rest.trim();
            rest.is_empty()
                || (rest.is_ascii() && rest.split(' ').count() <= WORDS_AFTER_MY_MAX && before.is_ascii())
        })
    })
}

fn has_first_person(text: &str) -> bool {
    lexicon::FIRST_PERSON.iter().any(|word| find_word(text, word).is_some())
}

fn find_word(text: &str, word: &str) -> Option<usize> {
    if !is_named_in_text(text, word) {
        return None;
    }
    // 其他 and 吉他 contain 他 but refer to nobody.
    let inside_a_word = |at: usize| word == "他" && text[..at].ends_with(['其', '吉']);
    text.match_indices(word)
        .map(|(at, _)| at)
        .find(|at| at_word_borders(text, *at, at + word.len()) && !inside_a_word(*at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn other_person_in(description: &str, content: &str, quote: &str) -> Option<String> {
        let (start, _) = crate::text::find_quote(content, quote).unwrap();
        other_person_of_quote(description, content, start, &["小明".to_owned(), "anna".to_owned()])
    }

    #[test]
    fn a_third_partys_allergy_is_not_the_users() {
        for (description, content, quote) in [
            ("用户对花生过敏", "我妹妹对花生过敏", "对花生过敏"),
            ("用户对花生过敏", "小明对花生过敏", "小明对花生过敏"),
            ("用户对花生过敏", "我妹妹六月结婚,对花生过敏", "对花生过敏"),
            (
                "The user is allergic to peanuts",
                "My older sister is allergic to peanuts.",
                "allergic to peanuts",
            ),
            ("The user is allergic to peanuts", "Anna is allergic to peanuts", "is allergic to peanuts"),
            ("User is allergic to peanuts", "she is allergic to peanuts", "allergic to peanuts"),
        ] {
            assert!(other_person_in(description, content, quote).is_some(), "{description} ← {content}");
        }
    }

    #[test]
    fn statements_about_the_user_or_attributed_to_others_pass() {
        for (description, content, quote) in [
            ("用户对花生过敏", "我对花生过敏", "对花生过敏"),
            ("用户对花生过敏", "小明,我对花生过敏", "我对花生过敏"),
            ("用户的妹妹对花生过敏", "我妹妹对花生过敏", "对花生过敏"),
            ("用户有个妹妹,对花生过敏", "我妹妹对花生过敏", "对花生过敏"),
            ("用户去了巴黎", "我和妹妹去了巴黎", "去了巴黎"),
            ("用户去了巴黎", "妹妹和我去了巴黎", "去了巴黎"),
            ("用户被骂了", "老板骂了我一顿", "骂了我一顿"),
            ("用户养了一只猫", "养了一只猫", "养了一只猫"),
            ("The user was fired", "My boss fired me", "fired me"),
            ("The user went to Paris", "my sister and I went to Paris", "went to Paris"),
            ("The user's sister is allergic", "my sister is allergic", "is allergic"),
            ("The user has a sister who is allergic", "my sister is allergic", "is allergic"),
            ("The user has a sore leg", "my leg hurts", "leg hurts"),
        ] {
            assert_eq!(other_person_in(description, content, quote), None, "{description} ← {content}");
        }
    }
}
