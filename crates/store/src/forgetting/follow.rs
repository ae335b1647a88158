//! Follows messages and events to everything that was derived from them.

use std::collections::BTreeSet;

use memory::forget::{SupportDecision, ThoughtPolicy, has_removed_words};
use memory::identifiers::NodeId;
use memory::nodes::RejectedQuote;
use memory::text::index_terms;

use super::removal::{RemovalSet, RewrittenNode, RowKey, uuid_of_key};
use crate::engine::sql::{Connection, Result};
use crate::forgetting::support::{self, SessionTerms, StoredSupport, SupportOutcome, as_strs};
use crate::rows::{self, column};

/// Adds dependent rows to the set until there are no more.
pub(super) fn add_dependents(connection: &Connection, going: &mut RemovalSet) -> Result<()> {
    let sessions = changed_session_terms(connection, going)?;
    if going.is_forgotten() {
        add_rejected(connection, going, &sessions)?;
    }
    add_mentions(connection, going)?;
    let messages: Vec<i64> = going.messages_removed_as_evidence().into_keys().collect();
    for seq in support::nodes_written_from(connection, &going.sessions(), &messages, &going.mentions)? {
        if !going.nodes.contains_key(&seq) {
            check(connection, going, &sessions, seq)?;
        }
    }
    let mut to_follow: Vec<i64> = going.nodes.keys().copied().collect();
    while let Some(node) = to_follow.pop() {
        for thought in citing_nodes(connection, node)? {
            if is_removed_with_node(connection, going, thought)? && going.add_node(connection, thought)? {
                to_follow.push(thought);
            }
        }
    }
    if going.thoughts == ThoughtPolicy::Cascade {
        thoughts_on_rewritten(connection, going)?;
    }
    if going.is_forgotten() {
        for seq in going.nodes.keys().copied().collect::<Vec<_>>() {
            let approved = "SELECT id FROM rejected_memories WHERE approved_node = ?1";
            going.rejected.extend(column::<RowKey>(connection, approved, seq)?);
        }
    }
    mark_unsupported(connection, going)
}

/// The terms of each session that loses some: removed ones and remaining ones.
fn changed_session_terms(connection: &Connection, going: &RemovalSet) -> Result<Vec<SessionTerms>> {
    let goes = |seq: i64| going.lost_message(seq).is_some() && going.terms_before(seq).is_none();
    let mut sessions = Vec::new();
    for id in going.sessions() {
        let mut terms = SessionTerms::read(connection, id, goes)?;
        let changed = going.changed.values().filter(|message| message.session == id);
        terms.gone.extend(changed.filter_map(|message| message.terms_before.clone()));
        sessions.push(terms);
    }
    Ok(sessions)
}

/// Adds repeated mentions without remaining evidence.
fn add_mentions(connection: &Connection, going: &mut RemovalSet) -> Result<()> {
    for seq in going.messages_removed_as_evidence().into_keys() {
        let merges = "SELECT DISTINCT merge_number FROM mention_evidence WHERE message_seq = ?1";
        for merge in column::<i64>(connection, merges, seq)? {
            let evidence = "SELECT message_seq FROM mention_evidence WHERE merge_number = ?1";
            if column::<i64>(connection, evidence, merge)?
                .iter()
                .all(|seq| going.lost_message(*seq).is_some())
            {
                going.mentions.insert(merge);
            }
        }
    }
    Ok(())
}

/// True if a thought that cites a removed node is removed too.
fn is_removed_with_node(connection: &Connection, going: &RemovalSet, thought: i64) -> Result<bool> {
    match going.thoughts {
        ThoughtPolicy::Orphan => Ok(false),
        ThoughtPolicy::Cascade => Ok(true),
        ThoughtPolicy::Recheck => {
            let cited = "SELECT event_seq FROM concept_node_filling WHERE thought_seq = ?1 AND orphaned = 0";
            let cited = column::<i64>(connection, cited, thought)?;
            let corrected = "SELECT number FROM node_changes
                             WHERE node_seq = ?1 AND kind = 'correction' AND undone_at IS NULL";
            Ok(cited.iter().all(|seq| going.nodes.contains_key(seq))
                && column::<i64>(connection, corrected, thought)?.is_empty())
        }
    }
}

