//! Texts derived from whole conversations: summaries, moods, receipts, errors.

use std::collections::BTreeSet;

use memory::core_blocks::CoreBlockLabel;
use memory::forget::ForgetSummary;
use memory::identifiers::{NodeId, TurnId};
use memory::ledger::ReplyReceipt;
use memory::nodes::NodeKind;
use uuid::Uuid;

use super::removal::{RemovalSet, RowKey, uuid_of_key};
use super::remove::insert_tombstone;
use crate::engine::sql::{Connection, Result, Row, params};
use crate::graph;
use crate::rows::{self, to_json};

/// Replaces the error of a failed session, which may contain erased text.
const CAUSE_FORGOTTEN: &str =
    "the error text was erased because it contained erased words; nothing else was lost, try again";

/// Sessions that lose messages, words or events.
pub(super) fn losing_sessions(going: &RemovalSet) -> BTreeSet<RowKey> {
    let happened =
        going.nodes.values().filter(|node| matches!(node.kind, NodeKind::Event | NodeKind::Intention));
    going.sessions().into_iter().chain(happened.filter_map(|node| node.session)).collect()
}

/// Removes the summary, the title and the last error of sessions that lose messages or events, and those that contain
/// the text. Summary and title are derived from the whole conversation in other words, so no part of them can be
/// attributed.
pub(super) fn clear_summaries(
    connection: &Connection,
    going: &RemovalSet,
    taken: &mut ForgetSummary,
) -> Result<()> {
    let losing = losing_sessions(going);
    let mut clear =
        connection.prepare_cached(
            "UPDATE sessions SET summary = NULL, title = NULL, last_error = CASE WHEN status = 'failed' THEN ?2 END WHERE id = ?1",
        )?;
    let mut sessions = connection.prepare_cached(
        "SELECT id, summary, last_error, title FROM sessions
         WHERE scope = ?1 AND (summary IS NOT NULL OR last_error IS NOT NULL OR title IS NOT NULL)",
    )?;
    let found: Vec<(RowKey, [Option<String>; 3])> = sessions
        .query_map([going.scope], |row| Ok((row.get(0)?, [row.get(1)?, row.get(2)?, row.get(3)?])))?
        .collect::<Result<_>>()?;
    for (id, texts) in found {
        let [summary, _, title] = &texts;
        if losing.contains(&id) || texts.iter().flatten().any(|text| going.is_part_of(text)) {
            if !going.is_preview {
                clear.execute(params![id, CAUSE_FORGOTTEN])?;
            }
            taken.counts.summaries += u64::from(summary.is_some() || title.is_some());
        }
    }
    Ok(())
}

/// Removes the moods of sessions that lose messages or events, and those that contain the text. Moods without a
/// session are always removed.
pub(super) fn clear_moods(
    connection: &Connection,
    going: &RemovalSet,
    taken: &mut ForgetSummary,
) -> Result<()> {
    let losing = losing_sessions(going);
    let mut moods = connection
        .prepare_cached("SELECT seq, session_id, episodic_state FROM mood_history WHERE scope = ?1")?;
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let found: Vec<(i64, Option<RowKey>, String)> =
        moods.query_map([going.scope], read)?.collect::<Result<_>>()?;
    let mut delete = connection.prepare_cached("DELETE FROM mood_history WHERE seq = ?1")?;
    for (seq, session, mood) in found {
        let lost = session.map_or(!losing.is_empty(), |session| losing.contains(&session));
        if lost || going.is_part_of(&mood) {
            if !going.is_preview {
                delete.execute([seq])?;
            }
            taken.counts.moods += 1;
        }
    }
    Ok(())
}

