//! Splits a text that is still being written into sentences to speak.

use text::split_sentences;

/// Maximum length of a part that is spoken at once, in characters. Playing begins when the first part is ready, and a
/// text without full stops must not delay it.
const SENTENCE_LENGTH_MAX: usize = 400;
/// Marks the beginning and end of code, which is not read out.
const FENCE: &str = "```";

/// Splits streamed text into sentences as soon as each is complete, without markup, code and addresses.
#[derive(Debug, Default)]
pub struct SentenceFeed {
    /// Text without a complete sentence so far.
    pending: String,
    in_code: bool,
}

impl SentenceFeed {
    /// Adds a piece; returns the sentences that it completed.
    pub fn push(&mut self, piece: &str) -> Vec<String> {
        self.pending.push_str(piece);
        let mut found = Vec::new();
        while let Some(end) = self.pending.find('\n') {
            let line: String = self.pending.drain(..=end).collect();
            self.take_line(&line, &mut found);
        }
        if !self.in_code && !self.pending.trim_start().starts_with('`') {
            self.take_complete(&mut found);
        }
        found
    }

    /// Ends the text; returns the rest.
    pub fn finish(&mut self) -> Vec<String> {
        let mut found = Vec::new();
        let line = std::mem::take(&mut self.pending);
        self.take_line(&line, &mut found);
        self.in_code = false;
        found
    }

    fn take_line(&mut self, line: &str, found: &mut Vec<String>) {
        if line.trim_start().starts_with(FENCE) {
            self.in_code = !self.in_code;
        } else if !self.in_code {
            split_sentences(line).into_iter().for_each(|sentence| add_sentence(sentence, found));
        }
    }

    /// Takes sentences that more text can't change. What follows a full stop decides if it ends a sentence, so a
    /// letter is assumed after a space or a mark of a script without spaces.
    fn take_complete(&mut self, found: &mut Vec<String>) {
        let mut probe = self.pending.clone();
        if probe.ends_with(|last: char| last.is_whitespace() || "。！？；…".contains(last)) {
            probe.push('x');
        }
        let sentences = split_sentences(&probe);
        let [complete @ .., _] = sentences.as_slice() else { return };
        let mut end = 0;
        for sentence in complete {
            let Some(start) = self.pending[end..].find(sentence) else { return };
            end += start + sentence.len();
            add_sentence(sentence, found);
        }
        self.pending.drain(..end);
    }
}

fn add_sentence(sentence: &str, found: &mut Vec<String>) {
    let words = spoken_words(sentence);
    let mut rest = words.as_str();
    while rest.chars().any(char::is_alphanumeric) {
        let (part, after) = rest.split_at(part_length(rest));
        found.push(part.trim().to_owned());
        rest = after;
    }
}

/// Bytes of the first part that is short enough, cut at a comma or a space if there is one.
fn part_length(text: &str) -> usize {
    let Some((limit, _)) = text.char_indices().nth(SENTENCE_LENGTH_MAX) else { return text.len() };
    let is_break = |letter: char| letter.is_whitespace() || ",;:，、：".contains(letter);
    let cut = text[..limit].char_indices().rev().find(|(_, letter)| is_break(*letter));
    cut.map_or(limit, |(at, letter)| at + letter.len_utf8())
}

