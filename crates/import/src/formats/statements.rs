//! Memories that another program had saved about its user: lists and paragraphs, one statement each.

use jiff::civil::Date;

use crate::item::{Item, SavedMemory};

/// Maximum length of a statement, in characters. A longer paragraph is split between sentences.
const STATEMENT_CHARS_MAX: usize = 400;

/// The statements of a Markdown text: its list entries and paragraphs, without headings.
pub(super) fn statements_of_markdown(text: &str) -> Vec<String> {
    let mut statements: Vec<String> = Vec::new();
    let mut continues = false;
    for line in text.lines() {
        let line = line.trim();
        if line.is_empty() || is_heading(line) {
            continues = false;
            continue;
        }
        let entry = list_entry(line);
        match statements.last_mut().filter(|_| continues && entry.is_none()) {
            Some(statement) => {
                statement.push(' ');
                statement.push_str(line);
            }
            None => statements.push(entry.unwrap_or(line).to_owned()),
        }
        continues = true;
    }
    statements.into_iter().flat_map(|statement| cut_statement(&statement)).collect()
}

/// Parses the statements of ChatGPT's saved memories: `1. [2024-04-05]. The user has a dog.`
pub(super) fn statements_of_numbered_list(text: &str) -> Vec<(Option<Date>, String)> {
    let mut statements: Vec<(Option<Date>, String)> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !is_heading(line)) {
        match (numbered_statement(line), statements.last_mut()) {
            (Some(statement), _) => statements.push(statement),
            (None, Some((_, text))) => {
                text.push('\n');
                text.push_str(line);
            }
            (None, None) => statements.push((None, line.to_owned())),
        }
    }
    statements
}

/// The item for a statement that another program had saved.
pub(super) fn statement_item(text: &str, day: Option<Date>, source: &str, place: &str) -> Item {
    Item::SavedMemory(SavedMemory {
        text: text.trim().to_owned(),
        day,
        source: source.to_owned(),
        place: place.to_owned(),
    })
}

fn is_heading(line: &str) -> bool {
    let is_bold = line.len() > 4
        && line.starts_with("**")
        && line.ends_with("**")
        && !line[2..line.len() - 2].contains("**");
    is_bold
        || line.starts_with('#') && line.trim_start_matches('#').starts_with(' ')
        || line.chars().all(|c| "-*_=".contains(c))
}

/// The text of `- text`, `* text`, `• text` and `1. text`.
fn list_entry(line: &str) -> Option<&str> {
    let bullet = ["- ", "* ", "+ ", "• "].iter().find_map(|bullet| line.strip_prefix(bullet));
    bullet.or_else(|| strip_list_number(line)).map(str::trim)
}

fn strip_list_number(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    (rest.len() < line.len()).then(|| rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") ")))?
}

fn numbered_statement(line: &str) -> Option<(Option<Date>, String)> {
    let text = strip_list_number(line)?;
    let dated = text.strip_prefix('[').and_then(|rest| {
        let (date, rest) = rest.split_once(']')?;
        Some((date.get(..10)?.parse::<Date>().ok()?, rest.trim_start_matches(['.', ' '])))
    });
    Some(dated.map_or_else(|| (None, text.to_owned()), |(day, text)| (Some(day), text.to_owned())))
}

/// Splits a text into parts of whole sentences, each at most [`STATEMENT_CHARS_MAX`] unless one sentence is longer.
fn cut_statement(statement: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for sentence in statement.split_inclusive(['.', '!', '?', '。', '！', '？']) {
        let Some(last) = pieces.last_mut() else { break };
        if !last.is_empty() && last.chars().count() + sentence.chars().count() > STATEMENT_CHARS_MAX {
            pieces.push(sentence.to_owned());
        } else {
            last.push_str(sentence);
        }
    }
    pieces.iter().map(|piece| piece.trim().to_owned()).filter(|piece| !piece.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_paragraphs_are_statements_and_headings_are_not() {
        let text = "# Memory\n\n**Work**\n\nAnn is a nurse.\nShe works at night.\n\n- three hives\n- a dog,\n  called Pepper\n---\n1. sails";
        assert_eq!(
            statements_of_markdown(text),
            ["Ann is a nurse. She works at night.", "three hives", "a dog, called Pepper", "sails"]
        );
        let long = "她喜欢在海边散步，也喜欢看书。".repeat(60);
        let pieces = statements_of_markdown(&long);
        assert!(pieces.len() > 1 && pieces.iter().all(|piece| piece.chars().count() <= STATEMENT_CHARS_MAX));
        assert_eq!(pieces.concat(), long);
    }

    #[test]
    fn saved_memories_of_chatgpt_have_their_day() {
        let day = |text: &str| text.parse::<Date>().ok();
        assert_eq!(
            statements_of_numbered_list(
                "# Model Set Context\n\n1. [2024-04-05]. Has a dog.\n\n2. [2024-05-01]. Lives in Lyon.\nSince 2019.\n3. Sails."
            ),
            [
                (day("2024-04-05"), "Has a dog.".to_owned()),
                (day("2024-05-01"), "Lives in Lyon.\nSince 2019.".to_owned()),
                (None, "Sails.".to_owned()),
            ]
        );
        assert_eq!(statements_of_numbered_list(""), []);
    }
}
