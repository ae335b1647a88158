//! Guesses the language of a message, by script and, for Latin script, by its most frequent words.

/// Characters of a text to examine. They are enough to tell two languages apart by their common words.
const SAMPLE_CHARS: usize = 400;

/// ISO 639-1 code of the language; `None` if no letter shows it. It is a guess for people, not used by recall.
pub(crate) fn language_of(text: &str) -> Option<&'static str> {
    let mut counts = [
        ("latin", 0usize),
        ("zh", 0),
        ("ja", 0),
        ("ko", 0),
        ("ru", 0),
        ("ar", 0),
        ("he", 0),
        ("el", 0),
        ("th", 0),
        ("hi", 0),
    ];
    for character in text.chars().take(SAMPLE_CHARS) {
        let script = match character {
            'a'..='z' | 'A'..='Z' | '\u{C0}'..='\u{24F}' => 0,
            '\u{4E00}'..='\u{9FFF}' | '\u{3400}'..='\u{4DBF}' => 1,
            '\u{3040}'..='\u{30FF}' => 2,
            '\u{AC00}'..='\u{D7AF}' => 3,
            '\u{400}'..='\u{52F}' => 4,
            '\u{600}'..='\u{6FF}' => 5,
            '\u{590}'..='\u{5FF}' => 6,
            '\u{370}'..='\u{3FF}' => 7,
            '\u{E00}'..='\u{E7F}' => 8,
            '\u{900}'..='\u{97F}' => 9,
            _ => continue,
        };
        // A Latin word has several letters for one Han character.
        counts[script].1 += if script == 0 { 1 } else { 3 };
    }
    // Japanese combines Han and kana.
    if counts[2].1 * 4 > counts[1].1 && counts[2].1 > 0 {
        counts[2].1 += counts[1].1;
        counts[1].1 = 0;
    }
    let (script, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    match (count, script) {
        (0, _) => None,
        (_, "latin") => latin_language(text),
        (_, script) => Some(script),
    }
}

const LATIN_FUNCTION_WORDS: [(&str, &[&str]); 7] = [
    (
        "en",
        &[
            "the", "and", "you", "is", "to", "of", "it", "i", "what", "my", "that", "was", "are", "with",
            "hello", "i'm",
        ],
    ),
    (
        "de",
        &["der", "die", "und", "ich", "ist", "nicht", "das", "du", "ein", "zu", "mit", "es", "wir", "auch"],
    ),
    ("fr", &["le", "la", "et", "je", "est", "les", "un", "une", "pas", "que", "tu", "des", "c'est", "vous"]),
    ("es", &["el", "y", "que", "no", "es", "los", "una", "por", "con", "para", "está", "muy", "pero", "yo"]),
    ("it", &["il", "e", "che", "non", "di", "sono", "una", "per", "ho", "è", "ma", "mi", "ti", "anche"]),
    ("pt", &["o", "e", "que", "não", "é", "um", "uma", "eu", "você", "para", "com", "os", "mas", "muito"]),
    ("nl", &["de", "het", "en", "ik", "een", "niet", "is", "je", "van", "dat", "wat", "ook", "maar", "op"]),
];

fn latin_language(text: &str) -> Option<&'static str> {
    let sample: String = text.chars().take(SAMPLE_CHARS).collect::<String>().to_lowercase();
    let words: Vec<&str> =
        sample.split(|c: char| !c.is_alphabetic() && c != '\'').filter(|word| !word.is_empty()).collect();
    let counted = LATIN_FUNCTION_WORDS
        .map(|(code, list)| (words.iter().filter(|word| list.contains(*word)).count(), code));
    let best = counted.iter().map(|(count, _)| *count).max()?;
    counted.into_iter().find(|(count, _)| *count == best && best > 0).map(|(_, code)| code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_distinguished() {
        for (text, expected) in [
            ("what is the time?", Some("en")),
            ("我昨天去了北京", Some("zh")),
            ("今日は雨です", Some("ja")),
            ("안녕하세요", Some("ko")),
            ("Ich bin nicht da und du auch nicht", Some("de")),
            ("как дела", Some("ru")),
            ("12:30 👍", None),
        ] {
            assert_eq!(language_of(text), expected, "{text}");
        }
    }
}
