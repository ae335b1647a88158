//! Finds values that are no longer current.

use std::collections::{BTreeMap, BTreeSet};

use memory::corrections::{ReplacedQuery, ReplacedSpan, ReplacedValue, ReplacedValues, ValueWords};
use memory::identifiers::{EntityId, NodeId, SessionId};
use memory::nodes::{Node, RelationalTag};
use memory::text::content_terms;

use super::changes_by_word::{ChangesByWord, names_of_node};
use crate::engine::sql::{Connection, Result, Row, params};
use crate::nodes::node_queries;
use crate::rows;
use crate::sessions::reconciliation;

/// Minimum share of the content words of a former text, or of the current one, in a text that restores the former
/// value. A text that only mentions the subject has fewer of them.
const RETURNED_SHARE: f64 = 0.6;
/// Maximum nodes of one chain of replacements. A turn waits for it, and the bound ends a circle in a damaged home.
const LINE_MAX: usize = 100;

macro_rules! changes {
    ($rest:expr) => {
        concat!(
            "SELECT c.number, c.kind, c.created_at, coalesce(c.description, n.description), n.id, n.seq, n.created_at,
                 n.source_session_id, c.entities, c.mistaken, c.newer_seq
             FROM replaced_values r CROSS JOIN node_changes c ON c.number = r.change
                 CROSS JOIN concept_nodes n ON n.seq = c.node_seq
             WHERE r.scope = ?1 AND n.deleted_at IS NULL
                 AND CASE c.kind WHEN 'correction' THEN c.description IS NOT NULL ELSE n.superseded_by IS NOT NULL END",
            $rest
        )
    };
}

const CHANGES_OF_NODES: &str = changes!(
    " AND r.change IN (SELECT o.number FROM json_each(?2) j CROSS JOIN node_changes o ON o.node_seq = j.value)"
);
const CHANGES_BY_NUMBER: &str = changes!(" AND r.change IN (SELECT value FROM json_each(?2))");
const HAS_REPLACED_VALUES: &str = "SELECT EXISTS (SELECT 1 FROM replaced_values WHERE scope = ?1)";
/// Query for quotes of replaced values in messages. For a reply these are quotes of the user's message before it, which
/// it may repeat. With `OFFSET` a server looks the changes of each node up, instead of reading all changes.
const REPLACED_SPANS: &str = "
    SELECT j.value, e.span_start, e.span_end, n.id, n.seq
    FROM json_each(?2) j CROSS JOIN recall_messages m ON m.seq = j.value
        CROSS JOIN node_evidence e ON e.message_seq = CASE m.role WHEN 'user' THEN m.seq ELSE (
            SELECT max(a.seq) FROM recall_messages a
            WHERE a.session_id = m.session_id AND a.role = 'user' AND a.seq < m.seq) END
        CROSS JOIN concept_nodes n ON n.seq = e.node_seq
    WHERE n.scope = ?1 AND n.deleted_at IS NULL AND EXISTS (
        SELECT 1 FROM node_changes c CROSS JOIN replaced_values r ON r.scope = ?1 AND r.change = c.number
        WHERE c.node_seq = n.seq LIMIT 1 OFFSET 0)
    ORDER BY j.value, e.span_start";
const OUTDATED_THOUGHTS: &str = "
    SELECT DISTINCT t.seq, e.id, e.seq
    FROM json_each(?2) j CROSS JOIN concept_nodes t ON t.seq = j.value
        CROSS JOIN concept_node_filling f ON f.thought_seq = t.seq
        CROSS JOIN concept_nodes e ON e.seq = f.event_seq
        CROSS JOIN node_changes c ON c.node_seq = e.seq
        CROSS JOIN replaced_values r ON r.scope = ?1 AND r.change = c.number
    WHERE t.scope = ?1 AND c.created_at > t.created_at AND (c.kind = 'correction' OR e.superseded_by IS NOT NULL)
        AND NOT EXISTS (
            SELECT 1 FROM node_changes o WHERE o.node_seq = t.seq AND o.kind = 'correction' AND o.undone_at IS NULL
                AND o.created_at >= c.created_at)";
