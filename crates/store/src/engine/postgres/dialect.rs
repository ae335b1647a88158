//! Translates the statements, which are written for SQLite, to PostgreSQL. Functions with other names there are
//! created by the schema; only syntax is left.

/// Replacements for parts of statements that no general rule covers.
const REPLACED_PARTS: &[(&str, &str)] = &[
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

/// Translates a statement for PostgreSQL.
pub(super) fn translate(statement: &str) -> String {
    let mut text = join_lines(statement);
    for (from, to) in REPLACED_PARTS {
        text = text.replace(from, to);
    }
    if text.contains("_words") {
        text = text.replace("rowid", "number");
    }
    without_plans(&number_parameters(&text))
}

/// The statement on one line, with single spaces except in quoted text.
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

/// Replaces `?1` by `$1`, and `IS` with a parameter by a comparison that allows NULL.
fn number_parameters(text: &str) -> String {
    let text = text.replace(" IS NOT ?", " IS DISTINCT FROM ?").replace(" IS ?", " IS NOT DISTINCT FROM ?");
    text.replace('?', "$")
}

/// Removes index hints. A `CROSS JOIN` with a condition becomes a subquery that the planner does not flatten, so that
/// rows are looked up for each preceding row, as in a file. A plan stays for as long as the connection, and one made
/// for small tables would scan all of a large one.
fn without_plans(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    // True if lists serve only to look rows up, so that neither their order nor their values are read.
    let only_keys = !text.contains("j.key")
        && !text.contains("j.atom")
        && text.matches("j.value").count() == text.matches(" = j.value").count();
    let mut kept = Vec::with_capacity(words.len());
    let mut next = 0;
    while let Some(word) = words.get(next) {
        match words.get(next..).unwrap_or_default() {
            ["INDEXED", "BY", ..] => next += 3,
            ["CROSS", "JOIN", table, alias, "ON", condition @ ..] => {
                let (length, after) = condition_length(condition);
                let (condition, last) = (condition.get(..length).unwrap_or_default().join(" "), after);
                let condition = condition.strip_suffix(last).unwrap_or(&condition);
                match only_keys.then(|| rows_of_list(&kept, condition)).flatten() {
                    Some(rows) => {
                        kept.truncate(kept.len() - 2);
                        kept.push(format!("(SELECT * FROM {table} {alias} WHERE {rows} OFFSET 0) AS {alias}{last}"));
                    }
                    None => kept.push(format!(
                        "JOIN LATERAL (SELECT * FROM {table} {alias} WHERE {condition} OFFSET 0) AS {alias} ON true{last}"
                    )),
                }
                next += 5 + length;
            }
            _ => {
                kept.push((*word).to_owned());
                next += 1;
            }
        }
    }
    kept.join(" ")
}

/// The rows whose key is in a list of numbers, if a join (`json_each($1) j`, `c.y = j.value`) selects nothing else. One
/// scan of the index for all keys takes half the time of a lookup for each.
fn rows_of_list(joined: &[String], condition: &str) -> Option<String> {
    let [.., list, alias] = joined else { return None };
    let parameter = list.strip_prefix("json_each(")?.strip_suffix(')').filter(|_| alias == "j")?;
    let key = condition.strip_suffix(" = j.value").filter(|key| !key.contains(' '))?;
    Some(format!("{key} = ANY (translate({parameter}, '[]', '{{}}')::bigint[])"))
}

/// Number of words of a join's condition, and the number of closing parentheses after it.
fn condition_length<'a>(words: &[&'a str]) -> (usize, &'a str) {
    let ends = ["JOIN", "CROSS", "LEFT", "WHERE", "ORDER", "GROUP", "LIMIT", "UNION"];
    let mut open = 0_i32;
    for (place, word) in words.iter().enumerate() {
        if open == 0 && ends.contains(word) {
            return (place, "");
        }
        for (index, letter) in word.char_indices() {
            match letter {
                '(' => open += 1,
                ')' if open == 0 => return (place + 1, word.get(index..).unwrap_or_default()),
                ')' => open -= 1,
                _ => {}
            }
        }
    }
    (words.len(), "")
}

#[cfg(test)]
mod tests {
    use testkit::postgres::{fresh_home, query};

    use super::*;
    use crate::engine::postgres::PLANNER_SETTINGS;
    use crate::engine::statements::statements;

    #[test]
    #[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
    fn rows_are_looked_up_by_key_by_a_plan_made_for_empty_tables() {
        let database = fresh_home().unwrap().unwrap();
        let (mut scans, mut lookups) = (0, 0);
        for found in statements() {
            let text = translate(&found.statement);
            let (is_scan, is_lookup) =
                (text.contains("= ANY (translate("), text.contains(") j JOIN LATERAL"));
            if !is_scan && !is_lookup {
                continue;
            }
            let is_used = |number: &u32| text.contains(&format!("${number}"));
            let values = vec!["NULL"; (1..10).filter(is_used).count()].join(", ");
            let script = format!("{PLANNER_SETTINGS}; PREPARE s AS {text}; EXPLAIN EXECUTE s({values})");
            let plan = query(&database, &script).unwrap();
            let first = plan.iter().find(|line| line.contains(" Scan")).unwrap();
            assert_eq!(first.contains("Function Scan"), is_lookup, "{text}\n{}", plan.join("\n"));
            assert_eq!(
                plan.iter().any(|line| line.contains("= ANY ")),
                is_scan,
                "{text}\n{}",
                plan.join("\n")
            );
            (scans, lookups) = (scans + u32::from(is_scan), lookups + u32::from(is_lookup));
        }
        assert!(scans >= 6 && lookups >= 1, "{scans} scans, {lookups} lookups");
    }