/// Removes the receipts of turns whose messages are forgotten, and forgotten memories from all others. An edit leaves the
/// candidate without its text. Rewritten text is replaced.
pub(super) fn clear_receipts(
    connection: &Connection,
    going: &RemovalSet,
    taken: &mut ForgetSummary,
) -> Result<()> {
    // A replacement reply gets a receipt of its own.
    let lost_turns = || going.messages.values().filter_map(|message| message.turn);
    let turns: BTreeSet<RowKey> = lost_turns().filter(|_| going.is_forgotten()).collect();
    let gone: BTreeSet<Uuid> = going.messages_removed_as_evidence().into_values().map(|id| id.0).collect();
    let gone: BTreeSet<Uuid> = gone.into_iter().chain(going.nodes.values().map(|node| node.id.0)).collect();
    let rewritten: BTreeSet<Uuid> = going.rewritten.values().map(|rewritten| rewritten.id.0).collect();
    let mut delete = connection.prepare_cached("DELETE FROM turn_traces WHERE turn_id = ?1")?;
    let mut replace = connection.prepare_cached("UPDATE turn_traces SET receipt = ?2 WHERE turn_id = ?1")?;
    for turn in receipts_to_read(connection, going, &gone, &rewritten)? {
        if turns.contains(&turn) {
            if !going.is_preview {
                delete.execute([turn])?;
            }
            taken.counts.receipts += 1;
            continue;
        }
        let mut receipt: ReplyReceipt = connection
            .prepare_cached("SELECT receipt FROM turn_traces WHERE turn_id = ?1")?
            .query_row([turn], |row| rows::read_json(row, 0))?;
        let before = receipt.clone();
        if going.is_forgotten() {
            receipt
                .used
                .retain(|candidate| !gone.contains(&candidate.id) && !going.is_part_of(&candidate.text));
            receipt.pinned.retain(|NodeId(id)| !gone.contains(id));
        }
        receipt.held_back.retain(|held| {
            let is_lost = |id: &Uuid| gone.contains(id) || rewritten.contains(id);
            let texts = [&held.text, &held.current_text];
            !is_lost(&held.node_id.0)
                && !is_lost(&held.current.0)
                && !texts.iter().any(|text| going.is_part_of(text))
        });
        for candidate in receipt.used.iter_mut().filter(|candidate| gone.contains(&candidate.id)) {
            candidate.text.clear();
        }
        for candidate in &mut receipt.used {
            let now = going.rewritten.values().find(|rewritten| rewritten.id.0 == candidate.id);
            if let Some(rewritten) = now {
                candidate.text.clone_from(&rewritten.after);
            }
        }
        if receipt != before {
            if !going.is_preview {
                replace.execute(params![turn, to_json(&receipt)?])?;
            }
            taken.counts.receipts += 1;
        }
    }
    Ok(())
}

/// Turns whose receipts may contain erased data. They are found by ids and by the text, because parsing the JSON of
/// every receipt would take time proportional to the past.
fn receipts_to_read(
    connection: &Connection,
    going: &RemovalSet,
    gone: &BTreeSet<Uuid>,
    rewritten: &BTreeSet<Uuid>,
) -> Result<Vec<RowKey>> {
    let turns: BTreeSet<RowKey> = going.messages.values().filter_map(|message| message.turn).collect();
    let mut statement =
        connection.prepare_cached("SELECT turn_id, receipt FROM turn_traces WHERE scope = ?1")?;
    let mut found = Vec::new();
    let mut rows = statement.query([going.scope])?;
    while let Some(row) = &rows.next()? {
        let (turn, receipt): (RowKey, _) = (row.get(0)?, row.get_ref(1)?.as_str()?);
        let named = |id: Uuid| gone.contains(&id) || rewritten.contains(&id);
        // JSON puts a backslash before a quotation mark in the text, so the parsed candidates are compared.
        let may_hold_text = || {
            going.text.as_ref().is_some_and(|text| text.contains(['"', '\\'])) || going.is_part_of(receipt)
        };
        if turns.contains(&turn) || ids_in(receipt).any(named) || may_hold_text() {
            found.push(turn);
        }
    }
    Ok(found)
}

/// Every quoted id in a JSON text.
fn ids_in(json: &str) -> impl Iterator<Item = Uuid> + '_ {
    json.split('"').filter(|piece| piece.len() == 36).filter_map(|piece| Uuid::parse_str(piece).ok())
}

