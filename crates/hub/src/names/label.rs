//! Labels of documents in prompts.

use super::{InvalidName, invalid_name};

/// Maximum length of a document's label, in characters. It is a heading in the prompt.
pub const PROMPT_LABEL_LENGTH_MAX: usize = 60;
/// Headings of the reply's prompt, which no label may imitate.
pub const PROMPT_HEADINGS: [&str; 24] = [
    "Persona",
    "About the user",
    "Style preferences",
    "Who you are",
    "Right now",
    "How you feel right now",
    "What else is written down",
    "The world around you",
    "Entity disambiguation pending",
    "What you are not certain of",
    "Expectation match",
    "Style",
    "Avoid these patterns",
    "Recent sessions",
    "Recent thoughts you've had about this person",
    "How you see yourself lately",
    "Recent things you remember happened",
    "Their own words",
    "What is no longer so",
    "What you don't remember",
    "Promises you've made",
    "You've been expecting",
    "Our recent conversation",
    "What they just said",
];

/// Checks a document's label for prompts: letters, digits, spaces, `_` and `-`, and not a heading of the prompt.
pub fn check_label(label: &str) -> Result<&str, InvalidName> {
    let label = label.trim();
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-');
    if label.is_empty() || label.chars().count() > PROMPT_LABEL_LENGTH_MAX || !label.chars().all(is_plain) {
        return invalid_name(format!(
            "`promptLabel` must have 1 to {PROMPT_LABEL_LENGTH_MAX} letters, digits and spaces"
        ));
    }
    if PROMPT_HEADINGS.iter().any(|heading| heading.to_lowercase() == label.to_lowercase()) {
        return invalid_name(format!("`promptLabel` can't be `{label}`, which is a heading of the prompt"));
    }
    Ok(label)
}
