//! Document lines from which the graph's facts have to be extracted, and the results.

use std::collections::BTreeSet;

use hub::DocumentName;
use hub::daily::without_tags;
use hub::graph::{GraphWrite, GraphWritten, KnownEntity, UnreadDocument, UnreadEvent};
use hub::names::DiaryName;
use memory::Scope;
use memory::entities::{fold_name, is_named_in_text};
use memory::identifiers::NodeId;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::{relations, scopes, withdraw, write};
use crate::engine::sql::{Connection, OptionalExtension, Result, params};
use crate::rows::{self, microseconds, to_json};

/// Maximum lines to read at once, and maximum characters of them.
const LINES_MAX: usize = 40;
const CHARACTERS_MAX: usize = 6_000;
/// Maximum known entities in a prompt. They help to recognise names in the text; each takes a line.
const ENTITIES_MAX: usize = 40;

/// Unread lines in the order of their numbers. Those already read by rules wait only for a model.
const UNREAD_LINES: &str = "
    SELECT document FROM graph_unread_documents WHERE ?1 <= by_rules
        AND document NOT IN (SELECT value FROM json_each(?2)) ORDER BY document LIMIT 1";

type LineKey = [u8; 16];

/// Marks a document whose shown text changed: its lines may be new or deleted.
pub(crate) fn mark_unread(connection: &Connection, document: i64, name: &DiaryName) -> Result<()> {
    use hub::names::Granularity::{Daily, Significant};
    if !matches!(name.granularity(), Daily | Significant) {
        return Ok(());
    }
    connection
        .prepare_cached(
            "INSERT INTO graph_unread_documents (document) VALUES (?1)
             ON CONFLICT (document) DO UPDATE SET by_rules = 1",
        )?
        .execute([document])?;
    Ok(())
}

pub(super) fn next_unread_document(
    connection: &Connection,
    passed_over: &[i64],
    by_rules: bool,
) -> Result<Option<UnreadDocument>> {
    let number: Option<i64> = connection
        .prepare_cached(UNREAD_LINES)?
        .query_row(params![by_rules, to_json(&passed_over)?], |row| row.get(0))
        .optional()?;
    number.map_or(Ok(None), |number| document_as_unread(connection, number, by_rules))
}

fn document_as_unread(
    connection: &Connection,
    number: i64,
    by_rules: bool,
) -> Result<Option<UnreadDocument>> {
    let head = connection
        .prepare_cached(
            "SELECT d.persona_id, d.user_id, d.kind, d.stem, p.display_name, u.display_name
             FROM hub_documents d LEFT JOIN personas p ON p.id = d.persona_id LEFT JOIN users u ON u.id = d.user_id
             WHERE d.number = ?1",
        )?
        .query_row([number], |row| {
            let name = DocumentName::parse(row.get_ref(2)?.as_str()?, row.get_ref(3)?.as_str()?)
                .map_err(|error| rows::unreadable_column(3, error))?;
            Ok((rows::scope(row, 0)?, name, row.get::<Option<String>>(4)?, row.get(5)?))
        })
        .optional()?;
    let Some((scope, DocumentName::Diary(name), persona, user)) = head else { return Ok(None) };
    let mut lines = foreign_lines(connection, number)?;
    let read = read_lines(connection, number, by_rules)?;
    lines.retain(|(digest, _)| !read.contains(digest));
    let mut characters = 0;
    let fits = |line: &(LineKey, String)| {
        characters += line.1.chars().count();
        characters <= CHARACTERS_MAX
    };
    let first = lines.first().cloned();
    let mut next: Vec<(LineKey, String)> = lines.into_iter().take(LINES_MAX).take_while(fits).collect();
    if next.is_empty() {
        next.extend(first.map(|(digest, text)| (digest, text.chars().take(CHARACTERS_MAX).collect())));
    }
    let entities = entities_in(connection, &scope, &next)?;
    let event = |(digest, description)| UnreadEvent {
        node: NodeId(Uuid::from_bytes(digest)),
        description,
        quotes: Vec::new(),
    };
    let lines = next.into_iter().map(event).collect();
    Ok(Some(UnreadDocument {
        number,
        name,
        scope,
        persona: persona.unwrap_or_default(),
        user,
        lines,
        entities,
    }))
}

/// Shown lines that the persona's own memory did not write, without list marks and headings, each once.
fn foreign_lines(connection: &Connection, document: i64) -> Result<Vec<(LineKey, String)>> {
    let content: Option<String> = connection
        .prepare_cached("SELECT content FROM hub_versions WHERE document = ?1 AND state = 'shown'")?
        .query_row([document], |row| row.get(0))
        .optional()?
        .flatten();
    let own: BTreeSet<String> = connection
        .prepare_cached("SELECT line FROM hub_lines WHERE document = ?1")?
        .query_map([document], |row| row.get(0))?
        .collect::<Result<_>>()?;
    let mut found: Vec<(LineKey, String)> = Vec::new();
    let mut known = BTreeSet::new();
    for line in content.iter().flat_map(|content| content.lines()).filter(|line| !own.contains(*line)) {
        let text = without_tags(line);
        let text = text.trim().trim_start_matches(['-', '*', '#', '>', ' ']).trim();
        let digest = line_key(text);
        if text.chars().any(char::is_alphanumeric) && known.insert(digest) {
            found.push((digest, text.to_owned()));
        }
    }
    Ok(found)
}

