//! Former values in the prompt: notes where they are stated, and a section that lists them with dates.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use memory::corrections::ReplacedValue;
use memory::identifiers::MessageId;
use memory::nodes::Node;
use memory::text::is_han;

use super::input::ReplyInput;
use crate::calendar;
use crate::quoted::one_line;

/// Note after a text that the user's latest correction denies.
pub(super) const DENIED_NOTE: &str = " (they have just said that this is wrong)";
/// Maximum length of a quoted former or current text, in characters. Both are in one line, so that the model sees the
/// change.
const LENGTH_MAX: usize = 240;

/// The line with a note, if the message states a value that is no longer current or in doubt.
pub(super) fn with_note(
    line: String,
    message: MessageId,
    text: &str,
    at: Timestamp,
    input: &ReplyInput,
) -> String {
    let corrected = &input.corrected;
    if let Some(value) = corrected.messages.get(&message) {
        line + &former_value_note(value, &input.user_zone)
    } else if corrected.correction_denying(text, at).is_some() {
        line + DENIED_NOTE
    } else if let Some(other) = corrected.doubt_of_message(message) {
        line + &uncertain_note(other)
    } else {
        line
    }
}

/// The note about a memory; empty if everything in it is current.
pub(super) fn node_note(node: &Node, input: &ReplyInput) -> String {
    match input.corrected.nodes.get(&node.id) {
        Some(value) => former_value_note(value, &input.user_zone),
        None if input.corrected.correction_denying(&node.description, node.created_at).is_some() => {
            DENIED_NOTE.to_owned()
        }
        None => match input.corrected.doubt_of(node.id) {
            Some(other) => uncertain_note(other),
            None => String::new(),
        },
    }
}

/// Questions that the persona may ask once.
pub(super) fn open_questions(input: &ReplyInput) -> Vec<String> {
    let open = input.corrected.doubts.iter().filter(|doubt| doubt.may_be_asked);
    open.map(|doubt| {
        format!("\"{}\" or \"{}\"", quote_text(&doubt.older_text), quote_text(&doubt.newer_text))
    })
    .collect()
}

fn uncertain_note(other: &str) -> String {
    format!(" (not certain; they have also said: {})", quote_text(other))
}

fn former_value_note(value: &ReplacedValue, zone: &TimeZone) -> String {
    let (day, current) = (calendar::format_day(value.until, zone), quote_text(&value.current_text));
    match value.mistaken {
        true => format!(" (wrong, corrected on {day}: {current})"),
        false => format!(" (no longer so since {day}: {current})"),
    }
}

/// The lines of the section about values that are no longer current.
pub(super) fn corrected_lines(input: &ReplyInput) -> Vec<String> {
    let zone = &input.user_zone;
    let replaced = input.corrected.values_to_list().into_iter().map(|value| {
        let (until, since) =
            (calendar::format_day(value.until, zone), calendar::format_day(value.since, zone));
        let (former, current) = (quote_text(&value.text), quote_text(&value.current_text));
        match value.mistaken {
            true => format!("never so, corrected on {until}: \"{former}\"; so it is: \"{current}\""),
            false => format!("until {until}, said on {since}: \"{former}\"; now: \"{current}\""),
        }
    });
    let fresh = input.corrected.fresh.iter().map(|fresh| {
        let (at, words) = (calendar::format_minute(fresh.at, zone), quote_text(&fresh.text));
        format!(
            "on {at} they said \"{words}\": what you remember of it may be out of date, and these words count"
        )
    });
    replaced.chain(fresh).collect()
}

/// A former value with its last day, in the value's language.
pub(super) fn value_with_day(value: &ReplacedValue, zone: &TimeZone) -> String {
    let text = value.text.trim_end_matches(['.', '。']);
    let until = calendar::format_day(value.until, zone);
    match (text.contains(is_han), value.mistaken) {
        (true, true) => format!("{text}（记错了，{until} 更正）"),
        (true, false) => format!("{text}（到 {until} 为止）"),
        (false, true) => format!("{text} (wrong, corrected on {until})"),
        (false, false) => format!("{text} (until {until})"),
    }
}

fn quote_text(text: &str) -> String {
    let line = one_line(text);
    match line.char_indices().nth(LENGTH_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
