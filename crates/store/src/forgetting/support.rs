//! Reads the evidence of memories for the rule that decides about them when some is lost
//! ([`memory::forget::Support`]).

use std::collections::BTreeSet;

use memory::forget::{
    Support, SupportDecision, SupportingMention, SupportingQuote, has_removed_words, mention_count,
};
use memory::messages::Role;
use memory::nodes::Subject;
use memory::ports::Corpus;
use memory::text::index_terms;

use super::removal::RemovalSet;
use crate::engine::sql::{Connection, Result, Row, params};
use crate::engine::writer::UnitOfWork;
use crate::rows::{self, column};

/// The 16 bytes of an id.
type RowKey = [u8; 16];

/// A session that loses messages or text: the index terms of the removed and of the remaining texts.
#[derive(Default)]
pub(crate) struct SessionTerms {
    pub(crate) id: RowKey,
    pub(crate) gone: Vec<String>,
    pub(crate) left: Vec<String>,
}

impl SessionTerms {
    /// Reads a session's terms. `goes` is true for the numbers of removed messages.
    pub(crate) fn read(connection: &Connection, id: RowKey, goes: impl Fn(i64) -> bool) -> Result<Self> {
        let mut statement =
            connection.prepare_cached("SELECT seq, terms FROM recall_messages WHERE session_id = ?1")?;
        let mut terms = Self { id, ..Self::default() };
        let mut rows = statement.query([id])?;
        while let Some(row) = &rows.next()? {
            let goes = goes(row.get(0)?);
            if goes { &mut terms.gone } else { &mut terms.left }.push(row.get(1)?);
        }
        Ok(terms)
    }

    pub(crate) fn loses_words_of(&self, text: &str) -> bool {
        has_removed_words(text, &as_strs(&self.gone), &as_strs(&self.left))
    }
}

/// A memory that may lose evidence.
pub(crate) struct StoredSupport {
    pub(crate) id: RowKey,
    pub(crate) description: String,
    pub(crate) terms: String,
    pub(crate) quotes: Vec<Quote>,
    subject: Subject,
    session: Option<RowKey>,
    mentions: Vec<Mention>,
    word_of_person: bool,
    cites: bool,
    is_reduced: bool,
}

pub(crate) struct Quote {
    pub(crate) message: i64,
    session: RowKey,
    role: Role,
    quote: String,
    terms: String,
}

struct Mention {
    number: i64,
    session: RowKey,
    description: String,
}

/// The result for a memory and its repeated mentions.
pub(crate) struct SupportOutcome {
    pub(crate) verdict: SupportDecision,
    /// Numbers of the mentions to remove.
    pub(crate) mentions_lost: Vec<i64>,
}

/// Nodes that were written from these sessions, quote one of these messages, or lose a mention. Thoughts are found
/// through what they cite.
pub(crate) fn nodes_written_from(
    connection: &Connection,
    sessions: &BTreeSet<RowKey>,
    messages: &[i64],
    mentions: &BTreeSet<i64>,
) -> Result<BTreeSet<i64>> {
    let mut seqs = BTreeSet::new();
    for session in sessions {
        for statement in [
            "SELECT seq FROM concept_nodes WHERE source_session_id = ?1 AND deleted_at IS NULL",
            "SELECT node_seq FROM mention_merges WHERE session_id = ?1",
        ] {
            seqs.extend(column::<i64>(connection, statement, session)?);
        }
    }
    for message in messages {
        seqs.extend(column::<i64>(
            connection,
            "SELECT DISTINCT node_seq FROM node_evidence WHERE message_seq = ?1",
            message,
        )?);
    }
    for mention in mentions {
        let node = "SELECT node_seq FROM mention_merges WHERE number = ?1";
        seqs.extend(column::<i64>(connection, node, mention)?);
    }
    Ok(seqs)
}