const DESCRIBED_BEFORE: &str = "
    SELECT EXISTS (
        SELECT 1 FROM replaced_values r CROSS JOIN node_changes c ON c.number = r.change
            CROSS JOIN concept_node_entities l ON l.node_seq = c.node_seq AND l.entity_id = ?2
            CROSS JOIN entities e ON e.id = l.entity_id
        WHERE r.scope = ?1 AND e.owner_override = 0 AND c.created_at > coalesce(e.described_at, e.updated_at))";

/// A change of a node's value.
struct Change {
    number: i64,
    is_correction: bool,
    value: ReplacedValue,
    node: i64,
    /// `true` if the former value was never right, according to the change.
    is_mistaken: Option<bool>,
    /// For a supersession, the node that replaced the other.
    newer: Option<i64>,
    /// The entities that the text is about, if the change stores them.
    entities: Option<Vec<EntityId>>,
}

pub(super) fn find_replaced(
    connection: &Connection,
    scope: i64,
    about: &ReplacedQuery,
    by_word: &ChangesByWord,
) -> Result<ReplacedValues> {
    // Without replaced values a recall pays for this short read only.
    if !connection.prepare_cached(HAS_REPLACED_VALUES)?.query_row([scope], |row| row.get(0))? {
        return Ok(ReplacedValues::default());
    }
    let (spans, mut nodes) = replaced_spans(connection, scope, &about.messages)?;
    let mut outdated = Vec::new();
    let mut citing = connection.prepare_cached(OUTDATED_THOUGHTS)?;
    let mut found = citing.query(params![scope, rows::to_json(&about.citing)?])?;
    while let Some(row) = &found.next()? {
        outdated.push((row.get(0)?, NodeId(rows::read_uuid(row, 1)?)));
        nodes.insert(row.get(2)?);
    }
    for node in &about.nodes {
        nodes.extend(replacement_line(connection, *node)?);
    }
    let numbers = rows::to_json(&by_word.changes_for(connection, scope, about)?)?;
    let mut changes: BTreeMap<i64, Change> = BTreeMap::new();
    for (statement, numbers) in [(CHANGES_OF_NODES, rows::to_json(&nodes)?), (CHANGES_BY_NUMBER, numbers)] {
        for change in connection.prepare_cached(statement)?.query_map(params![scope, numbers], change)? {
            let change = change?;
            changes.entry(change.number).or_insert(change);
        }
    }
    let mut values = Vec::with_capacity(changes.len());
    for change in changes.into_values().rev() {
        values.extend(with_current_value(connection, change)?);
    }
    let mut descriptions = Vec::new();
    let mut described = connection.prepare_cached(DESCRIBED_BEFORE)?;
    for entity in &about.entities {
        if described.query_row(params![scope, entity.0.into_bytes()], |row| row.get(0))? {
            descriptions.push(*entity);
        }
    }
    Ok(ReplacedValues { values, spans, outdated, descriptions })
}

fn change(row: &Row<'_>) -> Result<Change> {
    let node = NodeId(rows::read_uuid(row, 4)?);
    let entities: Option<String> = row.get(8)?;
    let value = ReplacedValue {
        node,
        text: row.get(3)?,
        since: rows::time(row, 6)?,
        until: rows::time(row, 2)?,
        changed_at: rows::time(row, 2)?,
        current: node,
        current_text: String::new(),
        mistaken: false,
        session: rows::optional_uuid(row, 7)?.map(SessionId),
        words: ValueWords::default(),
        current_words: ValueWords::default(),
    };
    Ok(Change {
        number: row.get(0)?,
        is_correction: row.get_ref(1)?.as_str()? == "correction",
        value,
        node: row.get(5)?,
        is_mistaken: row.get(9)?,
        newer: row.get(10)?,
        entities: entities.map(|_| rows::read_json(row, 8)).transpose()?,
    })
}

