//! From messages and events to all that was made of them.

use std::collections::BTreeSet;

use memory::forget::{ForgetMode, LossReason, Verdict, holds_lost_words};
use memory::identifiers::NodeId;
use memory::nodes::RejectedQuote;
use memory::text::index_terms;
use rusqlite::{Connection, Result};

use super::removal::{RemovalSet, Rewritten, RowKey, uuid};
use crate::forgetting::support::{self, Lost, SessionTerms, StoredSupport, SupportOutcome, borrowed};
use crate::rows::{self, column};

/// Follows what goes until nothing more hangs on it.
pub(super) fn follow(connection: &Connection, going: &mut RemovalSet) -> Result<()> {
    let goes = |message: i64| going.messages.contains_key(&message);
    let sessions: Vec<SessionTerms> = going
        .sessions()
        .into_iter()
        .map(|id| SessionTerms::read(connection, id, goes))
        .collect::<Result<_>>()?;
    reject(connection, going, &sessions)?;
    let messages: Vec<i64> = going.messages.keys().copied().collect();
    for seq in support::made_from(connection, &going.sessions(), &messages, &going.mentions)? {
        if !going.nodes.contains_key(&seq) {
            check(connection, going, &sessions, seq)?;
        }
    }
    let mut to_follow: Vec<i64> = going.nodes.keys().copied().collect();
    while let Some(node) = to_follow.pop() {
        for thought in citing(connection, node)? {
            if going.thoughts == ForgetMode::Cascade && going.add_node(connection, thought)? {
                to_follow.push(thought);
            }
        }
    }
    if going.thoughts == ForgetMode::Cascade {
        thoughts_on_rewritten(connection, going)?;
    }
    for seq in going.nodes.keys().copied().collect::<Vec<_>>() {
        let refused = "SELECT id FROM rejected_memories WHERE approved_node = ?1";
        going.rejected.extend(column::<RowKey>(connection, refused, seq)?);
    }
    mark_unsupported(connection, going)
}

/// Refused memories that quote what goes, or say words that only it said; and nodes that a person approved from them.
fn reject(connection: &Connection, going: &mut RemovalSet, sessions: &[SessionTerms]) -> Result<()> {
    let gone: BTreeSet<_> = going.messages.values().map(|message| message.id).collect();
    let mut statement = connection.prepare_cached(
        "SELECT id, description, evidence, reason FROM rejected_memories WHERE session_id = ?1",
    )?;
    for talk in sessions {
        let mut rows = statement.query([talk.id])?;
        while let Some(row) = rows.next()? {
            let evidence: Vec<RejectedQuote> = rows::json(row, 2)?;
            let quotes_it = evidence.iter().any(|e| e.message_id.is_some_and(|id| gone.contains(&id)));
            let mut said = vec![row.get::<_, String>(1)?, row.get::<_, String>(3)?];
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
            // Quotes of its own may still prove it; that is checked with the others.
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

/// Whether the node goes, stays, or stays and says less.
fn check(connection: &Connection, going: &mut RemovalSet, sessions: &[SessionTerms], seq: i64) -> Result<()> {
    let node = StoredSupport::read(connection, seq)?;
    let lost = Lost {
        loss: LossReason::Forgotten,
        talks: sessions,
        messages: &|message| going.messages.contains_key(&message),
        terms_before: &|_| None,
        mentions: &going.mentions,
        again: &|_| false,
    };
    let SupportOutcome { standing, mentions_lost } = node.outcome(connection, &lost)?;
    if standing == Verdict::Remove {
        going.add_node(connection, seq)?;
        return Ok(());
    }
    let quoted = node.quotes.iter().filter_map(|quote| going.messages.get(&quote.message));
    let marks: Vec<_> = quoted.map(|message| (seq, "message", message.id.0.into_bytes())).collect();
    if !marks.is_empty() || !mentions_lost.is_empty() {
        going.said_less.insert(seq);
    }
    going.mentions.extend(mentions_lost);
    going.unsupported.extend(marks);
    if let Verdict::Rewrite(after) = standing {
        let rewritten = Rewritten {
            id: NodeId(uuid(node.id)),
            terms_after: index_terms(&after),
            before: node.description,
            terms_before: node.terms,
            after,
        };
        going.rewritten.insert(seq, rewritten);
    }
    Ok(())
}

/// Thoughts that cite a rewritten node go if they hold words that it lost and nothing else that they cite says.
fn thoughts_on_rewritten(connection: &Connection, going: &mut RemovalSet) -> Result<()> {
    let changed: Vec<i64> = going.rewritten.keys().copied().collect();
    for node in changed {
        let Some(gone) = going.rewritten.get(&node).map(|r| r.terms_before.clone()) else { continue };
        for thought in citing(connection, node)? {
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
            if holds_lost_words(&description, &[&gone], &borrowed(&left)) {
                going.add_node(connection, thought)?;
            }
        }
    }
    Ok(())
}

/// Notes which living nodes lose something that they cite.
fn mark_unsupported(connection: &Connection, going: &mut RemovalSet) -> Result<()> {
    let mut marks = Vec::new();
    for (seq, node) in &going.nodes {
        for thought in citing(connection, *seq)? {
            marks.push((thought, "node", node.id.0.into_bytes()));
        }
    }
    going.unsupported.extend(marks);
    let nodes = &going.nodes;
    going.unsupported.retain(|(node, _, _)| !nodes.contains_key(node));
    Ok(())
}

/// Nodes that rest on this one.
fn citing(connection: &Connection, node: i64) -> Result<Vec<i64>> {
    column(connection, "SELECT thought_seq FROM concept_node_filling WHERE event_seq = ?1", node)
}

fn terms_of_node(connection: &Connection, node: i64) -> Result<String> {
    connection
        .prepare_cached("SELECT terms FROM concept_nodes WHERE seq = ?1")?
        .query_row([node], |row| row.get(0))
}
