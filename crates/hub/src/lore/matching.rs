//! Finds the entries that the newest messages name.

use std::cmp::Reverse;
use std::collections::HashMap;

use memory::text::{at_word_borders, fold};

use super::entry::{KeyLogic, LoreEntry};

/// Default number of the newest messages that are searched for an entry's keys. They are two exchanges; older
/// messages are usually about something else.
const SCAN_DEPTH_DEFAULT: u32 = 4;
/// Maximum messages to search. Older ones are not part of the current topic.
const SCAN_DEPTH_MAX: u32 = 50;

/// Index of the entries' keys by first letter. A text is read once, however many entries there are.
pub(super) struct LoreIndex {
    entries: Vec<LoreEntry>,
    keys: Vec<IndexedKey>,
    by_first_letter: HashMap<char, Vec<usize>>,
    /// Number of messages that some entry needs.
    scan_depth: usize,
}

struct IndexedKey {
    entry: usize,
    is_secondary: bool,
    /// The key's text, folded unless the key is case-sensitive.
    text: String,
    is_case_sensitive: bool,
    whole_words: Option<bool>,
}

impl LoreIndex {
    pub(super) fn new(entries: Vec<LoreEntry>) -> Self {
        let scan_depth = entries.iter().map(scan_depth).max().unwrap_or_default() as usize;
        let mut index = Self { entries, keys: Vec::new(), by_first_letter: HashMap::new(), scan_depth };
        for (at, entry) in index.entries.iter().enumerate().filter(|(_, entry)| entry.is_enabled) {
            let keys = entry.keys.iter().map(|key| (false, key));
            let secondary = entry.secondary_keys.iter().map(|key| (true, key));
            for (is_secondary, key) in keys.chain(secondary) {
                let text = if entry.is_case_sensitive { key.clone() } else { fold(key) };
                let Some(first) = text.chars().next() else { continue };
                index.by_first_letter.entry(first).or_default().push(index.keys.len());
                index.keys.push(IndexedKey {
                    entry: at,
                    is_secondary,
                    text,
                    is_case_sensitive: entry.is_case_sensitive,
                    whole_words: entry.whole_words,
                });
            }
        }
        index
    }

    pub(super) fn entry(&self, at: usize) -> Option<&LoreEntry> {
        self.entries.get(at)
    }

    /// The entries that match these messages, of which the newest comes first. The most important entry comes first.
    pub(super) fn matching_entries(&self, messages: &[&str]) -> Vec<usize> {
        // The first message that names each key.
        let mut named: Vec<Option<usize>> = vec![None; self.keys.len()];
        let is_any_case_sensitive = self.keys.iter().any(|key| key.is_case_sensitive);
        for (at, message) in messages.iter().take(self.scan_depth).enumerate() {
            self.find_keys(&fold(message), false, at, &mut named);
            if is_any_case_sensitive {
                self.find_keys(message, true, at, &mut named);
            }
        }
        let mut keys: Vec<KeyMatches> = vec![KeyMatches::default(); self.entries.len()];
        for (key, named) in self.keys.iter().zip(named) {
            let Some(entry) = self.entries.get(key.entry) else { continue };
            let depth = scan_depth(entry);
            let is_named = named.is_some_and(|at| u32::try_from(at).is_ok_and(|at| at < depth));
            if let Some(keys) = keys.get_mut(key.entry) {
                keys.count_key(key.is_secondary, is_named);
            }
        }
        let entries = self.entries.iter().zip(keys).enumerate();
        let used = entries.filter(|(_, (entry, keys))| {
            entry.is_enabled
                && !entry.content.is_empty()
                && (entry.is_constant || keys.satisfies(entry.logic))
        });
        let mut used: Vec<usize> = used.map(|(at, _)| at).collect();
        used.sort_by_key(|at| (self.entries.get(*at).map(|entry| Reverse(entry.order)), *at));
        used
    }

    fn find_keys(&self, text: &str, is_case_sensitive: bool, message: usize, named: &mut [Option<usize>]) {
        for (start, first) in text.char_indices() {
            for number in self.by_first_letter.get(&first).into_iter().flatten() {
                let (Some(key), Some(named)) = (self.keys.get(*number), named.get_mut(*number)) else {
                    continue;
                };
                if named.is_none()
                    && key.is_case_sensitive == is_case_sensitive
                    && key.is_word_at(text, start)
                {
                    *named = Some(message);
                }
            }
        }
    }
}

fn scan_depth(entry: &LoreEntry) -> u32 {
    entry.scan_depth.unwrap_or(SCAN_DEPTH_DEFAULT).min(SCAN_DEPTH_MAX)
}