impl StoredSupport {
    pub(crate) fn read(connection: &Connection, seq: i64) -> Result<Self> {
        let quote = |row: &Row<'_>| {
            Ok(Quote {
                message: row.get(0)?,
                session: row.get(1)?,
                role: rows::read_enum(row, 2)?,
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
                "SELECT id, source_session_id, description, terms, subject,
                     EXISTS (SELECT 1 FROM node_changes
                             WHERE node_seq = ?1 AND kind = 'correction' AND undone_at IS NULL)
                         OR EXISTS (SELECT 1 FROM rejected_memories WHERE approved_node = ?1),
                     EXISTS (SELECT 1 FROM concept_node_filling WHERE thought_seq = ?1)
                         OR EXISTS (SELECT 1 FROM forgotten_support WHERE node_seq = ?1 AND kind = 'node')
                         OR type IN ('thought', 'expectation'),
                     EXISTS (SELECT 1 FROM reduced_nodes WHERE node_seq = ?1)
                 FROM concept_nodes WHERE seq = ?1",
            )?
            .query_row([seq], |row| {
                Ok(Self {
                    id: row.get(0)?,
                    session: row.get(1)?,
                    description: row.get(2)?,
                    terms: row.get(3)?,
                    subject: rows::read_enum(row, 4)?,
                    word_of_person: row.get(5)?,
                    cites: row.get(6)?,
                    is_reduced: row.get(7)?,
                    quotes,
                    mentions,
                })
            })
    }

    /// Decides by [`Support::decide_after_loss`]. `sessions` are the terms of the sessions that lose some.
    pub(super) fn decide_outcomes(
        &self,
        connection: &Connection,
        going: &RemovalSet,
        sessions: &[SessionTerms],
    ) -> Result<SupportOutcome> {
        let is_left = |quote: &Quote| going.lost_message(quote.message).is_none();
        let mention_is_left = |mention: &Mention| {
            let terms = sessions.iter().find(|terms| terms.id == mention.session);
            self.quotes.iter().any(|quote| is_left(quote) && quote.session == mention.session)
                && !going.mentions.contains(&mention.number)
                && terms.is_none_or(|terms| !terms.loses_words_of(&mention.description))
        };
        let own = self.session.and_then(|session| sessions.iter().find(|terms| terms.id == session));
        let untouched = match (own, self.session) {
            (None, Some(session)) => SessionTerms::read(connection, session, |_| false)?.left,
            _ => Vec::new(),
        };
        let supporting = self.quotes.iter().map(|quote| SupportingQuote {
            speaker: quote.role,
            quote: &quote.quote,
            terms: going.terms_before(quote.message).unwrap_or(&quote.terms),
            is_left: is_left(quote),
            becomes_memory_again: going.again.contains(&quote.session),
        });
        let mentions = self.mentions.iter().map(|mention| SupportingMention {
            description: &mention.description,
            is_left: mention_is_left(mention),
        });
        let support = Support {
            subject: self.subject,
            description: &self.description,
            quotes: supporting.collect(),
            mentions: mentions.collect(),
            word_of_person: self.word_of_person,
            cites: self.cites,
            is_reduced: self.is_reduced,
            gone: own.map(|terms| as_strs(&terms.gone)).unwrap_or_default(),
            left: own.map_or_else(|| as_strs(&untouched), |terms| as_strs(&terms.left)),
        };
        // Without quotes of its own a node has nothing to compare its mentions with.
        let gone = self.mentions.iter().filter(|m| !self.quotes.is_empty() && !mention_is_left(m));
        Ok(SupportOutcome {
            verdict: support.decide_after_loss(going.reason),
            mentions_lost: gone.map(|mention| mention.number).collect(),
        })
    }
}

/// Stores the reduced text of a node. Its vector is deleted, and computed again. Returns the number of deleted
/// vectors.
pub(crate) fn reduce_text(
    unit: &mut UnitOfWork<'_>,
    scope: i64,
    seq: i64,
    terms_before: &str,
    text: &str,
) -> Result<u64> {
    let terms = index_terms(text);
    unit.unindex_words(Corpus::Nodes, seq, scope, terms_before);
    unit.index_words(Corpus::Nodes, seq, scope, &terms);
    let connection = unit.connection;
    connection
        .prepare_cached(
            "UPDATE concept_nodes SET description = ?2, terms = ?3, embedding_model = NULL WHERE seq = ?1",
        )?
        .execute(params![seq, text, terms])?;
    let vectors = connection.prepare_cached("DELETE FROM node_vectors WHERE seq = ?1")?.execute([seq])?;
    // Its text before a person's change may contain what was erased.
    connection
        .prepare_cached("UPDATE node_changes SET description = NULL WHERE node_seq = ?1")?
        .execute([seq])?;
    connection
        .prepare_cached("INSERT INTO reduced_nodes (node_seq) VALUES (?1) ON CONFLICT DO NOTHING")?
        .execute([seq])?;
    Ok(vectors as u64)
}

/// Recounts the mentions of a node after some of its evidence was removed.
pub(crate) fn recount_mentions(connection: &Connection, seq: i64) -> Result<()> {
    let (own, mentions): (bool, usize) = connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM node_evidence e JOIN recall_messages m ON m.seq = e.message_seq
                            WHERE e.node_seq = n.seq AND m.session_id = n.source_session_id),
                    (SELECT count(*) FROM mention_merges g WHERE g.node_seq = n.seq)
             FROM concept_nodes n WHERE n.seq = ?1",
        )?
        .query_row([seq], |row| Ok((row.get(0)?, row.get(1)?)))?;
    connection
        .prepare_cached("UPDATE concept_nodes SET mention_count = ?2 WHERE seq = ?1")?
        .execute(params![seq, mention_count(own, mentions)])?;
    Ok(())
}

/// The texts in the form that the rules of [`memory::forget`] take.
pub(crate) fn as_strs(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}
