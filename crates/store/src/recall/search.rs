//! The parts of rows that search ranks by.

use memory::nodes::NodeKind;
use memory::ports::{Corpus, PhraseCounter, PhraseCounts};
use memory::text::fold;

use crate::engine::sql::{Connection, Result, Rows, params};
use crate::rows::{StoredEnum, read_enum, to_json};

pub(super) fn phrase_counts(
    connection: &Connection,
    scope: i64,
    corpus: Corpus,
    seqs: &[i64],
    counters: &[PhraseCounter],
) -> Result<Vec<PhraseCounts>> {
    let statement = match corpus {
        Corpus::Messages => {
            "SELECT m.seq, m.terms FROM json_each(?1) j CROSS JOIN recall_messages m ON m.seq = j.value
             WHERE m.scope = ?2 AND m.deleted_at IS NULL"
        }
        Corpus::Nodes => {
            "SELECT n.seq, n.terms, n.type FROM json_each(?1) j CROSS JOIN concept_nodes n ON n.seq = j.value
             WHERE n.scope = ?2 AND n.deleted_at IS NULL AND n.superseded_by IS NULL
                 AND (n.type <> 'expectation'
                      OR NOT EXISTS (SELECT 1 FROM settled_expectations WHERE node_seq = n.seq))"
        }
    };
    connection
        .prepare_cached(statement)?
        .query_map(params![to_json(&seqs)?, scope], |row| {
            let kind = match corpus {
                Corpus::Messages => None,
                Corpus::Nodes => Some(read_enum(row, 2)?),
            };
            let terms = row.get_ref(1)?;
            let terms = terms.as_str()?;
            let counts = counters.iter().map(|counter| counter.count(terms)).collect();
            Ok(PhraseCounts { seq: row.get(0)?, counts, kind })
        })?
        .collect()
}

pub(super) fn rows_containing(
    connection: &Connection,
    scope: i64,
    corpus: Corpus,
    folded: &str,
    rows: u32,
) -> Result<Vec<i64>> {
    let mut found = Vec::new();
    let mut read = |mut texts: Rows<'_>| -> Result<()> {
        while let Some(row) = &texts.next()? {
            if contains_folded(row.get_ref(1)?.as_str()?, folded) {
                found.push(row.get(0)?);
            }
        }
        Ok(())
    };
    match corpus {
        Corpus::Messages => {
            let mut statement = connection.prepare_cached(
                "SELECT seq, content FROM recall_messages WHERE scope = ?1 AND deleted_at IS NULL
                 ORDER BY seq DESC LIMIT ?2",
            )?;
            read(statement.query(params![scope, rows])?)?;
        }
        // Each kind separately: an index has them in the order of their numbers.
        Corpus::Nodes => {
            let mut statement = connection.prepare_cached(
                "SELECT seq, description FROM concept_nodes
                 WHERE scope = ?1 AND type = ?2 AND deleted_at IS NULL ORDER BY seq DESC LIMIT ?3",
            )?;
            for &kind in <NodeKind as StoredEnum>::ALL {
                read(statement.query(params![scope, kind.as_str(), rows])?)?;
            }
            found.sort_unstable_by(|a: &i64, b| b.cmp(a));
        }
    }
    Ok(found)
}

/// True if a text, folded, contains a folded text. Most texts are compared without folding them.
fn contains_folded(text: &str, folded: &str) -> bool {
    if !text.is_ascii() {
        return fold(text).contains(folded);
    }
    let (text, wanted) = (text.as_bytes(), folded.as_bytes());
    wanted.is_ascii() && text.windows(wanted.len().max(1)).any(|part| part.eq_ignore_ascii_case(wanted))
}