/// Adds refused memories that quote removed text, or contain words that only it had; and nodes that a person approved
/// from them.
fn add_rejected(connection: &Connection, going: &mut RemovalSet, sessions: &[SessionTerms]) -> Result<()> {
    let gone: BTreeSet<_> = going.messages.values().map(|message| message.id).collect();
    let mut statement = connection.prepare_cached(
        "SELECT id, description, evidence, reason FROM rejected_memories WHERE session_id = ?1",
    )?;
    for talk in sessions {
        let mut rows = statement.query([talk.id])?;
        while let Some(row) = &rows.next()? {
            let evidence: Vec<RejectedQuote> = rows::read_json(row, 2)?;
            let quotes_it = evidence.iter().any(|e| e.message_id.is_some_and(|id| gone.contains(&id)));
            let mut said = vec![row.get::<String>(1)?, row.get::<String>(3)?];
            said.extend(evidence.into_iter().map(|evidence| evidence.quote));
            if quotes_it || talk.left.is_empty() || said.iter().any(|text| talk.loses_words_of(text)) {
                going.rejected.insert(row.get(0)?);
            }
        }
    }
    for rejected in going.rejected.clone() {
        let approved =
            "SELECT approved_node FROM rejected_memories WHERE id = ?1 AND approved_node IS NOT NULL";
        for seq in column::<i64>(connection, approved, rejected)? {
            // Its own quotes may still support it; that is checked together with the others.
            let quotes: i64 = connection
                .prepare_cached("SELECT count(*) FROM node_evidence WHERE node_seq = ?1")?
                .query_row([seq], |row| row.get(0))?;
            if quotes == 0 {
                going.add_node(connection, seq)?;
            }
        }
    }
    Ok(())
}

/// Decides whether the node is removed, kept or rewritten.
fn check(connection: &Connection, going: &mut RemovalSet, sessions: &[SessionTerms], seq: i64) -> Result<()> {
    let node = StoredSupport::read(connection, seq)?;
    let SupportOutcome { verdict, mentions_lost } = node.decide_outcomes(connection, going, sessions)?;
    if verdict == SupportDecision::Remove {
        going.add_node(connection, seq)?;
        return Ok(());
    }
    let quoted = node.quotes.iter().filter_map(|quote| going.lost_message(quote.message));
    let marks: Vec<_> = quoted.map(|id| (seq, "message", id.0.into_bytes())).collect();
    if !marks.is_empty() || !mentions_lost.is_empty() {
        going.said_less.insert(seq);
    }
    going.mentions.extend(mentions_lost);
    going.unsupported.extend(marks);
    if let SupportDecision::Rewrite(after) = verdict {
        let rewritten = RewrittenNode {
            id: NodeId(uuid_of_key(node.id)),
            terms_after: index_terms(&after),
            before: node.description,
            terms_before: node.terms,
            after,
        };
        going.rewritten.insert(seq, rewritten);
    }
    Ok(())
}

/// Adds thoughts that cite a rewritten node if they contain words that it lost and that nothing else they cite has.
fn thoughts_on_rewritten(connection: &Connection, going: &mut RemovalSet) -> Result<()> {
    let changed: Vec<i64> = going.rewritten.keys().copied().collect();
    for node in changed {
        let Some(gone) = going.rewritten.get(&node).map(|r| r.terms_before.clone()) else { continue };
        for thought in citing_nodes(connection, node)? {
            let mut left = Vec::new();
            for cited in column::<i64>(
                connection,
                "SELECT event_seq FROM concept_node_filling WHERE thought_seq = ?1",
                thought,
            )? {
                left.push(match going.rewritten.get(&cited) {
                    Some(rewritten) => rewritten.terms_after.clone(),
                    None => terms_of_node(connection, cited)?,
                });
            }
            let description: String = connection
                .prepare_cached("SELECT description FROM concept_nodes WHERE seq = ?1")?
                .query_row([thought], |row| row.get(0))?;
            if has_removed_words(&description, &[&gone], &as_strs(&left)) {
                going.add_node(connection, thought)?;
            }
        }
    }
    Ok(())
}

/// Marks live nodes that lose something that they cite.
fn mark_unsupported(connection: &Connection, going: &mut RemovalSet) -> Result<()> {
    let mut marks = Vec::new();
    for (seq, node) in &going.nodes {
        for thought in citing_nodes(connection, *seq)? {
            marks.push((thought, "node", node.id.0.into_bytes()));
        }
    }
    going.unsupported.extend(marks);
    let nodes = &going.nodes;
    going.unsupported.retain(|(node, _, _)| !nodes.contains_key(node));
    Ok(())
}

/// Nodes that depend on this one.
fn citing_nodes(connection: &Connection, node: i64) -> Result<Vec<i64>> {
    column(connection, "SELECT thought_seq FROM concept_node_filling WHERE event_seq = ?1", node)
}

fn terms_of_node(connection: &Connection, node: i64) -> Result<String> {
    connection
        .prepare_cached("SELECT terms FROM concept_nodes WHERE seq = ?1")?
        .query_row([node], |row| row.get(0))
}
