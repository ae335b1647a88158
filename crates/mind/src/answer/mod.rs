//! Finds the JSON object in a model's answer: inside prose or fences, and with small damage.

mod impact;
mod lenient;
mod member;
mod notes;

pub(crate) use impact::Impact;
pub use member::{List, Member};
pub(crate) use notes::{Notes, snippet};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Maximum bytes of an answer. Some models repeat themselves until their limit; the useful part is at the beginning.
pub const ANSWER_LENGTH_MAX: usize = 512 * 1024;
/// Maximum opening brackets to try. Each try reads the rest of the answer, and prose with many brackets must not take
/// long.
const STARTS_MAX: usize = 16;

/// The JSON object in an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub members: Map<String, Value>,
    /// False if the text ended early and more than closing brackets is missing.
    pub whole: bool,
    /// Repairs that were made, for the trace.
    pub notes: Vec<String>,
}

impl Answer {
    /// Deserializes the members into the types of a contract.
    ///
    /// # Errors
    ///
    /// [`MalformedAnswer`] for a type whose members refuse a value; those of [`crate::contract`] accept everything.
    pub(crate) fn parse_members<T: DeserializeOwned>(self) -> Result<T, MalformedAnswer> {
        serde_json::from_value(Value::Object(self.members))
            .map_err(|error| MalformedAnswer(error.to_string()))
    }
}

/// An answer without a usable object. The text tells the model what to do better.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MalformedAnswer(pub String);

/// Finds the JSON object in `text` that has the member `required[0]`, and repairs it if possible.
///
/// Tolerated: prose and code fences around it, a `<think>` part before it, trailing commas, single and typographic
/// quotes, Python's constants, signs before numbers, raw line breaks and unescaped quotes in strings, comments, a
/// missing end. An incomplete last item is left out. The time is linear in the length of the text, at most
/// [`STARTS_MAX`] times.
///
/// # Errors
///
/// [`MalformedAnswer`] when there is no such object, or the text is longer than [`ANSWER_LENGTH_MAX`].
pub fn read(text: &str, required: &[&str]) -> Result<Answer, MalformedAnswer> {
    if text.len() > ANSWER_LENGTH_MAX {
        return Err(MalformedAnswer(format!("The answer is longer than {ANSWER_LENGTH_MAX} bytes.")));
    }
    // Some models write their object as the text of a string.
    if let Ok(inner) = serde_json::from_str::<String>(text.trim()) {
        return read(&inner, required);
    }
    let main = required.first().copied().unwrap_or_default();
    let mut best: Option<Answer> = None;
    let mut seen = FallbackJson::Nothing;
    for found in BracketedValues::from_text(after_thinking(text)) {
        match found.value {
            Value::Object(members) => {
                let Some((members, unwrapped)) = object_with_member(members, main) else {
                    seen = FallbackJson::OtherObject;
                    continue;
                };
                let answer = build_answer(members, &found.damage, unwrapped, required);
                if answer.whole || best.as_ref().is_none_or(|best| !best.whole) {
                    best = Some(answer);
                }
            }
            Value::Array(items)
                if items.iter().all(Value::is_object) && !matches!(seen, FallbackJson::List(..)) =>
            {
                seen = FallbackJson::List(items, found.damage);
            }
            _ => {}
        }
    }
    match (best, seen) {
        (Some(answer), _) => Ok(answer),
        (None, FallbackJson::List(items, damage)) => {
            let members = Map::from_iter([(main.to_owned(), Value::Array(items))]);
            let mut answer = build_answer(members, &damage, false, required);
            answer.notes.push(format!("the answer was a bare list, taken as `{main}`"));
            Ok(answer)
        }
        (None, FallbackJson::OtherObject) => {
            Err(MalformedAnswer(format!("The object has no member `{main}`.")))
        }
        (None, FallbackJson::Nothing) => {
            Err(MalformedAnswer("There is no readable JSON object in the answer.".to_owned()))
        }
    }
}