    /// Tables that statements may scan: small ones, and those of forgetting, of a changed embedding model and of
    /// `doctor`.
    const SCANNED_TABLES: [&str; 13] = [
        "channel_strangers",
        "core_blocks",
        "embedding_models",
        "entities",
        "former_peers",
        "graph_sources",
        "hub_chunk_counts",
        "hub_chunk_numbers",
        "hub_own_instance",
        "logins",
        "overwriting_due",
        "rejected_memories",
        "scopes",
    ];

    /// Maximum statements in one script, which is one argument of a program.
    const EXPLAINED_AT_ONCE: usize = 50;

    #[test]
    #[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
    fn statements_read_by_index_even_where_tables_are_known_to_be_small() {
        let database = fresh_home().unwrap().unwrap();
        query(&database, "VACUUM ANALYZE").unwrap();
        // Forgetting searches a name in each memory, and names of erased documents in each document.
        let reads_all = |text: &String| {
            text.starts_with("SELECT s.persona_id, s.user_id, h.kind, h.stem")
                || text.contains("instr(description, $2)")
        };
        let all: Vec<String> = statements().into_iter().map(|found| translate(&found.statement)).collect();
        let by_index: Vec<&String> = all.iter().filter(|text| !reads_all(text)).collect();
        for some in by_index.chunks(EXPLAINED_AT_ONCE) {
            let explained = some.iter().enumerate().map(|(number, text)| {
                let count = (1..).take_while(|parameter| text.contains(&format!("${parameter}"))).count();
                let values =
                    if count == 0 { String::new() } else { format!("({})", vec!["NULL"; count].join(", ")) };
                format!("PREPARE s{number} AS {text}; EXPLAIN EXECUTE s{number}{values};")
            });
            let plans =
                query(&database, &format!("{PLANNER_SETTINGS}; {}", explained.collect::<String>())).unwrap();
            for line in &plans {
                let Some((_, rest)) = line.split_once("Seq Scan on ") else { continue };
                let table = rest.split_whitespace().next().unwrap_or_default();
                assert!(SCANNED_TABLES.contains(&table), "{line}\n{}", plans.join("\n"));
            }
        }
    }

    #[test]
    #[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
    fn word_indexes_are_searched_with_short_pending_lists() {
        let database = fresh_home().unwrap().unwrap();
        let limits = "SELECT relname, array_to_string(reloptions, ',') FROM pg_class
            WHERE relam = (SELECT oid FROM pg_am WHERE amname = 'gin') ORDER BY relname";
        let limits = query(&database, limits).unwrap();
        assert_eq!(limits.len(), 4, "{limits:?}");
        assert!(limits.iter().all(|index| index.ends_with("|gin_pending_list_limit=256")), "{limits:?}");
    }

    #[test]
    fn parameters_joins_and_comparisons_are_translated() {
        for (written, wanted) in [
            (
                "SELECT a FROM b WHERE c = ?1 AND d IS ?2",
                "SELECT a FROM b WHERE c = $1 AND d IS NOT DISTINCT FROM $2",
            ),
            (
                "FROM a CROSS JOIN b c ON c.x = a.x AND c.y = (SELECT max(y) FROM b) CROSS JOIN d WHERE e",
                "FROM a JOIN LATERAL (SELECT * FROM b c WHERE c.x = a.x AND c.y = (SELECT max(y) FROM b) OFFSET 0) AS c ON true \
                 CROSS JOIN d WHERE e",
            ),
            ("FROM a v INDEXED BY an_index ON x", "FROM a v ON x"),
            (
                "IN (SELECT c.x FROM json_each(?1) j CROSS JOIN b c ON c.y = j.value) AND d",
                "IN (SELECT c.x FROM (SELECT * FROM b c WHERE c.y = ANY (translate($1, '[]', '{}')::bigint[]) OFFSET 0) AS c) \
                 AND d",
            ),
            (
                "SELECT j.key FROM json_each(?1) j CROSS JOIN b c ON c.y = j.value",
                "SELECT j.key FROM json_each($1) j JOIN LATERAL (SELECT * FROM b c WHERE c.y = j.value OFFSET 0) AS c ON true",
            ),
            (
                "FROM json_each(?1) j CROSS JOIN b c ON c.y = j.value AND c.x = ?2",
                "FROM json_each($1) j JOIN LATERAL (SELECT * FROM b c WHERE c.y = j.value AND c.x = $2 OFFSET 0) AS c ON true",
            ),
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