fn line_key(text: &str) -> LineKey {
    let mut key = LineKey::default();
    key.copy_from_slice(&Sha256::digest(text.as_bytes())[..16]);
    key
}

/// Lines that were read by a model, or if requested, by rules too.
fn read_lines(connection: &Connection, document: i64, by_rules: bool) -> Result<BTreeSet<LineKey>> {
    connection
        .prepare_cached("SELECT digest FROM graph_read_lines WHERE document = ?1 AND by_rules <= ?2")?
        .query_map(params![document, by_rules], |row| row.get(0))?
        .collect()
}

fn entities_in(
    connection: &Connection,
    scope: &Scope,
    lines: &[(LineKey, String)],
) -> Result<Vec<KnownEntity>> {
    let Some(scope) = scopes::number(connection, scope)? else { return Ok(Vec::new()) };
    let folded: Vec<String> = lines.iter().map(|(_, text)| fold_name(text)).collect();
    let mut names = connection.prepare_cached(
        "SELECT entity_id, folded FROM entity_aliases WHERE scope = ?1 ORDER BY entity_id, number",
    )?;
    let mut found: Vec<Uuid> = Vec::new();
    for name in names.query_map([scope], |row| Ok((rows::read_uuid(row, 0)?, row.get::<String>(1)?)))? {
        let (id, name) = name?;
        let is_named = || folded.iter().any(|text| is_named_in_text(text, &name));
        if found.len() < ENTITIES_MAX && !found.contains(&id) && is_named() {
            found.push(id);
        }
    }
    found.into_iter().filter_map(|id| relations::known_entity(connection, id).transpose()).collect()
}

pub(super) fn commit(
    connection: &Connection,
    document: &UnreadDocument,
    asked: &GraphWrite,
    by_rules: bool,
) -> Result<Option<GraphWritten>> {
    let present = document_as_unread(connection, document.number, by_rules)?;
    if !present.is_some_and(|present| present == *document) {
        return Ok(None);
    }
    let scope = scopes::number_or_new(connection, &document.scope)?;
    withdraw_facts_of_removed_lines(connection, scope, document, &asked.instance, microseconds(asked.at))?;
    let written = write::write(connection, scope, asked)?;
    let mut note = connection.prepare_cached(
        "INSERT INTO graph_read_lines (document, digest, by_rules) VALUES (?1, ?2, ?3)
         ON CONFLICT (document, digest) DO UPDATE SET by_rules = min(graph_read_lines.by_rules, excluded.by_rules)",
    )?;
    for line in &document.lines {
        note.execute(params![document.number, line.node.0.into_bytes(), by_rules])?;
    }
    let read = read_lines(connection, document.number, by_rules)?;
    let is_read = foreign_lines(connection, document.number)?.iter().all(|(digest, _)| read.contains(digest));
    if is_read {
        let statement = match by_rules {
            true => "UPDATE graph_unread_documents SET by_rules = 0 WHERE document = ?1",
            false => "DELETE FROM graph_unread_documents WHERE document = ?1",
        };
        connection.prepare_cached(statement)?.execute([document.number])?;
    }
    Ok(Some(written))
}

/// Removes facts that this hub extracted from lines that no longer exist.
fn withdraw_facts_of_removed_lines(
    connection: &Connection,
    scope: i64,
    document: &UnreadDocument,
    instance: &str,
    at: i64,
) -> Result<()> {
    let lines = foreign_lines(connection, document.number)?;
    let present: BTreeSet<LineKey> = lines.iter().map(|(digest, _)| *digest).collect();
    let mut gone = read_lines(connection, document.number, true)?;
    gone.retain(|digest| !present.contains(digest));
    if gone.is_empty() {
        return Ok(());
    }
    let mut forget =
        connection.prepare_cached("DELETE FROM graph_read_lines WHERE document = ?1 AND digest = ?2")?;
    for digest in &gone {
        forget.execute(params![document.number, digest])?;
    }
    let texts: Vec<String> = lines.iter().map(|(_, text)| fold_name(text)).collect();
    let memory = document.name.id();
    withdraw::withdraw_unsupported(
        connection,
        scope,
        &memory,
        at,
        &withdraw::LostSupport {
            instance,
            is_evidence_gone: &|evidence| gone.contains(&line_key(evidence)),
            is_named: &|name| texts.iter().any(|text| is_named_in_text(text, &fold_name(name))),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::plans::{empty_database, explain_plan};

    #[test]
    fn only_waiting_documents_are_read() {
        let plan = explain_plan(&empty_database(), UNREAD_LINES);
        assert!(!plan.contains("hub_"), "{plan}");
    }
}
