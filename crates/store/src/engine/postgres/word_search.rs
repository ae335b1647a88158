//! The word index on a server: GIN over `tsvector`.

use crate::engine::sql::word_dialect::WordDialect;

/// Maximum characters of a term in the word index. Its terms have at most 2,046 bytes, and a character up to four.
const TERM_CHARACTERS: usize = 500;

/// The newest $2 rows that match $1. The index returns all rows of a word, which have to be sorted; for a common word
/// it is faster to scan the newest rows. Its frequency among the newest thousand decides: a scan takes 0.28 µs for
/// each of the rows that contain $2 matches, and the index 0.8 µs for each match in the whole table. The sum prevents
/// the planner from scanning all rows by their numbers.
macro_rules! newest {
    ($table:literal) => {
        concat!(
            "WITH newest AS MATERIALIZED (
                 SELECT number FROM (SELECT number, terms FROM ",
            $table,
            " ORDER BY number DESC LIMIT 1000) AS latest
                 WHERE terms @@ (SELECT CAST($1 AS TEXT)::tsquery) ORDER BY number DESC LIMIT $2
             ),
             common AS MATERIALIZED (
                 SELECT number FROM (SELECT number, terms FROM ",
            $table,
            " ORDER BY number DESC LIMIT 50000) AS latest
                 WHERE (SELECT count(*) < $2 AND power(count(*), 2) * (
                         SELECT reltuples FROM pg_class WHERE oid = '",
            $table,
            "'::regclass) > 350000 * $2 FROM newest)
                     AND terms @@ (SELECT CAST($1 AS TEXT)::tsquery) ORDER BY number DESC LIMIT $2
             )
             SELECT number FROM newest WHERE (SELECT count(*) FROM newest) = $2
             UNION ALL
             SELECT number FROM common WHERE (SELECT count(*) FROM common) = $2
             UNION ALL
             (SELECT number FROM ",
            $table,
            " WHERE (SELECT count(*) FROM newest) < $2 AND (SELECT count(*) FROM common) < $2
                  AND terms @@ (SELECT CAST($1 AS TEXT)::tsquery)
              ORDER BY number + 0 DESC LIMIT $2)"
        )
    };
}

/// All rows that match $1, packed, and true; for a word that is in more than about $3 rows the newest $2, and false;
/// and the size of scope $4. The newest thousand rows decide. Requesting the newest rows of a word and then all of
/// them would read most of them twice.
macro_rules! newest_or_all {
    ($table:literal) => {
        concat!(
            "WITH newest AS MATERIALIZED (
                 SELECT number FROM (SELECT number, terms FROM ",
            $table,
            " ORDER BY number DESC LIMIT 1000) AS latest
                 WHERE terms @@ (SELECT CAST($1 AS TEXT)::tsquery) ORDER BY number DESC LIMIT $2
             ),
             common AS MATERIALIZED (
                 SELECT number FROM (SELECT number, terms FROM ",
            $table,
            " ORDER BY number DESC LIMIT 50000) AS latest
                 WHERE (SELECT count(*) < $2 AND count(*) * (
                         SELECT reltuples FROM pg_class WHERE oid = '",
            $table,
            "'::regclass) > 1000 * CAST($3 AS BIGINT) FROM newest)
                     AND terms @@ (SELECT CAST($1 AS TEXT)::tsquery) ORDER BY number DESC LIMIT $2
             ),
             found AS (
                 SELECT number FROM newest WHERE (SELECT count(*) FROM newest) = $2
                 UNION ALL
                 SELECT number FROM common WHERE (SELECT count(*) FROM common) = $2
                 UNION ALL
                 SELECT number FROM ",
            $table,
            " WHERE (SELECT count(*) FROM newest) < $2 AND (SELECT count(*) FROM common) < $2
                     AND terms @@ (SELECT CAST($1 AS TEXT)::tsquery)
             )
             SELECT coalesce(string_agg(int8send(number), ''), ''),
                 (SELECT count(*) FROM newest) < $2 AND (SELECT count(*) FROM common) < $2,
                 (SELECT message_count FROM scopes WHERE scopes.number = $4),
                 (SELECT node_count FROM scopes WHERE scopes.number = $4)
             FROM found"
        )
    };
}

/// All rows that match $1, packed into one value: returning them as rows would take longer than finding them.
macro_rules! all {
    ($table:literal) => {
        concat!(
            "SELECT coalesce(string_agg(int8send(number), ''), '') FROM ",
            $table,
            " WHERE terms @@ (SELECT CAST($1 AS TEXT)::tsquery)"
        )
    };
}

/// Converts phrases to `tsquery`: each term quoted, quotes and backslashes doubled.
pub(crate) const TEXT_SEARCH: WordDialect = WordDialect {
    phrase: |terms, is_prefix| {
        let quoted = |term: &str| {
            let term: String = term.chars().take(TERM_CHARACTERS).collect();
            format!("'{}'", term.replace('\\', "\\\\").replace('\'', "''"))
        };
        let terms = terms.split(' ').map(quoted).collect::<Vec<_>>().join(" <-> ");
        format!("({terms}{})", if is_prefix { ":*" } else { "" })
    },
    or: " | ",
    and: " & ",
    newest: [newest!("message_words"), newest!("node_words")],
    newest_or_all: Some([newest_or_all!("message_words"), newest_or_all!("node_words")]),
    all: Some([all!("message_words"), all!("node_words")]),
};
