//! Splits a long reply into pieces that a platform accepts: at paragraphs, else at sentence ends, else at words. Code
//! blocks stay whole if they fit.

const FENCE: &str = "```";
/// Characters after which a sentence may end.
const SENTENCE_ENDS: [char; 10] = ['.', '!', '?', '。', '！', '？', '…', '\n', ';', '；'];

/// The pieces of a text, each of at most `max` UTF-16 units. Only white space between pieces is dropped.
pub(crate) fn split_text(text: &str, max: usize) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut piece = String::new();
    for block in split_blocks(text) {
        for part in split_block(block, max) {
            if utf16_length(&piece) + utf16_length(&part) > max {
                finish_piece(&mut pieces, &mut piece);
            }
            piece.push_str(&part);
        }
    }
    finish_piece(&mut pieces, &mut piece);
    pieces
}

fn finish_piece(pieces: &mut Vec<String>, piece: &mut String) {
    let whole = std::mem::take(piece);
    let trimmed = whole.trim();
    if !trimmed.is_empty() {
        pieces.push(trimmed.to_owned());
    }
}

fn utf16_length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Code blocks with their fences, and the text between them, in order.
fn split_blocks(text: &str) -> Vec<&str> {
    let mut blocks = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(FENCE) {
        let after = &rest[start + FENCE.len()..];
        let Some(end) = after.find(FENCE) else { break };
        let end = start + FENCE.len() + end + FENCE.len();
        blocks.push(&rest[..start]);
        blocks.push(&rest[start..end]);
        rest = &rest[end..];
    }
    blocks.push(rest);
    blocks.retain(|block| !block.is_empty());
    blocks
}

/// Splits a block into parts that fit. A block that is too long is cut where a reader pauses.
fn split_block(block: &str, max: usize) -> Vec<String> {
    if utf16_length(block) <= max {
        return if block.starts_with(FENCE) { vec![block.to_owned()] } else { split_sentences(block, max) };
    }
    if !block.starts_with(FENCE) {
        return split_sentences(block, max);
    }
    // Each part of a code block gets fences, otherwise the rest would be shown as text.
    let opening = block.lines().next().unwrap_or(FENCE);
    let body = block.trim_start_matches(opening).trim_end_matches(FENCE).trim_matches('\n');
    let room = max.saturating_sub(utf16_length(opening) + FENCE.len() + 2).max(1);
    let mut parts = Vec::new();
    let mut part = String::new();
    for line in body.split_inclusive('\n').flat_map(|line| cut_between_words(line, room)) {
        if utf16_length(&part) + utf16_length(&line) > room {
            parts.push(fenced_block(opening, &std::mem::take(&mut part)));
        }
        part.push_str(&line);
    }
    parts.push(fenced_block(opening, &part));
    parts
}

fn fenced_block(opening: &str, body: &str) -> String {
    format!("{opening}\n{}\n{FENCE}", body.trim_end_matches('\n'))
}

fn split_sentences(text: &str, max: usize) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut start = 0;
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let end = at + letter.len_utf8();
        let next = letters.peek().map(|(_, next)| *next);
        // A full stop inside a number or a name does not end a sentence.
        let pauses = letter == '\n' || !letter.is_ascii() || next.is_none_or(char::is_whitespace);
        if SENTENCE_ENDS.contains(&letter) && pauses {
            sentences.push(&text[start..end]);
            start = end;
        }
    }
    sentences.push(&text[start..]);
    sentences.into_iter().filter(|one| !one.is_empty()).flat_map(|one| cut_between_words(one, max)).collect()
}

/// Cuts a text without a pause between words, or between characters where a word is too long.
fn cut_between_words(text: &str, max: usize) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    for word in text.split_inclusive(char::is_whitespace) {
        if utf16_length(&part) + utf16_length(word) > max && !part.is_empty() {
            parts.push(std::mem::take(&mut part));
        }
        for letter in word.chars() {
            if utf16_length(&part) + letter.len_utf16() > max {
                parts.push(std::mem::take(&mut part));
            }
            part.push(letter);
        }
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_is_one_piece() {
        assert_eq!(split_text("Hello there. How are you?", 100), ["Hello there. How are you?"]);
        assert!(split_text(" \n ", 100).is_empty());
    }

    #[test]
    fn a_long_text_is_cut_at_sentence_ends() {
        let cut = split_text("One is 1.5 long. Two is here! 三在这里。四。", 18);
        assert_eq!(cut, ["One is 1.5 long.", "Two is here!", "三在这里。四。"]);
    }

    #[test]
    fn code_is_not_split_and_long_code_keeps_its_fences() {
        let code = "```rust\nlet a = 1;\nlet b = 2;\n```";
        let text = format!("Look at this, it is short. {code} And on.");
        let cut = split_text(&text, 45);
        assert!(cut.iter().any(|piece| piece.contains(code)), "{cut:?}");
        let long = format!("```rust\n{}```", "let a = 1;\n".repeat(20));
        for piece in split_text(&long, 60) {
            assert!(piece.starts_with("```rust\n") && piece.ends_with("\n```"), "{piece}");
            assert!(utf16_length(&piece) <= 60);
        }
    }

    #[test]
    fn nothing_is_too_long_and_nothing_is_lost() {
        for max in [4, 7, 40] {
            let text = "an-endless-word-without-any-pause 漢字漢字漢字漢字 😀😀😀😀😀😀 ok";
            let cut = split_text(text, max);
            assert!(cut.iter().all(|piece| utf16_length(piece) <= max));
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            assert_eq!(letters(&cut.concat()), letters(text));
        }
    }
}
