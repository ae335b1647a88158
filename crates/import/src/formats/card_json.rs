//! Parses JSON of cards and lorebooks.

use serde_json::Value;

use super::{Reader, single_item_reader};
use crate::item::{Item, Skip};
use crate::json::parse_refusal;

pub(super) fn skipping_reader(name: &str, reason: String) -> Reader {
    single_item_reader(Item::Skip(Skip::new(name, reason)))
}

pub(super) fn parse(json: &str) -> Result<Value, String> {
    if let Some(reason) = parse_refusal(json.as_bytes()) {
        return Err(reason);
    }
    serde_json::from_str(json.trim_start_matches('\u{FEFF}'))
        .map_err(|error| format!("its JSON is not valid: {error}"))
}
