//! Ids of messages in formats without ids: the same message in the same or a longer file has the same digest.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

use crate::item::ExternalId;
use crate::message_time::MessageTime;

/// Equal messages to remember, in each of two generations. Equal messages further apart than that count as the first
/// again.
const REMEMBERED_MAX: usize = 400_000;

/// Distinguishes equal messages of one file by counting them.
#[derive(Default)]
pub(super) struct DigestIds {
    recent: HashMap<u64, u32>,
    older: HashMap<u64, u32>,
}

impl DigestIds {
    /// The digest for the next message with this content.
    pub(super) fn next_id(
        &mut self,
        conversation: &str,
        speaker: &str,
        time: MessageTime,
        text: &str,
    ) -> ExternalId {
        let (key, before, id) = self.look_up(conversation, speaker, time, text);
        if self.recent.len() >= REMEMBERED_MAX {
            self.older = std::mem::take(&mut self.recent);
        }
        self.recent.insert(key, before + 1);
        ExternalId::Digest(id)
    }

    /// The digest that the next message with this content would get.
    pub(super) fn peek_id(&self, conversation: &str, speaker: &str, time: MessageTime, text: &str) -> String {
        self.look_up(conversation, speaker, time, text).2
    }

    /// Key of the content, the number of earlier messages with the same content, and the next digest.
    fn look_up(
        &self,
        conversation: &str,
        speaker: &str,
        time: MessageTime,
        text: &str,
    ) -> (u64, u32, String) {
        let content = digest(&[conversation, speaker, &time.to_string(), text]);
        let mut key = [0; 8];
        key.copy_from_slice(&content[..8]);
        let key = u64::from_le_bytes(key);
        let before = self.recent.get(&key).or_else(|| self.older.get(&key)).copied().unwrap_or(0);
        let mut hash = Sha256::new();
        hash.update(content);
        hash.update(before.to_le_bytes());
        (key, before, hex::encode(&hash.finalize()[..16]))
    }
}

/// A short id computed from fields that don't change, for conversations.
pub(super) fn stable_id(parts: &[&str]) -> String {
    hex::encode(&digest(parts)[..12])
}

fn digest(parts: &[&str]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_messages_are_counted_and_a_second_read_agrees() {
        let read = || {
            let mut ids = DigestIds::default();
            ["ok", "ok", "no"].map(|text| ids.next_id("c", "Ann", MessageTime::Unknown, text))
        };
        let ids = read();
        assert!(ids[0] != ids[1] && ids[1] != ids[2]);
        assert_eq!(read(), ids);
    }
}
