//! The query language of an engine's word index.

/// Queries and statements of an engine's word index.
pub(crate) struct WordDialect {
    /// Converts a phrase, terms separated by spaces, to a query; the last term may be the prefix of a longer one.
    pub(crate) phrase: fn(terms: &str, is_prefix: bool) -> String,
    pub(crate) or: &'static str,
    pub(crate) and: &'static str,
    /// Statement for the newest ?2 rows that match ?1, of messages and of nodes.
    pub(crate) newest: [&'static str; 2],
    /// Statement for the rows that match ?1, packed as in `all`, with true if these are all: otherwise the word is in
    /// more than about ?3 rows, and these are the newest ?2. Also returns the numbers of messages and of nodes in
    /// scope ?4. `None` if the engine finds the newest rows without reading the others.
    pub(crate) newest_or_all: Option<[&'static str; 2]>,
    /// Statement for all rows that match ?1, of messages and of nodes, in any order: one row with the numbers, 8
    /// bytes each, most significant byte first. `None` if rows cost nothing.
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
