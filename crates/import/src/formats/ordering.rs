//! Files that list their newest message first.

use std::io;

use super::Reader;
use crate::error::ImportError;
use crate::item::Item;
use crate::message_time::MessageTime;

/// Largest file that is turned round, in bytes of text. It is held in memory; larger files are read as they are.
const REORDERED_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The items of a file that may list its newest message first, in the order of the talk. A larger file keeps its order.
pub(super) fn oldest_first(open: impl Fn() -> Result<Reader, ImportError>) -> Result<Reader, ImportError> {
    let (mut first, mut last, mut bytes) = (None, None, 0usize);
    for item in open()?.map_while(Result::ok) {
        bytes += 256;
        let Item::Message(message) = item else { continue };
        bytes = bytes.saturating_add(message.text.len());
        if let MessageTime::Instant(at) = message.time {
            first.get_or_insert(at);
            last = Some(at);
        }
    }
    if first <= last || bytes > REORDERED_BYTES_MAX {
        return open();
    }
    // The conversation's start stays in front, and what could not be read behind.
    let mut items: Vec<io::Result<Item>> = open()?.collect();
    let is_message = |item: &io::Result<Item>| matches!(item, Ok(Item::Message(_) | Item::Skip(_)));
    let begin = items.iter().position(is_message).unwrap_or(items.len());
    let end = items.iter().position(Result::is_err).unwrap_or(items.len());
    items[begin..end.max(begin)].reverse();
    Ok(Box::new(items.into_iter()))
}
