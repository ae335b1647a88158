//! Finds the speakers' names in a text.

use super::settings::SpeakerNames;
use crate::messages::Role;
use crate::text::lexicon::names as lexicon;
use crate::text::{Language, at_word_borders, is_function_word, is_unspaced};

/// Minimum letters of the first word of a name that is used as a name by itself. Shorter ones, such as "Al" or "Jo",
/// are too often words or syllables of other languages.
const GIVEN_NAME_MIN: usize = 3;

/// A text in which the speakers' names are resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedSpeakers {
    /// The text from the named speaker's view: names become "I", "my", 我; a name used only to address somebody is
    /// removed. Messages are in the first person, and a text with a name is most similar to greetings with that name.
    pub(super) spoken: String,
    /// The speaker whom the text is about; `None` if it names neither or both.
    pub(super) speaker: Option<Role>,
}

/// Finds the names, ignoring case, at word boundaries.
pub(super) fn name_speakers(text: &str, names: &SpeakerNames) -> NamedSpeakers {
    let mut known: Vec<(&str, Role)> = Vec::new();
    known.extend(names.user.iter().map(|name| (name.as_str(), Role::User)));
    known.extend(names.persona.iter().map(|name| (name.as_str(), Role::Persona)));
    known.retain(|(name, _)| !name.trim().is_empty());
    let given: Vec<(&str, Role)> =
        known.iter().filter_map(|&(name, role)| Some((given_name(name)?, role))).collect();
    // If one name begins with another, the longer one counts.
    known.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    let chinese = Language::from_text(text) == Some(Language::Chinese);
    let mut spoken = String::with_capacity(text.len());
    let mut roles: Vec<Role> = Vec::new();
    let mut at = 0;
    while let Some(character) = text[at..].chars().next() {
        let found = known.iter().find_map(|&(name, role)| Some((end_of_name(text, at, name)?, role)));
        // "Will" counts as a name only if it is written as one: "will you come" addresses nobody.
        let as_written = |(name, _): &&(&str, Role)| text[at..].starts_with(name);
        let found = found.or_else(|| {
            given
                .iter()
                .filter(as_written)
                .find_map(|&(name, role)| Some((end_of_name(text, at, name)?, role)))
        });
        let Some((end, role)) = found else {
            spoken.push(character);
            at += character.len_utf8();
            continue;
        };
        if is_address(&text[..at], &text[end..]) {
            at = end;
            at += text[at..].len() - text[at..].trim_start_matches([',', '\u{ff0c}', '、', ' ']).len();
            continue;
        }
        roles.push(role);
        let possessive = ["'s", "’s"].into_iter().find(|ending| text[end..].starts_with(ending));
        spoken.push_str(match possessive {
            _ if chinese || text[end..].chars().next().is_some_and(is_unspaced) => "我",
            Some(_) => "my",
            None => "I",
        });
        at = end + possessive.map_or(0, str::len);
    }
    let both = roles.contains(&Role::User) && roles.contains(&Role::Persona);
    let speaker = if both { None } else { roles.first().copied() };
    NamedSpeakers { spoken: spoken.trim().to_owned(), speaker }
}

/// The short form of a name: the first of several words, the last two of three Chinese characters.
fn given_name(name: &str) -> Option<&str> {
    let name = name.trim();
    if let Some((first, _)) = name.split_once(char::is_whitespace) {
        let is_name = first.chars().count() >= GIVEN_NAME_MIN && !is_function_word(&first.to_lowercase());
        return is_name.then_some(first);
    }
    let mut letters = name.char_indices();
    let (_, second, last) = (letters.next()?, letters.next()?, letters.next()?);
    let is_han = name.chars().all(crate::text::is_han) && last.0 > second.0 && letters.next().is_none();
    is_han.then(|| &name[second.0..])
}

fn end_of_name(text: &str, at: usize, name: &str) -> Option<usize> {
    let mut rest = text[at..].char_indices();
    for wanted in name.chars() {
        let (_, character) = rest.next()?;
        if !character.to_lowercase().eq(wanted.to_lowercase()) {
            return None;
        }
    }
    let end = at + rest.next().map_or(text.len() - at, |(end, _)| end);
    at_word_borders(text, at, end).then_some(end)
}

/// True if a name between these texts only addresses somebody: it is at an end of the text, separated by punctuation.
fn is_address(before: &str, after: &str) -> bool {
    let parts = |c: char| !c.is_alphanumeric() && !c.is_whitespace() && !matches!(c, '\'' | '’');
    let (before, after) = (before.trim(), after.trim());
    let opens = before.is_empty() || lexicon::CALLS_OUT.contains(&before.to_lowercase());
    let closes = after.chars().all(parts);
    (opens && !closes && after.starts_with(parts)) || (closes && before.ends_with(parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speaker_named(text: &str) -> (String, Option<Role>) {
        let names = SpeakerNames {
            user: vec!["Ann".to_owned(), "安安".to_owned()],
            persona: vec!["Echo".to_owned(), "Echo Vale".to_owned()],
        };
        let NamedSpeakers { spoken, speaker } = name_speakers(text, &names);
        (spoken, speaker)
    }

    #[test]
    fn a_named_speaker_speaks_in_the_first_person() {
        assert_eq!(speaker_named("When did ANN move?"), ("When did I move?".to_owned(), Some(Role::User)));
        assert_eq!(
            speaker_named("What is Echo Vale's job?"),
            ("What is my job?".to_owned(), Some(Role::Persona))
        );
        assert_eq!(speaker_named("安安的妹妹在哪"), ("我的妹妹在哪".to_owned(), Some(Role::User)));
        assert_eq!(speaker_named("What do Ann and Echo share?").1, None);
        assert_eq!(speaker_named("we are planning"), ("we are planning".to_owned(), None));
    }

    #[test]
    fn a_first_name_names_the_speaker_with_the_full_one() {
        let names = SpeakerNames {
            user: vec!["Mary Miller".to_owned(), "Will Miller".to_owned()],
            persona: vec!["王建国".to_owned()],
        };
        let speaker = |text: &str| name_speakers(text, &names).speaker;
        assert_eq!(speaker("Where does Mary live?"), Some(Role::User));
        assert_eq!(speaker("建国住在哪"), Some(Role::Persona));
        assert_eq!(speaker("and will she marry?"), None);
        assert_eq!(name_speakers("Where does Mary Miller live?", &names).spoken, "Where does I live?");
    }

    #[test]
    fn a_name_that_only_calls_names_nobody() {
        assert_eq!(
            speaker_named("Echo, do you remember my cat?"),
            ("do you remember my cat?".to_owned(), None)
        );
        assert_eq!(speaker_named("Hey Echo! My cat is ill"), ("Hey ! My cat is ill".to_owned(), None));
        assert_eq!(speaker_named("你还记得我的猫吗,Echo?").1, None);
        assert_eq!(speaker_named("Who is Echo?").1, Some(Role::Persona));
    }
}
