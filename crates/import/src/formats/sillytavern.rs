//! SillyTavern's chats: JSON Lines with a header and one message per line, with swipes.

use std::collections::VecDeque;

use jiff::civil::DateTime;
use serde_json::Value;

use super::building::{attachment_from_path, begin_conversation, build_message, check_message};
use super::digests::{DigestIds, stable_id};
use super::listed::{self, Element, ListedFormat, string_field};
use super::{Format, ReaderContext};
use crate::item::{Alternative, Item, Role, Skip};
use crate::limits::{ALTERNATIVES_MAX, MESSAGE_BYTES_MAX};
use crate::macros::resolve_macros;
use crate::message_time::MessageTime;

pub(super) const FORMAT: Format = Format {
    id: "sillytavern",
    name: "SillyTavern chat",
    detect: is_chat,
    open: |context| listed::open_lines(context, Chat::default()),
};

fn is_chat(context: &ReaderContext<'_>) -> bool {
    let head = context.head;
    head.is_object_with(&["user_name", "character_name"])
        || head.is_object_with(&["name", "is_user", "mes"])
        || head.is_object_with(&["chat_metadata"])
}

#[derive(Default)]
struct Chat {
    /// The user's name from the header; empty in old group chats.
    user_name: String,
    character_name: String,
    /// Id of the conversation, once it is known.
    conversation: Option<String>,
    /// Id space of the messages. Chats of old versions have no id, and a branch is a copy of the file up to that
    /// point, so messages of one character and user are recognised in all of their chats.
    id_space: Option<String>,
    ids: DigestIds,
}

impl ListedFormat for Chat {
    fn read_element(&mut self, element: Element<'_>, items: &mut VecDeque<Item>) {
        match element.parse::<Value>() {
            Ok(value) if value.get("mes").is_none() && self.conversation.is_none() => {
                self.header(&value, items)
            }
            Ok(value) => self.message(&value, element.place, element.is_cleaned, items),
            Err(skip) => items.push_back(skip),
        }
    }
}

impl Chat {
    fn header(&mut self, header: &Value, items: &mut VecDeque<Item>) {
        let named = |key: &str| {
            string_field(header, key).filter(|name| *name != "unused").unwrap_or_default().to_owned()
        };
        self.user_name = named("user_name");
        self.character_name = named("character_name");
        let integrity = header.get("chat_metadata").and_then(|metadata| string_field(metadata, "integrity"));
        let names = [self.character_name.as_str(), &self.user_name];
        let id = match integrity {
            Some(id) => id.to_owned(),
            None => {
                self.id_space = Some(stable_id(&names));
                stable_id(&[names[0], names[1], string_field(header, "create_date").unwrap_or_default()])
            }
        };
        self.begin(id, items);
    }

    fn begin(&mut self, id: String, items: &mut VecDeque<Item>) {
        items.push_back(begin_conversation(&id, Some(&self.character_name)));
        self.conversation = Some(id);
    }

    fn message(&mut self, value: &Value, place: String, is_cleaned: bool, items: &mut VecDeque<Item>) {
        let Some(shown) = value.get("mes").and_then(Value::as_str) else {
            items.push_back(Item::Skip(Skip::new(place, "it has no text")));
            return;
        };
        let speaker = string_field(value, "name").unwrap_or_default();
        let extra = value.get("extra").unwrap_or(&Value::Null);
        let kind = string_field(extra, "type").unwrap_or_default();
        let is_system = value.get("is_system").and_then(Value::as_bool) == Some(true);
        if matches!(kind, "comment" | "help" | "welcome" | "assistant_note" | "slash_commands" | "formatting")
            || is_system && matches!(speaker, "SillyTavern System" | "System" | "Note")
        {
            items.push_back(Item::Skip(Skip::new(place, "it is a notice or a note, not a message")));
            return;
        }
        let is_user = value.get("is_user").and_then(Value::as_bool) == Some(true);
        let role = match (is_user, kind) {
            (true, _) => Role::User,
            (false, "narrator") => Role::Other,
            (false, _) => Role::Persona,
        };
        let time = parse_send_date(value.get("send_date"));
        if self.conversation.is_none() {
            self.begin(stable_id(&[speaker, &time.to_string(), shown]), items);
        }
        let conversation = self.conversation.clone().unwrap_or_default();
        let character = if role == Role::Persona { speaker } else { &self.character_name };
        let resolve = |text: &str| self.resolve_placeholders(text, character);
        let text = resolve(shown);
        let own_space = self.id_space.clone().filter(|_| time != MessageTime::Unknown);
        let id_space = own_space.clone().unwrap_or_else(|| conversation.clone());
        let id = self.ids.next_id(&id_space, speaker, time, &text);
        let mut message = build_message(id, &conversation, (speaker, role), time, text, place);
        message.id_space = own_space;
        message.model = string_field(extra, "model").map(str::to_owned);
        message.is_cleaned = is_cleaned;
        let files = ["image", "file", "video", "audio"].iter().filter_map(|key| string_field(extra, key));
        message.attachments.extend(files.map(attachment_from_path));
        let swipes = value.get("swipes").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let shown_index =
            value.get("swipe_id").and_then(Value::as_u64).and_then(|at| usize::try_from(at).ok());
        message.shown_index = shown_index.filter(|at| *at < swipes.len()).unwrap_or(0);
        for (index, swipe) in swipes.iter().enumerate().filter(|(index, _)| *index != message.shown_index) {
            let Some(swipe) = swipe.as_str().filter(|swipe| !swipe.trim().is_empty()) else { continue };
            if swipe.len() > MESSAGE_BYTES_MAX || message.alternatives.len() >= ALTERNATIVES_MAX {
                items.push_back(Item::Skip(Skip::new(
                    &message.place,
                    "a swipe is too long, or there are too many",
                )));
                continue;
            }
            let info = value.get("swipe_info").and_then(|info| info.get(index));
            let text = self.resolve_placeholders(swipe, character);
            let time = info.map_or(time, |info| parse_send_date(info.get("send_date")));
            message.alternatives.push(Alternative {
                // As if it were shown, so that it matches one that was shown in an earlier export.
                id: self.ids.peek_id(&id_space, speaker, time, &text),
                follows: None,
                speaker: message.speaker.clone(),
                role,
                time,
                text,
                model: info.and_then(|info| string_field(info.get("extra")?, "model")).map(str::to_owned),
            });
        }
        items.push_back(check_message(message));
    }

