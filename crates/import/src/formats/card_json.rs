//! JSON of cards and lorebooks, and those that can't be read.

use serde_json::Value;

use super::{Reader, reader_of_one};
use crate::item::{Item, Skip};
use crate::json::refusal_of;

pub(super) fn reader_of_skip(name: &str, reason: String) -> Reader {
    reader_of_one(Item::Skip(Skip::new(name, reason)))
}

pub(super) fn parse(json: &str) -> Result<Value, String> {
    if let Some(reason) = refusal_of(json.as_bytes()) {
        return Err(reason);
    }
    serde_json::from_str(json.trim_start_matches('\u{FEFF}'))
        .map_err(|error| format!("its JSON is not valid: {error}"))
}
