//! From messages and events to all that was made of them.

use std::collections::BTreeSet;

use memory::forget::{Choice, Mentioned, Proven, Quoted, holds_lost_words};
use memory::identifiers::NodeId;
use memory::messages::Role;
use memory::nodes::RejectedQuote;
use memory::text::index_terms;
use rusqlite::{Connection, Result, Row, params};

use super::super::rows;
use super::going::{Going, Key, Rewritten, column, uuid};

/// Follows what goes until nothing more hangs on it.
pub(super) fn follow(connection: &Connection, going: &mut Going) -> Result<()> {
    let sessions: Vec<Talk> =
        going.sessions().into_iter().map(|id| Talk::read(connection, going, id)).collect::<Result<_>>()?;
    reject(connection, going, &sessions)?;
    for seq in made_from(connection, going)? {
        check(connection, going, &sessions, seq)?;
    }
    let mut to_follow: Vec<i64> = going.nodes.keys().copied().collect();
    while let Some(node) = to_follow.pop() {
        for thought in citing(connection, node)? {
            if going.thoughts == Choice::Cascade && going.add_node(connection, thought)? {
                to_follow.push(thought);
            }
        }
    }
    if going.thoughts == Choice::Cascade {
        thoughts_on_rewritten(connection, going)?;
    }
    for seq in going.nodes.keys().copied().collect::<Vec<_>>() {
        let refused = "SELECT id FROM rejected_memories WHERE approved_node = ?1";
        going.rejected.extend(column::<Key>(connection, refused, seq)?);
    }
    mark_unsupported(connection, going)
}

/// A session that loses messages: the terms of those that go and of those that stay.
struct Talk {
    id: Key,
    gone: Vec<String>,
    left: Vec<String>,
}

impl Talk {
    fn read(connection: &Connection, going: &Going, id: Key) -> Result<Self> {
        let mut statement =
            connection.prepare_cached("SELECT seq, terms FROM recall_messages WHERE session_id = ?1")?;
        let mut talk = Self { id, gone: Vec::new(), left: Vec::new() };
        let mut rows = statement.query([id])?;
        while let Some(row) = rows.next()? {
            let goes = going.messages.contains_key(&row.get(0)?);
            if goes { &mut talk.gone } else { &mut talk.left }.push(row.get(1)?);
        }
        Ok(talk)
    }

    fn loses_words_of(&self, text: &str) -> bool {
        holds_lost_words(text, &borrowed(&self.gone), &borrowed(&self.left))
    }
}

/// Refused memories that quote what goes, or say words that only it said; and nodes that a person approved from them.
fn reject(connection: &Connection, going: &mut Going, sessions: &[Talk]) -> Result<()> {
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

/// Nodes that were written from sessions that lose messages, or that quote such a message, or whose repeated mention
/// goes. Thoughts are followed along what they cite.
fn made_from(connection: &Connection, going: &Going) -> Result<BTreeSet<i64>> {
    let mut seqs = BTreeSet::new();
    for session in going.sessions() {
        let written = "SELECT seq FROM concept_nodes WHERE source_session_id = ?1";
        seqs.extend(column::<i64>(connection, written, session)?);
        let mentioned = "SELECT node_seq FROM mention_merges WHERE session_id = ?1";
        seqs.extend(column::<i64>(connection, mentioned, session)?);
    }
    for message in going.messages.keys() {
        let quoting = "SELECT node_seq FROM node_evidence WHERE message_seq = ?1";
        seqs.extend(column::<i64>(connection, quoting, message)?);
    }
    for mention in &going.mentions {
        let of = "SELECT node_seq FROM mention_merges WHERE number = ?1";
        seqs.extend(column::<i64>(connection, of, mention)?);
    }
    seqs.retain(|seq| !going.nodes.contains_key(seq));
    Ok(seqs)
}

/// A node that may lose words.
struct Suspect {
    id: Key,
    session: Option<Key>,
    description: String,
    terms: String,
    quotes: Vec<Quote>,
    mentions: Vec<Mention>,
}

struct Quote {
    message: i64,
    session: Key,
    role: Role,
    quote: String,
    terms: String,
}

struct Mention {
    number: i64,
    session: Key,
    description: String,
}

impl Suspect {
    fn read(connection: &Connection, scope: i64, seq: i64) -> Result<Self> {
        let quote = |row: &Row<'_>| {
            Ok(Quote {
                message: row.get(0)?,
                session: row.get(1)?,
                role: rows::word(row, 2)?,
                quote: row.get(3)?,
                terms: row.get(4)?,
            })
        };
        let quotes = connection
            .prepare_cached(
                "SELECT e.message_seq, m.session_id, m.role, e.quote, m.terms
                 FROM node_evidence e JOIN recall_messages m ON m.seq = e.message_seq
                 WHERE e.node_seq = ?1 ORDER BY e.message_seq, e.span_start, e.span_end",
            )?
            .query_map([seq], quote)?
            .collect::<Result<_>>()?;
        let mention = |row: &Row<'_>| {
            Ok(Mention { number: row.get(0)?, session: row.get(1)?, description: row.get(2)? })
        };
        let mentions = connection
            .prepare_cached(
                "SELECT number, session_id, description FROM mention_merges WHERE node_seq = ?1 ORDER BY number",
            )?
            .query_map([seq], mention)?
            .collect::<Result<_>>()?;
        connection
            .prepare_cached(
                "SELECT id, source_session_id, description, terms FROM concept_nodes
                 WHERE seq = ?1 AND scope = ?2",
            )?
            .query_row([seq, scope], |row| {
                let (id, session) = (row.get(0)?, row.get(1)?);
                let (description, terms) = (row.get(2)?, row.get(3)?);
                Ok(Self { id, session, description, terms, quotes, mentions })
            })
    }

    /// What proves it, of that which `stays` says yes to.
    fn proven(&self, stays: impl Fn(&Quote) -> bool, mentioned: impl Fn(&Mention) -> bool) -> String {
        let quotes = self.quotes.iter().filter(|quote| stays(quote));
        let mentions = self.mentions.iter().filter(|mention| mentioned(mention));
        let proven = Proven {
            quotes: quotes.map(|said| Quoted { role: said.role, quote: &said.quote }).collect(),
            mentions: mentions.map(|m| Mentioned { description: &m.description }).collect(),
        };
        proven.description()
    }
}