    fn resolve_placeholders(&self, text: &str, character: &str) -> String {
        if character.is_empty() || self.user_name.is_empty() {
            return text.to_owned();
        }
        resolve_macros(text, character, &self.user_name)
    }
}

/// Parses the times of all versions: milliseconds, ISO 8601, `2023-5-14 @18h 20m 30s 123ms`, `June 19, 2023 4:20pm`.
fn parse_send_date(value: Option<&Value>) -> MessageTime {
    match value {
        Some(Value::Number(number)) => number.as_f64().map_or(MessageTime::Unknown, MessageTime::from_number),
        Some(Value::String(text)) => match MessageTime::parse(text) {
            MessageTime::Unknown => at_sign_time(text)
                .or_else(|| month_name_time(text))
                .map_or(MessageTime::Unknown, MessageTime::Local),
            time => time,
        },
        _ => MessageTime::Unknown,
    }
}

/// `2023-5-14 @18h 20m 30s 123ms`, also `2023-5-14@18h20m30s`.
fn at_sign_time(text: &str) -> Option<DateTime> {
    let (day, clock) = text.split_once('@')?;
    let mut day = day.trim().split('-').map(|part| part.parse::<i16>().ok());
    let numbers: Vec<i32> = clock
        .split(|c: char| !c.is_ascii_digit())
        .filter(|part| !part.is_empty())
        .filter_map(|part| part.parse().ok())
        .collect();
    let part = |at: usize| numbers.get(at).copied().unwrap_or(0);
    let small = |number: i32| i8::try_from(number).ok();
    DateTime::new(
        day.next()??,
        i8::try_from(day.next()??).ok()?,
        i8::try_from(day.next()??).ok()?,
        small(*numbers.first()?)?,
        small(part(1))?,
        small(part(2))?,
        part(3).checked_mul(1_000_000)?,
    )
    .ok()
}

/// `June 19, 2023 4:20pm`.
fn month_name_time(text: &str) -> Option<DateTime> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let text = text.trim().to_lowercase();
    let month = MONTHS.iter().position(|month| text.starts_with(month))?;
    let numbers: Vec<i16> = text
        .split(|c: char| !c.is_ascii_digit())
        .filter(|part| !part.is_empty())
        .filter_map(|part| part.parse().ok())
        .collect();
    let [day, year, hour, minute, ..] = numbers[..] else { return None };
    let hour = match (text.ends_with("pm"), text.ends_with("am")) {
        (true, _) => hour % 12 + 12,
        (_, true) => hour % 12,
        _ => hour,
    };
    let small = |number: i16| i8::try_from(number).ok();
    DateTime::new(year, i8::try_from(month + 1).ok()?, small(day)?, small(hour)?, small(minute)?, 0, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_its_dates_is_read() {
        for (text, expected) in [
            ("2023-5-14 @18h 20m 30s 123ms", "2023-05-14T18:20:30.123"),
            ("2024-11-02@09h05m01s", "2024-11-02T09:05:01"),
            ("June 19, 2023 4:20pm", "2023-06-19T16:20:00"),
            ("December 1, 2023 12:05am", "2023-12-01T00:05:00"),
            ("2025-01-05T10:00:00.000Z", "2025-01-05T10:00:00Z"),
            ("2023-13-14 @18h", ""),
            ("soon", ""),
        ] {
            assert_eq!(parse_send_date(Some(&Value::from(text))).to_string(), expected, "{text}");
        }
        assert_eq!(
            parse_send_date(Some(&Value::from(1_700_000_000_000_i64))).to_string(),
            "2023-11-14T22:13:20Z"
        );
    }
}
