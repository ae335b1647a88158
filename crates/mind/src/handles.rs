//! Short names for ids in one prompt. The model never sees an id, so it can't invent one.

use crate::answer::{List, Notes, snippet};

/// Short ids of one kind in one prompt: `m1` for the first item, `m2` for the second, and so on.
#[derive(Clone, Debug)]
pub(crate) struct Handles<Id> {
    letter: char,
    ids: Vec<Id>,
}

impl<Id: Copy> Handles<Id> {
    pub(crate) fn add_handle(letter: char, ids: impl IntoIterator<Item = Id>) -> Self {
        Self { letter, ids: ids.into_iter().collect() }
    }

    /// The handle of the item at a zero-based `index`.
    pub(crate) fn handle_at(&self, index: usize) -> String {
        format!("{}{}", self.letter, index + 1)
    }

    /// The id of a handle as a model wrote it: brackets around it and its case don't matter. `None` for an unknown
    /// handle.
    pub(crate) fn id(&self, handle: &str) -> Option<Id> {
        let bare = handle.trim().trim_matches(['[', ']', '(', ')', '#', '`']);
        let mut characters = bare.chars();
        if characters.next()?.to_ascii_lowercase() != self.letter {
            return None;
        }
        let digits = characters.as_str();
        if digits.is_empty() || digits.starts_with('0') || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let position: usize = digits.parse().ok()?;
        self.ids.get(position.checked_sub(1)?).copied()
    }
}

impl<Id: Copy + PartialEq> Handles<Id> {
    /// The ids of the handles in a list, each once. Unknown handles are noted; notes use `what` as the word for them.
    pub(crate) fn cited_ids(
        &self,
        list: &List<String>,
        what: &str,
        name: &str,
        notes: &mut Notes,
    ) -> Vec<Id> {
        let mut cited = Vec::new();
        for handle in list.trimmed_texts(name, notes) {
            match self.id(handle) {
                Some(id) if !cited.contains(&id) => cited.push(id),
                Some(_) => {}
                None => notes.add(format!("unknown {what} \"{}\" in {name}, dropped", snippet(handle))),
            }
        }
        cited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_minted_handles_have_an_id() {
        let handles = Handles::add_handle('m', [10, 20]);
        assert_eq!((handles.handle_at(0), handles.handle_at(1)), ("m1".to_owned(), "m2".to_owned()));
        for (handle, id) in [("m1", Some(10)), ("M2", Some(20)), (" [m2] ", Some(20)), ("m3", None)] {
            assert_eq!(handles.id(handle), id, "{handle}");
        }
        for invented in ["", "m", "m0", "m01", "e1", "1", "m-1", "m1.0", "m99999999999999999999", "消息1"] {
            assert_eq!(handles.id(invented), None, "{invented}");
        }
    }
}