/// Removes turns without messages, and those waiting for a reply to deleted ones; clears the reason of failures that
/// contain the text.
pub(super) fn clear_turns(
    connection: &Connection,
    going: &RemovalSet,
    at: i64,
    taken: &mut ForgetSummary,
) -> Result<()> {
    let turns: BTreeSet<RowKey> = going.messages.values().filter_map(|message| message.turn).collect();
    let mut kept = connection.prepare_cached(
        "SELECT m.seq FROM turns t LEFT JOIN recall_messages m
             ON m.turn_id = t.id AND (t.status <> 'pending' OR m.role = 'user')
         WHERE t.id = ?1",
    )?;
    let mut delete = connection.prepare_cached("DELETE FROM turns WHERE id = ?1")?;
    for turn in turns {
        let messages: Vec<Option<i64>> = kept.query_map([turn], |row| row.get(0))?.collect::<Result<_>>()?;
        let is_kept = |seq: &i64| !going.messages.contains_key(seq);
        if messages.is_empty() || messages.iter().flatten().any(is_kept) {
            continue;
        }
        taken.turns.insert(TurnId(uuid_of_key(turn)));
        if !going.is_preview {
            delete.execute([turn])?;
            insert_tombstone(connection, going.scope, "turn", turn, at)?;
        }
    }
    if going.text.is_some() && !going.is_preview {
        let mut reasons = connection
            .prepare_cached("SELECT id, reason FROM turns WHERE scope = ?1 AND reason IS NOT NULL")?;
        let found: Vec<(RowKey, String)> =
            reasons.query_map([going.scope], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_>>()?;
        for (turn, _) in found.iter().filter(|(_, reason)| going.is_part_of(reason)) {
            connection.prepare_cached("UPDATE turns SET reason = NULL WHERE id = ?1")?.execute([turn])?;
        }
    }
    Ok(())
}

/// Removes nodes and edges of the graph that depend on removed rows, or contain the text. They are counted with the
/// names and the links.
pub(super) fn clear_graph(
    connection: &Connection,
    going: &RemovalSet,
    at: i64,
    taken: &mut ForgetSummary,
) -> Result<()> {
    let messages = going.messages.values().map(|message| message.id.0);
    let nodes = going.nodes.values().map(|node| node.id.0);
    // Facts extracted from a text that loses words may depend on those.
    let rewritten = going.rewritten.values().map(|node| node.id.0);
    let memories: Vec<Uuid> = messages.chain(nodes).chain(rewritten).collect();
    let mut gone = hub::graph::GraphWithdrawal::default();
    for memory in memories {
        gone += graph::withdraw(connection, going.scope, &memory.to_string(), at)?;
    }
    if going.text.is_some() {
        gone += graph::forget_text(connection, going.scope, &|text| going.is_part_of(text), at)?;
    }
    taken.counts.names += gone.nodes;
    taken.counts.links += gone.edges;
    Ok(())
}

/// Core blocks of the scope that contain the text. They stay: only a person edits them.
pub(super) fn left_core_blocks(connection: &Connection, going: &RemovalSet) -> Result<Vec<CoreBlockLabel>> {
    let mut labels = BTreeSet::new();
    if going.text.is_some() {
        for table in ["core_blocks", "core_block_appends"] {
            let mut statement = connection.prepare_cached(&format!(
                "SELECT b.label, b.content FROM {table} b JOIN scopes s ON s.persona_id = b.persona_id
                     AND (b.user_id IS NULL OR b.user_id = s.user_id)
                 WHERE s.number = ?1"
            ))?;
            let mut rows = statement.query([going.scope])?;
            while let Some(row) = &rows.next()? {
                if going.is_part_of(&row.get::<String>(1)?) {
                    labels.insert(rows::read_enum::<CoreBlockLabel>(row, 0)?);
                }
            }
        }
    }
    Ok(labels.into_iter().collect())
}
