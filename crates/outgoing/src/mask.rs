//! Removes keys from server responses: some repeat a refused key completely or in part.

use secrecy::{ExposeSecret as _, SecretString};

/// Replaces a key in texts.
const MASK: &str = "[key]";
/// Minimum length of a part of the key that is replaced. A shorter one may be a word, such as the name of a provider.
const PART_LENGTH_MIN: usize = 8;

/// Replaces the key in a text, parts of it, and forms in which servers show a key with stars.
pub fn mask_key(text: &str, key: Option<&SecretString>) -> String {
    let key = key.map(|key| key.expose_secret().trim()).unwrap_or_default();
    let text = if key.is_empty() { text.to_owned() } else { text.replace(key, MASK) };
    let mut masked = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(start) = rest.find(is_key_letter) {
        let (before, from) = rest.split_at(start);
        let end = from.find(|letter| !is_key_letter(letter)).unwrap_or(from.len());
        let (run, after) = from.split_at(end);
        masked.push_str(before);
        masked.push_str(if shows_key(run, key) { MASK } else { run });
        rest = after;
    }
    masked + rest
}

fn is_key_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || is_mask_filler(letter) || "-_+/=:".contains(letter)
}

fn is_mask_filler(letter: char) -> bool {
    "*.…•".contains(letter)
}

fn shows_key(run: &str, key: &str) -> bool {
    let letters = run.split(is_mask_filler).any(|part| !part.is_empty());
    if letters && ["***", "•••"].iter().any(|stars| run.contains(stars)) {
        return true;
    }
    let has_gap = run.contains('…') || run.contains("...");
    let least = if has_gap { PART_LENGTH_MIN / 2 } else { PART_LENGTH_MIN };
    let parts = run.split(is_mask_filler).filter(|part| part.len() >= least);
    let mut windows = parts.flat_map(|part| (0..=part.len() - least).map(move |at| &part[at..at + least]));
    windows.any(|window| key.contains(window))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_masked_whole_in_part_and_with_stars() {
        let key: SecretString = "tok-proj-Ab12Cd34Ef56Gh78".into();
        let cases = [
            ("Incorrect API key provided: tok-proj-Ab12Cd34Ef56Gh78.", "Incorrect API key provided: [key]."),
            ("key='tok-proj-Ab12Cd34Ef56Gh78' is unknown", "key='[key]' is unknown"),
            (
                "Incorrect API key provided: tok-proj-************Gh78. See help",
                "Incorrect API key provided: [key] See help",
            ),
            ("bad key tok-p...Gh78", "bad key [key]"),
            ("bad key tok-p…Gh78", "bad key [key]"),
            ("the key ending in Ef56Gh78 has expired", "the key ending in [key] has expired"),
            ("Bearer tok-proj-Ab12Cd34Ef56Gh78x", "Bearer [key]x"),
            ("密钥 tok-proj-Ab12Cd34Ef56Gh78 无效", "密钥 [key] 无效"),
            ("a model named gpt-4o-mini-tts does not exist", "a model named gpt-4o-mini-tts does not exist"),
            (
                "see https://platform.openai.com/account/api-keys.",
                "see https://platform.openai.com/account/api-keys.",
            ),
            ("wait... try again", "wait... try again"),
            ("**bold** text *** and 3 * 4", "**bold** text *** and 3 * 4"),
        ];
        for (said, expected) in cases {
            assert_eq!(mask_key(said, Some(&key)), expected);
        }
    }

    #[test]
    fn without_a_key_only_stars_are_masked() {
        assert_eq!(mask_key("key tok-ab****cd", None), "key [key]");
        assert_eq!(mask_key("no key was sent", None), "no key was sent");
    }

    #[test]
    fn a_short_key_is_masked_where_it_stands() {
        assert_eq!(mask_key("wrong: abc", Some(&"abc".into())), "wrong: [key]");
    }
}