impl IndexedKey {
    fn is_word_at(&self, text: &str, start: usize) -> bool {
        if !text[start..].starts_with(&self.text) {
            return false;
        }
        let end = start + self.text.len();
        match self.whole_words {
            Some(true) => at_word_borders(text, start, end),
            Some(false) => true,
            None => at_word_borders(&text[..end], start, end),
        }
    }
}

/// Number of an entry's keys that match.
#[derive(Clone, Copy, Default)]
struct KeyMatches {
    first: usize,
    secondary: usize,
    all_secondary: usize,
}

impl KeyMatches {
    fn count_key(&mut self, is_secondary: bool, is_named: bool) {
        self.all_secondary += usize::from(is_secondary);
        match is_secondary {
            true => self.secondary += usize::from(is_named),
            false => self.first += usize::from(is_named),
        }
    }

    fn satisfies(self, logic: KeyLogic) -> bool {
        let is_allowed = match logic {
            _ if self.all_secondary == 0 => true,
            KeyLogic::AndAny => self.secondary > 0,
            KeyLogic::AndAll => self.secondary == self.all_secondary,
            KeyLogic::NotAll => self.secondary < self.all_secondary,
            KeyLogic::NotAny => self.secondary == 0,
        };
        self.first > 0 && is_allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(keys: &[&str]) -> LoreEntry {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        LoreEntry { keys, content: "text".to_owned(), ..LoreEntry::default() }
    }

    fn is_named(entry: LoreEntry, messages: &[&str]) -> bool {
        !LoreIndex::new(vec![entry]).matching_entries(messages).is_empty()
    }

    #[test]
    fn keys_begin_with_a_word_unless_the_entry_says_otherwise() {
        for (key, message, by_default, whole, within) in [
            ("hive", "How are the Hives?", true, false, true),
            ("Hive", "the hive.", true, true, true),
            ("elf", "I like myself", false, false, true),
            ("蜂巢", "那个蜂巢怎么样", true, true, true),
            ("Élan", "with élan!", true, true, true),
            ("ice king", "The Ice King sleeps", true, true, true),
        ] {
            let with = |whole_words| LoreEntry { whole_words, ..entry(&[key]) };
            let found = [None, Some(true), Some(false)].map(|whole| is_named(with(whole), &[message]));
            assert_eq!(found, [by_default, whole, within], "{key} in {message}");
        }
        let sensitive = LoreEntry { is_case_sensitive: true, ..entry(&["IT"]) };
        assert!(is_named(sensitive.clone(), &["the IT crowd"]) && !is_named(sensitive, &["is it so"]));
    }

    #[test]
    fn secondary_keys_decide_by_their_logic() {
        let with = |logic| {
            let secondary_keys = vec!["old".to_owned(), "red".to_owned()];
            LoreEntry { logic, secondary_keys, ..entry(&["mill"]) }
        };
        let messages = ["the mill", "the old mill", "the old red mill", "old and red"];
        for (logic, expected) in [
            (KeyLogic::AndAny, [false, true, true, false]),
            (KeyLogic::AndAll, [false, false, true, false]),
            (KeyLogic::NotAll, [true, true, false, false]),
            (KeyLogic::NotAny, [true, false, false, false]),
        ] {
            assert_eq!(messages.map(|message| is_named(with(logic), &[message])), expected, "{logic:?}");
        }
    }

    #[test]
    fn older_messages_are_searched_as_far_as_the_entry_says() {
        let messages = ["newest", "second", "third", "fourth", "the hive"];
        assert!(!is_named(entry(&["hive"]), &messages) && is_named(entry(&["fourth"]), &messages));
        assert!(is_named(LoreEntry { scan_depth: Some(5), ..entry(&["hive"]) }, &messages));
        assert!(!is_named(LoreEntry { scan_depth: Some(0), ..entry(&["newest"]) }, &messages));
        let constant = LoreEntry { is_constant: true, ..entry(&[]) };
        assert!(is_named(constant.clone(), &[]) && !is_named(entry(&[]), &messages));
        assert!(!is_named(LoreEntry { is_enabled: false, ..constant }, &messages));
    }

    #[test]
    fn the_highest_order_comes_first() {
        let entries = [1, 9, 5, 9].map(|order| LoreEntry { order, ..entry(&["hive"]) });
        assert_eq!(LoreIndex::new(entries.to_vec()).matching_entries(&["hive"]), [1, 3, 2, 0]);
    }
}
