//! Files that list their newest message first.

use std::io;

use super::Reader;
use crate::error::ImportError;
use crate::item::Item;
use crate::message_time::MessageTime;

/// Maximum bytes of a file that is reversed, as it is held in memory. Larger files keep their order.
const REORDERED_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The items of a file in chronological order, if it lists its newest message first. A larger file keeps its order.
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
    // The start of the conversation stays first, and unreadable items last.
    let mut items: Vec<io::Result<Item>> = open()?.collect();
    let is_message = |item: &io::Result<Item>| matches!(item, Ok(Item::Message(_) | Item::Skip(_)));
    let begin = items.iter().position(is_message).unwrap_or(items.len());
    let end = items.iter().position(Result::is_err).unwrap_or(items.len());
    items[begin..end.max(begin)].reverse();
    Ok(Box::new(items.into_iter()))
}