/// True if an answer contains an empty object and no other one.
pub(crate) fn is_empty_object(text: &str) -> bool {
    if text.len() > ANSWER_LENGTH_MAX {
        return false;
    }
    let mut objects = BracketedValues::from_text(after_thinking(text));
    let is_empty = |found: &FoundJson| {
        found.damage.open_at_end.is_none()
            && matches!(&found.value, Value::Object(members) if members.is_empty())
    };
    objects.next().is_some_and(|found| is_empty(&found)) && objects.next().is_none()
}

enum FallbackJson {
    Nothing,
    OtherObject,
    List(Vec<Value>, Damage),
}

fn build_answer(members: Map<String, Value>, damage: &Damage, unwrapped: bool, required: &[&str]) -> Answer {
    let mut notes = Vec::new();
    if damage.repaired {
        notes.push("the answer's JSON was repaired".to_owned());
    }
    if unwrapped {
        notes.push("the answer stood inside another object".to_owned());
    }
    let complete = required.iter().all(|name| members.contains_key(*name));
    let whole = match damage.open_at_end {
        None => true,
        Some(open) => open <= 1 && complete,
    };
    if damage.open_at_end.is_some() {
        notes.push("the answer ended early".to_owned());
    }
    Answer { members, whole, notes }
}

/// The object itself, or the only object inside it, if that has the member.
fn object_with_member(mut members: Map<String, Value>, name: &str) -> Option<(Map<String, Value>, bool)> {
    if members.contains_key(name) {
        return Some((members, false));
    }
    if members.len() != 1 {
        return None;
    }
    let key = members.keys().next()?.clone();
    match members.remove(&key) {
        Some(Value::Object(inner)) if inner.contains_key(name) => Some((inner, true)),
        _ => None,
    }
}

/// The text after the thinking part, which models close with a tag.
fn after_thinking(text: &str) -> &str {
    const THINKING_END: &str = "</think>";
    text.rfind(THINKING_END).map_or(text, |at| &text[at + THINKING_END.len()..])
}

/// Repairs that were needed to read a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Damage {
    repaired: bool,
    /// Number of brackets that were open when the text ended.
    open_at_end: Option<usize>,
}

struct FoundJson {
    value: Value,
    damage: Damage,
}

/// Iterator over the bracketed values of a text.
struct BracketedValues<'a> {
    text: &'a str,
    starts_left: usize,
}

impl<'a> BracketedValues<'a> {
    fn from_text(text: &'a str) -> Self {
        Self { text, starts_left: STARTS_MAX }
    }
}

impl Iterator for BracketedValues<'_> {
    type Item = FoundJson;

    fn next(&mut self) -> Option<FoundJson> {
        while self.starts_left > 0 {
            let start = self.text.find(['{', '['])?;
            let rest = &self.text[start..];
            if !may_be_an_answer(rest) {
                self.text = &rest[1..];
                continue;
            }
            self.starts_left -= 1;
            if let Some((value, length)) = parse_strictly(rest) {
                self.text = &rest[length..];
                return Some(FoundJson { value, damage: Damage::default() });
            }
            match lenient::read_leniently(rest) {
                Ok(lenient::ParsedText { value, length, open_at_end }) => {
                    self.text = &rest[length..];
                    return Some(FoundJson { value, damage: Damage { repaired: true, open_at_end } });
                }
                // Not JSON after all, perhaps a bracket in prose.
                Err(lenient::Unreadable) => self.text = &rest[1..],
            }
        }
        None
    }
}

/// False for brackets of prose, such as handles in `[m1]`, which are skipped without a try.
fn may_be_an_answer(text: &str) -> bool {
    let next = text[1..].trim_start().chars().next();
    if text.starts_with('[') {
        return matches!(next, None | Some('{' | ']'));
    }
    next.is_none_or(|c| !c.is_ascii_digit() && !matches!(c, '{' | '[' | ',' | ':' | '%'))
}

fn parse_strictly(text: &str) -> Option<(Value, usize)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next()?.ok()?;
    Some((value, values.byte_offset()))
}