/// The text to speak, without markup, emoticons and stage directions; an address is left out, the text of a link
/// stays.
fn spoken_words(sentence: &str) -> String {
    let sentence = without_stage_directions(sentence);
    let mut words = String::new();
    let mut rest = sentence.trim_start_matches(['#', '>', '-', '*', '+', ' ', '\t', '|']);
    while let Some(start) = rest.find("](") {
        let after = &rest[start + 2..];
        let end = after.find(')').map_or(after.len(), |end| end + 1);
        words.push_str(&rest[..start]);
        rest = &after[end..];
    }
    words.push_str(rest);
    let is_read =
        |word: &&str| !(word.starts_with("http://") || word.starts_with("https://") || is_face(word));
    let marks = |letter: char| "*`_~#|[]<>".contains(letter) || is_pictograph(letter);
    let kept = words.split_whitespace().filter(is_read).map(|word| word.replace(marks, ""));
    kept.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// True for emoticons with letters or digits, possibly followed by punctuation.
fn is_face(word: &str) -> bool {
    const FACES: [&str; 16] =
        ["<3", "</3", ":3", ":D", ":P", ":p", ":O", ":o", ";D", ";P", "xD", "XD", "T_T", "QAQ", "QwQ", "orz"];
    FACES.contains(&word.trim_end_matches(['.', ',', '!', '?', '。', '！']))
}

/// True for emoji and other pictographs.
fn is_pictograph(letter: char) -> bool {
    matches!(letter, '\u{2600}'..='\u{27bf}' | '\u{fe0f}' | '\u{200d}' | '\u{1f000}'..='\u{1faff}')
}

/// Removes text between single stars that describes the speaker's actions: `*smiles*`, `*轻轻点头*`. Emphasised words
/// between single stars stay.
fn without_stage_directions(sentence: &str) -> String {
    let mut kept = String::new();
    let mut rest = sentence;
    while let Some(start) = rest.find('*') {
        let (before, from) = rest.split_at(start);
        kept.push_str(before);
        let inner = &from[1..];
        let end = inner.find('*').filter(|end| *end > 0 && !inner[end + 1..].starts_with('*'));
        match end {
            Some(end) if is_stage_direction(before, &inner[..end], &inner[end + 1..]) => {
                rest = &inner[end + 1..];
            }
            Some(end) => {
                kept.push_str(&from[..end + 2]);
                rest = &inner[end + 1..];
            }
            // A bold word or a literal star.
            None => {
                let stars = from.find(|letter| letter != '*').unwrap_or(from.len());
                kept.push_str(&from[..stars]);
                rest = &from[stars..];
            }
        }
    }
    kept + rest
}

fn is_stage_direction(before: &str, inner: &str, after: &str) -> bool {
    /// Words that end like a verb in the third person but are not.
    const WORDS_LIKE_VERBS: [&str; 16] = [
        "this",
        "is",
        "was",
        "his",
        "yes",
        "always",
        "us",
        "its",
        "as",
        "has",
        "does",
        "perhaps",
        "thus",
        "less",
        "nothing",
        "something",
    ];
    let Some(first) = inner.split_whitespace().next() else { return false };
    if first.chars().any(text::is_han) {
        let is_open = |letter: Option<char>| letter.is_none_or(|letter| !letter.is_alphanumeric());
        return is_open(before.chars().next_back()) && is_open(after.chars().next())
            || before.trim().is_empty();
    }
    let word = first.trim_end_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase();
    let is_verb = word.ends_with('s') || word.ends_with("ing");
    let is_spoken_of = ["she", "he", "they"].contains(&word.as_str()) && inner.split_whitespace().count() > 1;
    first.chars().all(|letter| !letter.is_uppercase())
        && (is_verb && !WORDS_LIKE_VERBS.contains(&word.as_str()) || is_spoken_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed_in_pieces(text: &str, at_once: usize) -> Vec<String> {
        let mut feed = SentenceFeed::default();
        let letters: Vec<char> = text.chars().collect();
        let mut found: Vec<String> =
            letters.chunks(at_once).flat_map(|piece| feed.push(&piece.iter().collect::<String>())).collect();
        found.extend(feed.finish());
        found
    }

    #[test]
    fn sentences_are_the_same_however_the_text_arrives() {
        let text = "Hello there! I saw Dr. Smith at 3.5 km. 你好。今天天气不错！ And you?\n\n- **One** [map](https://x.example/a_b)\n\
                    ```rust\nfn no() {}\n```\nSee https://x.example now. Bye";
        let wanted = [
            "Hello there!",
            "I saw Dr. Smith at 3.5 km.",
            "你好。",
            "今天天气不错！",
            "And you?",
            "One map",
            "See now.",
            "Bye",
        ];
        for at_once in [1, 2, 3, 7, 1_000] {
            assert_eq!(feed_in_pieces(text, at_once), wanted, "{at_once} letters at once");
        }
    }

    #[test]
    fn a_sentence_is_returned_as_soon_as_it_is_complete() {
        let mut feed = SentenceFeed::default();
        assert_eq!(feed.push("The first"), [""; 0]);
        assert_eq!(feed.push(" one. "), ["The first one."]);
        assert_eq!(feed.push("好的。"), ["好的。"]);
        assert_eq!(feed.push("The sec"), [""; 0]);
        assert_eq!(feed.finish(), ["The sec"]);
    }

    #[test]
    fn a_long_sentence_is_spoken_in_parts() {
        let parts = feed_in_pieces(&"word, ".repeat(200), 9);
        assert!(parts.len() >= 3 && parts.iter().all(|part| part.chars().count() <= SENTENCE_LENGTH_MAX));
        assert_eq!(feed_in_pieces(&"字".repeat(900), 50).len(), 3);
    }

    #[test]
    fn stage_directions_faces_and_emoji_are_not_read_out() {
        let cases: [(&str, &[&str]); 14] = [
            ("*smiles* Good to see you.", &["Good to see you."]),
            ("I missed you *hugs you tightly*", &["I missed you"]),
            ("*she looks up from her book* Oh, hello!", &["Oh, hello!"]),
            ("*smiling* Come in.", &["Come in."]),
            ("*轻轻点头* 我明白。", &["我明白。"]),
            ("好的。*微笑*", &["好的。"]),
            ("I love you <3", &["I love you"]),
            ("That is great :D", &["That is great"]),
            ("Good night 🌙✨", &["Good night"]),
            ("I *really* mean it, *this* one.", &["I really mean it, this one."]),
            ("That was *so good*.", &["That was so good."]),
            ("**Smiles** are free.", &["Smiles are free."]),
            ("我*真的*很高兴。", &["我真的很高兴。"]),
            ("2 * 3 * 4 is 24.", &["2 3 4 is 24."]),
        ];
        for (text, wanted) in cases {
            assert_eq!(feed_in_pieces(text, 1_000), wanted, "{text}");
        }
    }
}
