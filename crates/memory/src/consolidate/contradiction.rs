//! Two events that can't both be current: the same of the same, with another value.

use crate::entities::fold_name;

/// Words between whom a sentence is about and a value that one has once only, by what they say. A longer form stands before
/// the shorter one that it contains.
const RELATIONS: &[(&str, &[&str])] = &[
    (
        "home",
        &[
            " is now living in ",
            " is living in ",
            " now lives in ",
            " lives in ",
            " has moved to ",
            " moved to ",
            "现在住在",
            "搬到了",
            "搬去了",
            "搬到",
            "搬去",
            "住在",
        ],
    ),
    (
        "name",
        &[
            " is now called ",
            " is now named ",
            " is called ",
            " is named ",
            "'s name is now ",
            "'s name is ",
            "改名叫",
            "现在叫",
            "的名字是",
            "名字叫",
            "名叫",
            "叫做",
            "叫",
        ],
    ),
    ("work", &[" now works at ", " works at ", " now works for ", " works for ", "现在就职于", "就职于"]),
    ("birthday", &["'s birthday is on ", "'s birthday is ", "的生日是"]),
    ("age", &[" is now aged ", " is aged "]),
];
/// Words around a value that are no part of it.
const AROUND: &[&str] = &["now", "anymore", "these days", "现在", "如今", "目前", "了"];
/// A sentence with one of these tells no plain fact.
const NOT_PLAIN: &[char] = &['"', '\u{201c}', '「', '?', '？'];

/// Whom a plain sentence is about, what of it, and the value.
#[derive(Debug, PartialEq, Eq)]
struct Attribute {
    subject: String,
    relation: &'static str,
    value: String,
}

/// Whether the newer text gives another value to what the older one tells, so that only one of them can be current.
pub(super) fn contradicts(newer: &str, older: &str) -> bool {
    let (Some(newer), Some(older)) = (attribute(newer), attribute(older)) else { return false };
    newer.subject == older.subject && newer.relation == older.relation && newer.value != older.value
}

fn attribute(text: &str) -> Option<Attribute> {
    if text.contains(NOT_PLAIN) {
        return None;
    }
    let folded = fold_name(text);
    let sentence = folded.split(['。', '；', ';', '\n']).next().unwrap_or_default().trim_end_matches('.');
    RELATIONS.iter().find_map(|(relation, words)| {
        let (before, after) = words.iter().find_map(|word| sentence.split_once(word))?;
        let value = after.split(['，', ',', '（', '(']).next().unwrap_or_default();
        let (subject, value) = (bare(before), bare(value));
        let is_one = !subject.contains(['，', ',']);
        (is_one && !subject.is_empty() && !value.is_empty()).then_some(Attribute { subject, relation, value })
    })
}

/// Without the words around it that are no part of it.
fn bare(text: &str) -> String {
    let mut left = text.trim();
    loop {
        let shorter = AROUND.iter().fold(left, |left, word| {
            let left = left.strip_suffix(word).unwrap_or(left).trim_end();
            left.strip_prefix(word).unwrap_or(left).trim_start()
        });
        if shorter == left {
            return left.to_owned();
        }
        left = shorter;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_value_of_the_same_contradicts() {
        for (newer, older) in [
            ("The user lives in Lyon", "The user lives in Berlin."),
            ("The user moved to Lyon", "The user lives in Berlin"),
            ("The user's cat is called Snow now", "The user's cat is called Mochi"),
            ("用户搬到了里昂", "用户住在柏林"),
            ("用户的猫现在叫小白", "用户的猫叫小黑"),
            ("用户现在住在里昂。", "用户住在柏林。"),
        ] {
            assert!(contradicts(newer, older), "{newer} / {older}");
        }
    }

    #[test]
    fn what_can_both_be_so_does_not() {
        for (newer, older) in [
            ("The user lives in Berlin now", "The user lives in Berlin"),
            ("The user's sister lives in Lyon", "The user lives in Berlin"),
            ("The user's dog is called Snow", "The user's cat is called Mochi"),
            ("The user works at a bank", "The user lives in Berlin"),
            ("The user said \"lives in Lyon\"", "The user lives in Berlin"),
            ("用户的姐姐住在里昂", "用户住在柏林"),
            ("用户养了一只猫", "用户的猫叫小黑"),
        ] {
            assert!(!contradicts(newer, older), "{newer} / {older}");
        }
    }
}