/// The former value with the current one. `None` if the chain has returned to the same text.
fn with_current_value(connection: &Connection, change: Change) -> Result<Option<ReplacedValue>> {
    let Change { is_correction, mut value, node, is_mistaken, newer: replaced_by, entities, .. } = change;
    let Some(first) = node_queries::live_node(connection, value.node)? else { return Ok(None) };
    let mut newer = first.superseded_by;
    let mut current = first;
    let mut next: Option<Node> = None;
    let mut steps = 0;
    for _ in 0..LINE_MAX {
        let Some(found) = newer.map(|id| node_queries::live_node(connection, id)).transpose()?.flatten()
        else {
            break;
        };
        newer = found.superseded_by;
        next.get_or_insert_with(|| found.clone());
        current = found;
        steps += 1;
    }
    let says_it_was_wrong = |node: &Node| {
        node.relational_tags.contains(&RelationalTag::Correction) && node.superseded_by != Some(node.id)
    };
    let says_so = || is_mistaken.unwrap_or_else(|| next.as_ref().is_some_and(says_it_was_wrong));
    value.mistaken = is_correction || says_so();
    if let Some(newer) = replaced_by {
        value.since = reconciliation::said_at(connection, node)?;
        value.until = reconciliation::said_at(connection, newer)?;
    }
    value.current = current.id;
    value.current_text = current.description;
    let names = names_of_node(connection, node, entities.as_deref())?;
    let names = names.iter().map(String::as_str);
    (value.words, value.current_words) =
        ValueWords::from_both_values(&value.text, &value.current_text, names);
    let is_current = value.text == value.current_text || steps > 1 && is_returned_to(&value);
    Ok((!is_current).then_some(value))
}

/// True if a text restores a former value that another one had replaced: it has all its names and most of its words.
fn is_returned_to(value: &ReplacedValue) -> bool {
    let (former, current) = (content_terms(&value.text), content_terms(&value.current_text));
    let shared = former.intersection(&current).count() as f64;
    value.words.has_no_name() && shared >= RETURNED_SHARE * former.len().min(current.len()).max(1) as f64
}

fn replaced_spans(
    connection: &Connection,
    scope: i64,
    messages: &[i64],
) -> Result<(Vec<ReplacedSpan>, BTreeSet<i64>)> {
    let mut nodes = BTreeSet::new();
    let mut spans = Vec::new();
    let mut statement = connection.prepare_cached(REPLACED_SPANS)?;
    let mut found = statement.query(params![scope, rows::to_json(&messages)?])?;
    while let Some(row) = &found.next()? {
        nodes.insert(row.get(4)?);
        spans.push(ReplacedSpan {
            message: row.get(0)?,
            start: row.get(1)?,
            end: row.get(2)?,
            node: NodeId(rows::read_uuid(row, 3)?),
        });
    }
    Ok((spans, nodes))
}

/// Numbers of the node and of all that it replaced.
fn replacement_line(connection: &Connection, node: NodeId) -> Result<Vec<i64>> {
    connection
        .prepare_cached(
            "WITH RECURSIVE line (id, seq) AS (
                 SELECT id, seq FROM concept_nodes WHERE id = ?1
                 UNION SELECT n.id, n.seq FROM line l JOIN concept_nodes n ON n.superseded_by = l.id)
             SELECT seq FROM line LIMIT ?2",
        )?
        .query_map(params![node.0.into_bytes(), LINE_MAX], |row| row.get(0))?
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::plans::{empty_database, explain_plan};

    #[test]
    fn no_statement_scans_the_past() {
        let connection = empty_database();
        for statement in [
            HAS_REPLACED_VALUES,
            CHANGES_OF_NODES,
            CHANGES_BY_NUMBER,
            REPLACED_SPANS,
            OUTDATED_THOUGHTS,
            DESCRIBED_BEFORE,
        ] {
            let plan = explain_plan(&connection, statement);
            let scans = plan.matches("SCAN").count() - plan.matches("SCAN j").count();
            assert_eq!(scans - plan.matches("SCAN CONSTANT ROW").count(), 0, "{plan}");
        }
    }
}