/// Whether the node goes, stays, or stays and says less.
fn check(connection: &Connection, going: &mut Going, sessions: &[Talk], seq: i64) -> Result<()> {
    let node = Suspect::read(connection, going.scope, seq)?;
    let (left, lost): (Vec<&Quote>, Vec<&Quote>) =
        node.quotes.iter().partition(|quote| !going.messages.contains_key(&quote.message));
    if node.quotes.is_empty() && cites(connection, seq)? {
        return Ok(());
    }
    if left.is_empty() && !lost.is_empty() {
        going.add_node(connection, seq)?;
        return Ok(());
    }
    let loses_words = loses_words(connection, sessions, &node, &left, &lost)?;
    if node.quotes.is_empty() {
        if loses_words {
            going.add_node(connection, seq)?;
        }
        return Ok(());
    }
    let is_left = |mention: &Mention| {
        let talk = sessions.iter().find(|talk| talk.id == mention.session);
        left.iter().any(|quote| quote.session == mention.session)
            && !going.mentions.contains(&mention.number)
            && talk.is_none_or(|talk| !talk.loses_words_of(&mention.description))
    };
    let was_reduced = is_reduced(connection, seq)? && node.description == node.proven(|_| true, |_| true);
    let after = node.proven(|quote| left.iter().any(|l| std::ptr::eq(*l, quote)), is_left);
    let mentions_lost: Vec<i64> = node.mentions.iter().filter(|m| !is_left(m)).map(|m| m.number).collect();
    let messages_lost = lost.iter().filter_map(|quote| going.messages.get(&quote.message));
    let marks: Vec<_> = messages_lost.map(|message| (seq, "message", message.id.0.into_bytes())).collect();
    if !lost.is_empty() || !mentions_lost.is_empty() {
        going.said_less.insert(seq);
    }
    going.mentions.extend(mentions_lost);
    going.unsupported.extend(marks);
    if (loses_words || was_reduced) && after != node.description {
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

/// Whether the node says something that only words said which go: words of its own session, or of messages elsewhere
/// that it quotes.
fn loses_words(
    connection: &Connection,
    sessions: &[Talk],
    node: &Suspect,
    left: &[&Quote],
    lost: &[&Quote],
) -> Result<bool> {
    let own = node.session.and_then(|session| sessions.iter().find(|talk| talk.id == session));
    let untouched = match (own, node.session) {
        (None, Some(session)) => terms_of(connection, session)?,
        _ => Vec::new(),
    };
    let gone_here = own.map(|talk| borrowed(&talk.gone)).unwrap_or_default();
    let left_here = own.map_or_else(|| borrowed(&untouched), |talk| borrowed(&talk.left));
    let gone: Vec<&str> =
        gone_here.into_iter().chain(lost.iter().map(|quote| quote.terms.as_str())).collect();
    let left: Vec<&str> =
        left_here.into_iter().chain(left.iter().map(|quote| quote.terms.as_str())).collect();
    Ok(holds_lost_words(&node.description, &gone, &left))
}

/// Thoughts that cite a rewritten node go if they hold words that it lost and nothing else that they cite says.
fn thoughts_on_rewritten(connection: &Connection, going: &mut Going) -> Result<()> {
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
fn mark_unsupported(connection: &Connection, going: &mut Going) -> Result<()> {
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

/// Whether the node says only what its words prove since an earlier act.
fn is_reduced(connection: &Connection, node: i64) -> Result<bool> {
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM reduced_nodes WHERE node_seq = ?1)")?
        .query_row([node], |row| row.get(0))
}

/// Nodes that rest on this one.
fn citing(connection: &Connection, node: i64) -> Result<Vec<i64>> {
    column(connection, "SELECT thought_seq FROM concept_node_filling WHERE event_seq = ?1", node)
}

/// Whether the node rests on others, now or once.
fn cites(connection: &Connection, node: i64) -> Result<bool> {
    connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM concept_node_filling WHERE thought_seq = ?1)
                 OR EXISTS (SELECT 1 FROM forgotten_support WHERE node_seq = ?1 AND kind = 'node')
                 OR EXISTS (SELECT 1 FROM concept_nodes WHERE seq = ?1 AND type IN ('thought', 'expectation'))",
        )?
        .query_row(params![node], |row| row.get(0))
}

fn terms_of(connection: &Connection, session: Key) -> Result<Vec<String>> {
    column(connection, "SELECT terms FROM recall_messages WHERE session_id = ?1", session)
}

fn terms_of_node(connection: &Connection, node: i64) -> Result<String> {
    connection
        .prepare_cached("SELECT terms FROM concept_nodes WHERE seq = ?1")?
        .query_row([node], |row| row.get(0))
}

fn borrowed(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}
