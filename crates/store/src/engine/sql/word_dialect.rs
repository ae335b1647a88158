//! How the word index of an engine is asked.

/// The query language of a word index.
pub(crate) struct WordDialect {
    /// A phrase: its terms, separated by blanks, one after the other; the last one may be the beginning of a longer one.
    pub(crate) phrase: fn(terms: &str, is_prefix: bool) -> String,
    pub(crate) or: &'static str,
    pub(crate) and: &'static str,
    /// The newest ?2 rows that match ?1, of messages and of nodes.
    pub(crate) newest: [&'static str; 2],
    /// The rows that match ?1, packed as in `all`; true if these are all: else the word is in more than about ?3 rows, and these are
    /// the newest ?2; the numbers of messages and of nodes in the scope ?4. `None` where the newest rows are found without looking at the others.
    pub(crate) newest_or_all: Option<[&'static str; 2]>,
    /// All rows that match ?1, of messages and of nodes, in any order: one row that holds the numbers, in 8 bytes each, the most
    /// significant one first. `None` where rows cost nothing.
    pub(crate) all: Option<[&'static str; 2]>,
}

pub(super) const FULL_TEXT: WordDialect = WordDialect {
    phrase: |terms, is_prefix| {
        format!("\"{}\"{}", terms.replace('"', "\"\""), if is_prefix { "*" } else { "" })
    },
    or: " OR ",
    and: " AND ",
    newest: [
        "SELECT rowid FROM message_words WHERE message_words MATCH ?1 ORDER BY rowid DESC LIMIT ?2",
        "SELECT rowid FROM node_words WHERE node_words MATCH ?1 ORDER BY rowid DESC LIMIT ?2",
    ],
    newest_or_all: None,
    all: None,
};
