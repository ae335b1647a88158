//! From the statements as they are written, which SQLite understands, to those of PostgreSQL. Functions that have other
//! names there are created by the schema; what is left is syntax.

/// Replacements for parts of statements that no general rule covers.
const PARTS: &[(&str, &str)] = &[
    (" (rowid, terms) VALUES (?1, ?2)", " (number, terms) VALUES (?1, words_at_places(?2))"),
    (
        "INSERT INTO message_words (message_words, rowid, terms) VALUES ('delete', ?1, ?2)",
        "DELETE FROM message_words WHERE number = ?1 AND ?2::text IS NOT NULL",
    ),
    (
        "INSERT INTO node_words (node_words, rowid, terms) VALUES ('delete', ?1, ?2)",
        "DELETE FROM node_words WHERE number = ?1 AND ?2::text IS NOT NULL",
    ),
    ("message_words MATCH ?1", "terms @@ (SELECT ?1::text::tsquery)"),
    ("node_words MATCH ?1", "terms @@ (SELECT ?1::text::tsquery)"),
    ("hub_gram_words MATCH ?1", "terms @@ (SELECT ?1::text::tsquery)"),
    ("hub_words MATCH ?1", "terms @@ (SELECT ?1::text::tsquery)"),
    ("BEGIN IMMEDIATE", "BEGIN"),
    ("BEGIN DEFERRED", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"),
    (" AS INTEGER)", " AS BIGINT)"),
    ("SELECT ?1, 0", "SELECT ?1::bytea, 0"),
    ("e.value ->> 'message_id'", "e.atom::json ->> 'message_id'"),
    ("char(9, 10, 13, 32)", "E'\\t\\n\\r '"),
    ("length(CAST(transcript AS BLOB))", "octet_length(transcript)"),
    ("(?1 IS NULL OR", "(?1::text IS NULL OR"),
    ("(?3 IS NULL OR", "(?3::text IS NULL OR"),
    ("(?4 IS NULL OR", "(?4::text IS NULL OR"),
    ("THEN 0 ELSE trim", "THEN false ELSE trim"),
    (
        "FROM entity_vectors WHERE scope = ?1 AND embedding_model = ?2 ORDER BY rowid",
        "FROM entity_vectors WHERE scope = ?1 AND embedding_model = ?2 ORDER BY entity_id",
    ),
    ("json_object(", "json_build_object("),
    ("json_array(", "json_build_array("),
    ("json_quote(", "to_json("),
    ("char(", "chr("),
];

/// The statement in PostgreSQL's words.
pub(super) fn translate(statement: &str) -> String {
    let mut text = join_lines(statement);
    for (from, to) in PARTS {
        text = text.replace(from, to);
    }
    if text.contains("_words") {
        text = text.replace("rowid", "number");
    }
    without_plans(&number_parameters(&text))
}

/// In one line, with single blanks, except in quoted text.
fn join_lines(statement: &str) -> String {
    let parts = statement.split('\'').enumerate().map(|(place, part)| {
        if place % 2 == 1 {
            return part.to_owned();
        }
        let mut words = part.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        if part.starts_with(|c: char| c.is_ascii_whitespace()) {
            words.insert(0, ' ');
        }
        if words.len() > 1 && part.ends_with(|c: char| c.is_ascii_whitespace()) {
            words.push(' ');
        }
        words
    });
    parts.collect::<Vec<_>>().join("'").trim().to_owned()
}

/// `?1` is `$1`, and what it is compared with by `IS` may be NULL.
fn number_parameters(text: &str) -> String {
    let text = text.replace(" IS NOT ?", " IS DISTINCT FROM ?").replace(" IS ?", " IS NOT DISTINCT FROM ?");
    text.replace('?', "$")
}

/// Leaves out which index is to be used, and the order of joins.
fn without_plans(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let mut kept = Vec::with_capacity(words.len());
    let mut next = 0;
    while let Some(word) = words.get(next) {
        match (*word, words.get(next + 1)) {
            ("INDEXED", Some(&"BY")) => next += 3,
            ("CROSS", Some(&"JOIN")) if has_condition(words.get(next + 2..).unwrap_or_default()) => next += 1,
            _ => {
                kept.push(*word);
                next += 1;
            }
        }
    }
    kept.join(" ")
}

/// True if a join's `ON` comes before anything that begins another part.
fn has_condition(words: &[&str]) -> bool {
    let end = ["ON", "JOIN", "CROSS", "LEFT", "WHERE", "ORDER", "GROUP", "LIMIT", "UNION"];
    words.iter().find(|word| end.contains(word)) == Some(&"ON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_joins_and_comparisons_are_translated() {
        for (written, wanted) in [
            (
                "SELECT a FROM b WHERE c = ?1 AND d IS ?2",
                "SELECT a FROM b WHERE c = $1 AND d IS NOT DISTINCT FROM $2",
            ),
            ("FROM a CROSS JOIN b ON b.x = a.x CROSS JOIN c", "FROM a JOIN b ON b.x = a.x CROSS JOIN c"),
            ("FROM a v INDEXED BY an_index ON x", "FROM a v ON x"),
            (
                "SELECT rowid FROM node_words WHERE node_words MATCH ?1 LIMIT ?2",
                "SELECT number FROM node_words WHERE terms @@ (SELECT $1::text::tsquery) LIMIT $2",
            ),
            ("SELECT a ||\n   ' \n ' || b\n FROM c", "SELECT a || ' \n ' || b FROM c"),
        ] {
            assert_eq!(translate(written), wanted);
        }
    }
}
