//! Parser of server-sent events from untrusted bytes, in bounded memory.
//!
//! Written here because eventsource-stream 0.2 panics on a byte order mark and keeps every byte after an invalid one.
//! Follows the WHATWG event stream grammar; names, ids and reconnection times are ignored, because both protocols
//! name the event inside the data.

use super::MAX_EVENT_BYTES;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// The event's `data:` lines, joined by line feeds.
    pub(crate) data: String,
}

/// Why bytes are not an event stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventError {
    /// An event is longer than the limit.
    TooLarge,
    /// The bytes are not valid UTF-8.
    Unreadable,
}

/// Turns chunks of bytes, cut anywhere, into events.
#[derive(Debug, Default)]
pub(super) struct EventDecoder {
    line: Vec<u8>,
    after_carriage_return: bool,
    first_line_seen: bool,
    event: SseEvent,
    has_data: bool,
}

impl EventDecoder {
    /// Decodes the next chunk, and passes each completed event to `completed`.
    ///
    /// # Errors
    ///
    /// After an error the decoder must not be used any more.
    pub(super) fn push(
        &mut self,
        chunk: &[u8],
        mut completed: impl FnMut(SseEvent),
    ) -> Result<(), EventError> {
        let mut rest = chunk;
        if self.after_carriage_return && rest.first() == Some(&b'\n') {
            rest = &rest[1..];
        }
        if !chunk.is_empty() {
            self.after_carriage_return = false;
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.buffer_bytes(&rest[..end])?;
            let after = &rest[end + 1..];
            rest = match (rest[end], after.first()) {
                (b'\r', Some(b'\n')) => &after[1..],
                (b'\r', None) => {
                    self.after_carriage_return = true;
                    after
                }
                _ => after,
            };
            if let Some(event) = self.end_line()? {
                completed(event);
            }
        }
        self.buffer_bytes(rest)
    }

    fn buffer_bytes(&mut self, bytes: &[u8]) -> Result<(), EventError> {
        let held = self.line.len() + self.event.data.len();
        if held + bytes.len() > MAX_EVENT_BYTES {
            return Err(EventError::TooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<SseEvent>, EventError> {
        let line = std::mem::take(&mut self.line);
        let line = std::str::from_utf8(&line).map_err(|_invalid| EventError::Unreadable)?;
        let line = if self.first_line_seen { line } else { line.trim_start_matches('\u{feff}') };
        self.first_line_seen = true;
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return Ok(std::mem::take(&mut self.has_data).then_some(event));
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        if field == "data" {
            if self.has_data {
                self.event.data.push('\n');
            }
            self.event.data.push_str(value);
            self.has_data = true;
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<SseEvent>, EventError> {
        let mut decoder = EventDecoder::default();
        let mut events = Vec::new();
        for chunk in chunks {
            decoder.push(chunk, |event| events.push(event))?;
        }
        Ok(events)
    }

    fn event(data: &str) -> SseEvent {
        SseEvent { data: data.to_owned() }
    }

    #[test]
    fn every_line_ending_ends_a_line() {
        for text in [
            "event: a\ndata: 1\n\ndata:2\n\n",
            "event: a\r\ndata: 1\r\n\r\ndata:2\r\n\r\n",
            "event: a\rdata: 1\r\rdata:2\r\r",
        ] {
            assert_eq!(decode([text.as_bytes()]), Ok(vec![event("1"), event("2")]), "{text:?}");
        }
    }

    #[test]
    fn comments_and_blank_lines_are_no_events() {
        assert_eq!(decode([b": still here\n\n\n\nid: 7\n\n".as_slice()]), Ok(vec![]));
    }

    #[test]
    fn data_lines_are_joined_and_an_unfinished_event_is_dropped() {
        assert_eq!(decode([b"data: a\ndata: b\n\ndata: cut".as_slice()]), Ok(vec![event("a\nb")]));
    }

    #[test]
    fn a_byte_order_mark_is_skipped() {
        assert_eq!(decode(["\u{feff}data: 1\n\n".as_bytes()]), Ok(vec![event("1")]));
    }

    #[test]
    fn an_event_without_end_is_too_large() {
        let chunk = [b'a'; 64 * 1024];
        assert_eq!(decode(std::iter::repeat_n(chunk.as_slice(), 1000)), Err(EventError::TooLarge));
        let lines = b"data: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n".repeat(1000);
        assert_eq!(decode(std::iter::repeat_n(lines.as_slice(), 1000)), Err(EventError::TooLarge));
    }

    #[test]
    fn bytes_that_are_no_text_are_unreadable() {
        assert_eq!(decode([b"data: \xff\xfe\n\n".as_slice()]), Err(EventError::Unreadable));
    }

    proptest! {
        #[test]
        fn chunk_boundaries_change_nothing(
            text in "(data: [a猫\\r\\n ]{0,8}|event: x|:c|\r\n|\n|\r){0,12}",
            cuts in prop::collection::vec(0_usize..64, 0..6),
        ) {
            let bytes = text.as_bytes();
            let mut places: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            places.extend([0, bytes.len()]);
            places.sort_unstable();
            let chunks = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
            prop_assert_eq!(decode(chunks), decode([bytes]));
        }
    }
}
