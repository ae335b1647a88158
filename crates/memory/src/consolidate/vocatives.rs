//! Forms of address: a name that is only used to address somebody is the persona's, the user's or an endearment, not
//! a new entity.

use crate::entities::fold_name;
use crate::messages::Message;
use crate::ports::MentionedEntity;
use crate::text::at_word_borders;
use crate::text::lexicon::names as lexicon;

/// Characters that separate a form of address from the rest of the sentence.
const PAUSE_MARKS: &[char] = &[',', '!', '~', '?', '.', ':', '\u{3002}', '\u{3001}', '\u{2026}'];

/// The entities without those whose name is only used to address somebody. Known ones, and those in a description,
/// stay.
pub(super) fn without_vocatives(
    mentioned: Vec<MentionedEntity>,
    messages: &[Message],
    persona_name: &str,
    stays: impl Fn(&str) -> bool,
) -> Vec<MentionedEntity> {
    let folded: Vec<String> = messages.iter().map(|message| fold_name(&message.content)).collect();
    let persona = fold_name(persona_name);
    let is_called = |entity: &MentionedEntity| {
        let names: Vec<String> = std::iter::once(&entity.canonical_name)
            .chain(&entity.aliases)
            .map(|name| fold_name(name))
            .collect();
        if names.iter().any(|name| *name == persona || lexicon::ENDEARMENTS.contains(name)) {
            return true;
        }
        if names.iter().any(|name| stays(name)) {
            return false;
        }
        let mut mentions = folded
            .iter()
            .flat_map(|text| names.iter().flat_map(|name| vocatives_among_mentions(text, name)))
            .peekable();
        mentions.peek().is_some() && mentions.all(|called| called)
    };
    mentioned.into_iter().filter(|entity| !is_called(entity)).collect()
}

/// For each occurrence of the name, true if somebody is addressed with it.
fn vocatives_among_mentions(text: &str, name: &str) -> Vec<bool> {
    if name.is_empty() {
        return Vec::new();
    }
    let places = text.match_indices(name).filter(|(at, found)| at_word_borders(text, *at, at + found.len()));
    places.map(|(at, found)| is_vocative_at(text, at, at + found.len())).collect()
}

/// True if a name is a form of address: separated by pauses or the ends of the text, and not followed by an
/// explanation.
fn is_vocative_at(text: &str, start: usize, end: usize) -> bool {
    let before = text[..start].trim_end();
    let after = text[end..].trim_start();
    let opens = before.is_empty()
        || before.ends_with(PAUSE_MARKS)
        || matches!(before, "hi" | "hey" | "hello" | "嗨" | "嘿" | "喂");
    let closes = after.is_empty() || after.starts_with(PAUSE_MARKS);
    // A name alone is an answer ("What is she called?" "Shadow"), not a form of address.
    if !opens || !closes || (before.is_empty() && after.trim_matches(PAUSE_MARKS).trim().is_empty()) {
        return false;
    }
    let rest = after.trim_start_matches(PAUSE_MARKS).trim_start();
    !lexicon::EXPLANATIONS.begin(rest)
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{persona_says, user_says};
    use super::*;
    use crate::entities::EntityKind;

    fn person(name: &str) -> MentionedEntity {
        MentionedEntity { canonical_name: name.to_owned(), aliases: Vec::new(), kind: EntityKind::Person }
    }

    fn candidate_names(names: &[&str], lines: &[&str]) -> Vec<String> {
        let messages: Vec<Message> = lines.iter().map(|line| user_says(line)).collect();
        let mentioned = names.iter().map(|name| person(name)).collect();
        let left = without_vocatives(mentioned, &messages, "Echo", |name| name == "known");
        left.into_iter().map(|entity| entity.canonical_name).collect()
    }

    #[test]
    fn names_used_as_an_address_create_no_entity() {
        assert!(candidate_names(&["小雨"], &["小雨,我回来了"]).is_empty());
        assert!(candidate_names(&["Luna"], &["Luna, I'm back!", "good night, Luna"]).is_empty());
        assert!(candidate_names(&["Luna"], &["hey Luna, how are you?"]).is_empty());
        assert!(
            candidate_names(&["Echo", "亲爱的", "Honey"], &["我很想 echo"]).is_empty(),
            "whatever stands around them"
        );
    }

    #[test]
    fn names_that_are_discussed_stay() {
        assert_eq!(candidate_names(&["小黑"], &["小黑,我回来了", "小黑今天生病了"]), ["小黑"]);
        assert_eq!(candidate_names(&["Tom"], &["Tom, my brother, is ill"]), ["Tom"]);
        assert_eq!(candidate_names(&["小黑"], &["小黑,我家的猫"]), ["小黑"]);
        assert_eq!(candidate_names(&["Shadow"], &["Shadow."]), ["Shadow"], "an answer");
        assert_eq!(candidate_names(&["Known"], &["Known, I'm back"]), ["Known"]);
    }

    #[test]
    fn the_personas_calls_count_as_calls_too() {
        let messages = [persona_says("小明,你回来了"), user_says("嗯嗯")];
        assert!(without_vocatives(vec![person("小明")], &messages, "Echo", |_| false).is_empty());
    }
}
