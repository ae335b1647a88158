//! Forgetting in documents: removes lines about forgotten nodes from every version, roll-ups made from them, and
//! documents with an erased text.

use std::collections::{BTreeMap, BTreeSet};

use hub::daily::remove_line;
use hub::documents::core_block_of;
use hub::names::{DocumentName, Granularity, InstanceId};
use hub::ports::Instance;
use memory::Scope;
use memory::text::fold;
use serde_json::Value;

use super::{chunks, documents, erased_lines, erased_names, exchange, state};
use crate::engine::sql::{Connection, OptionalExtension as _, Result, params};
use crate::graph;
use crate::people::core_blocks;
use crate::rows::{self, to_json};

/// The part of an erasure that concerns documents.
pub(crate) struct HubForgetting<'a> {
    /// Nodes that were deleted or changed.
    pub(crate) nodes: &'a BTreeSet<[u8; 16]>,
    /// Documents to erase completely, as `category/file`.
    pub(crate) documents: &'a BTreeSet<String>,
    /// Folded text to erase.
    pub(crate) text: Option<&'a str>,
    /// True to leave documents alone that all users share.
    pub(crate) spares_shared: bool,
    /// Microseconds since 1970 (Unix time).
    pub(crate) at: i64,
}

impl HubForgetting<'_> {
    fn is_spared_document(&self, name: &DocumentName) -> bool {
        self.spares_shared && !name.is_of_user()
    }

    fn is_selected(&self, name: &DocumentName) -> bool {
        !self.documents.is_empty() && self.documents.contains(&name.to_string())
    }

    fn is_part_of(&self, text: &str) -> bool {
        self.text.is_some_and(|wanted| fold(text).contains(wanted))
    }
}

/// True if a string in the JSON contains the erased text. The JSON itself has escapes, so it can't be searched.
fn holds_text(json: &Value, act: &HubForgetting<'_>) -> bool {
    match json {
        Value::String(text) => act.is_part_of(text),
        Value::Array(values) => values.iter().any(|value| holds_text(value, act)),
        Value::Object(fields) => fields.values().any(|value| holds_text(value, act)),
        _ => false,
    }
}

/// Prefixes of the names of documents made from a character card.
const CARD_DOCUMENT_PREFIXES: [&str; 3] = ["custom/lore/", "custom/greetings", "self/character"];

/// Deletes the stored character card if it may contain erased text: a character's documents come from it.
pub(crate) fn forget_card(connection: &Connection, scope: &Scope, act: &HubForgetting<'_>) -> Result<()> {
    if act.spares_shared || act.documents.is_empty() && act.text.is_none() {
        return Ok(());
    }
    let is_named =
        act.documents.iter().any(|name| CARD_DOCUMENT_PREFIXES.iter().any(|start| name.starts_with(start)));
    let card: Option<String> = connection
        .prepare_cached("SELECT character_card FROM personas WHERE id = ?1")?
        .query_row([scope.persona.as_str()], |row| row.get(0))
        .optional()?
        .flatten();
    if card.is_some_and(|card| is_named || holds_text(&card.parse().unwrap_or_default(), act)) {
        core_blocks::forget_card(connection, scope)?;
    }
    Ok(())
}

/// A document of the scope, with the columns that forgetting reads.
pub(super) struct Row {
    pub(super) number: i64,
    pub(super) name: DocumentName,
}

/// The result of erasing from documents.
#[derive(Default)]
pub(crate) struct HubForgotten {
    /// Number of documents, snapshots and labels that were changed or deleted.
    pub(crate) count: u64,
    /// Instances that have copies of those documents.
    pub(crate) instances: BTreeSet<InstanceId>,
    /// Documents that contain the text but were left alone.
    pub(crate) left: BTreeSet<String>,
}

/// Erases from the documents of the scope. Core blocks are left alone: only people write them.
pub(crate) fn forget(
    connection: &Connection,
    scope: &Scope,
    act: &HubForgetting<'_>,
) -> Result<HubForgotten> {
    let mut lines = lines_of(connection, scope, act)?;
    if lines.is_empty() && act.text.is_none() && act.documents.is_empty() {
        return Ok(HubForgotten::default());
    }
    let mut holders = CopyHolders {
        known: state::instances(connection, scope)?,
        hub: exchange::hub_of(connection, scope)?,
        found: BTreeSet::new(),
    };
    let rows = rows_of(connection, scope)?;
    let mut emptied: BTreeSet<i64> = BTreeSet::new();
    let mut above = BTreeSet::new();
    let mut left = BTreeSet::new();
    for row in &rows {
        if core_block_of(&row.name, scope).is_some() {
            continue;
        }
        let gone = lines.remove(&row.number).unwrap_or_default();
        let holds_text = act.text.is_some() && holds_forgotten_text(connection, row.number, act)?;
        let is_selected = act.is_selected(&row.name);
        if gone.is_empty() && !holds_text && !is_selected {
            continue;
        }
        if act.is_spared_document(&row.name) {
            left.insert(row.name.to_string());
            continue;
        }
        let mut is_emptied = is_selected;
        if let DocumentName::Diary(name) = &row.name {
            above.extend(name.roll_ups_above());
            is_emptied |= name.granularity() != Granularity::Daily;
        }
        if is_emptied {
            emptied.insert(row.number);
            continue;
        }
        holders.find(&row.name);
        let removed = remove_lines(connection, row.number, &gone, act)?;
        // It is unknown which of its lines a fact of the graph came from.
        graph::withdraw_document(connection, scope, &row.name, act.at)?;
        let change = change_by_this_instance(connection, scope, row)?;
        let removed = removed.iter().map(String::as_str);
        erased_lines::insert_erased_lines(connection, scope, (row.number, &row.name), removed, &change)?;
    }
    emptied.extend(
        rows.iter()
            .filter(|row| matches!(&row.name, DocumentName::Diary(name) if above.contains(name)))
            .map(|row| row.number),
    );
    for row in rows.iter().filter(|row| emptied.contains(&row.number)) {
        holders.find(&row.name);
        insert_tombstone(connection, scope, row, act.at)?;
        graph::withdraw_document(connection, scope, &row.name, act.at)?;
    }
    let beside = delete_related_rows(connection, scope, act, &mut holders)?;
    let changed = "SELECT count(*) FROM hub_documents WHERE persona_id = ?1 AND revision = -1";
    let count: u64 =
        connection.prepare_cached(changed)?.query_row([scope.persona.as_str()], |row| row.get(0))?;
    if count > 0 {
        let marked = "SELECT EXISTS (SELECT 1 FROM hub_documents WHERE number = ?1 AND revision = -1)";
        for row in &rows {
            if connection.prepare_cached(marked)?.query_row([row.number], |found| found.get(0))? {
                chunks::replace_chunks(connection, scope, &row.name, row.number)?;
            }
        }
        let revision = state::raise_revision(connection, scope)?;
        connection
            .prepare_cached("UPDATE hub_documents SET revision = ?2 WHERE persona_id = ?1 AND revision = -1")?
            .execute(params![scope.persona.as_str(), revision])?;
    }
    Ok(HubForgotten { count: count + beside, instances: holders.found, left })
}

/// Instances that have synchronised, and those among them that have copies of removed text.
struct CopyHolders {
    known: Vec<Instance>,
    /// The hub that this home follows: it has, or will have, a copy of all documents.
    hub: Option<InstanceId>,
    found: BTreeSet<InstanceId>,
}

impl CopyHolders {
    /// Finds the instances that have a copy of this document.
    fn find(&mut self, name: &DocumentName) -> Vec<InstanceId> {
        let holders = self.known.iter().filter(|instance| instance.base.has_document(name));
        let holders = holders.map(|instance| instance.id.clone()).chain(self.hub.clone());
        let holders: Vec<InstanceId> = holders.collect();
        self.found.extend(holders.iter().cloned());
        holders
    }
}

/// Deletes a persona's hub.
pub(crate) fn forget_persona(connection: &Connection, persona: &str) -> Result<()> {
    let tables = [
        "hub_documents",
        "hub_erased_names",
        "hub_untold_deletions",
        "hub_labels",
        "hub_snapshots",
        "hub_instances",
        "hub_exchanges",
    ];
    for table in tables {
        let statement = format!("DELETE FROM {table} WHERE persona_id = ?1");
        connection.prepare_cached(&statement)?.execute([persona])?;
    }
    connection
        .prepare_cached("UPDATE hub_revisions SET revision = revision + 1 WHERE persona_id = ?1")?
        .execute([persona])?;
    Ok(())
}

fn rows_of(connection: &Connection, scope: &Scope) -> Result<Vec<Row>> {
    connection
        .prepare_cached(
            "SELECT number, kind, stem FROM hub_documents
             WHERE persona_id = ?1 AND (user_id IS NULL OR user_id = ?2) ORDER BY number",
        )?
        .query_map([scope.persona.as_str(), scope.user.as_str()], |row| {
            let name = DocumentName::parse(row.get_ref(1)?.as_str()?, row.get_ref(2)?.as_str()?);
            Ok(Row { number: row.get(0)?, name: name.map_err(|error| rows::unreadable_column(2, error))? })
        })?
        .collect()
}

/// Diary lines of a removed node, by document. Their records are removed.
fn lines_of(
    connection: &Connection,
    scope: &Scope,
    act: &HubForgetting<'_>,
) -> Result<BTreeMap<i64, Vec<String>>> {
    let mut lines: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    let mut statement = connection.prepare_cached(
        "DELETE FROM hub_lines WHERE node_id = ?1 AND document IN
             (SELECT number FROM hub_documents WHERE persona_id = ?2 AND user_id = ?3)
         RETURNING document, line",
    )?;
    for node in act.nodes {
        let mut rows = statement.query(params![node, scope.persona.as_str(), scope.user.as_str()])?;
        while let Some(row) = &rows.next()? {
            let line: String = row.get(1)?;
            // A line that was erased elsewhere is gone already.
            if !line.is_empty() {
                lines.entry(row.get(0)?).or_default().push(line);
            }
        }
    }
    Ok(lines)
}

fn holds_forgotten_text(connection: &Connection, document: i64, act: &HubForgetting<'_>) -> Result<bool> {
    let mut statement = connection
        .prepare_cached("SELECT content FROM hub_versions WHERE document = ?1 AND content IS NOT NULL")?;
    let mut rows = statement.query([document])?;
    while let Some(row) = &rows.next()? {
        if act.is_part_of(row.get_ref(0)?.as_str()?) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes lines from every version of a document, and every line that contains the text. Returns all removed lines.
fn remove_lines(
    connection: &Connection,
    document: i64,
    lines: &[String],
    act: &HubForgetting<'_>,
) -> Result<BTreeSet<String>> {
    let mut removed = BTreeSet::new();
    for (number, content) in version_texts(connection, document)? {
        let mut left = content.clone();
        for line in lines {
            if let Some(without) = remove_line(&left, line) {
                left = without;
            }
        }
        if act.is_part_of(&left) {
            let kept: Vec<&str> = left.lines().filter(|line| !act.is_part_of(line)).collect();
            left = kept.join("\n") + "\n";
            if act.is_part_of(&left) {
                // The text continues beyond the end of a line.
                left.clear();
            }
        }
        if left != content {
            connection
                .prepare_cached("UPDATE hub_versions SET content = ?3 WHERE document = ?1 AND number = ?2")?
                .execute(params![document, number, left])?;
            let left: BTreeSet<&str> = left.lines().collect();
            removed.extend(content.lines().filter(|line| !left.contains(line)).map(str::to_owned));
        }
    }
    Ok(removed)
}

/// The texts of a document's versions, by number.
fn version_texts(connection: &Connection, document: i64) -> Result<Vec<(i64, String)>> {
    connection
        .prepare_cached(
            "SELECT number, content FROM hub_versions WHERE document = ?1 AND content IS NOT NULL",
        )?
        .query_map([document], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

/// Marks a document as changed by this instance, so that others receive the change. Returns the instance and its
/// counter.
pub(super) fn change_by_this_instance(
    connection: &Connection,
    scope: &Scope,
    row: &Row,
) -> Result<(InstanceId, u64)> {
    let (own, counter) = state::next_own_change(connection, scope)?;
    let heads: Vec<(i64, hub::VersionVector)> = connection
        .prepare_cached("SELECT number, vector FROM hub_versions WHERE document = ?1 AND state <> 'past'")?
        .query_map([row.number], |row| Ok((row.get(0)?, rows::read_json(row, 1)?)))?
        .collect::<Result<_>>()?;
    let is_one = heads.len() == 1;
    for (number, vector) in heads {
        // With a counter of this instance, each of several live versions would seem to include what the instance
        // wrote before, so it gets an author of its own.
        let vector = match is_one {
            true => vector.with_change(&own, counter),
            false => vector.with_change(&own.for_part(&format!("x{counter}-{number}")), 1),
        };
        connection
            .prepare_cached("UPDATE hub_versions SET vector = ?3 WHERE document = ?1 AND number = ?2")?
            .execute(params![row.number, number, to_json(&vector)?])?;
        state::note_seen(connection, scope, &row.name, &vector)?;
    }
    state::note_author(connection, scope, state::owner(scope, &row.name), &own, counter)?;
    mark_changed(connection, row.number)?;
    Ok((own, counter))
}

/// Deletes the text of a document and leaves a tombstone. Roll-ups are marked to be written again.
pub(super) fn insert_tombstone(connection: &Connection, scope: &Scope, row: &Row, at: i64) -> Result<()> {
    let change = change_by_this_instance(connection, scope, row)?;
    let contents = version_texts(connection, row.number)?;
    let lines = contents.iter().flat_map(|(_, content)| content.lines());
    erased_lines::insert_erased_lines(connection, scope, (row.number, &row.name), lines, &change)?;
    connection.prepare_cached("DELETE FROM hub_conflicts WHERE document = ?1")?.execute([row.number])?;
    connection.prepare_cached("DELETE FROM hub_lines WHERE document = ?1")?.execute([row.number])?;
    connection
        .prepare_cached("DELETE FROM hub_versions WHERE document = ?1 AND state <> 'shown'")?
        .execute([row.number])?;
    connection
        .prepare_cached(
            "UPDATE hub_versions SET content = NULL, chat_ids = '[]', participants = '[]', edited_by = 'erased',
                    written_at = max(written_at, ?2) WHERE document = ?1",
        )?
        .execute([row.number, at])?;
    let is_roll_up =
        matches!(&row.name, DocumentName::Diary(name) if name.granularity() != Granularity::Significant);
    connection
        .prepare_cached("UPDATE hub_documents SET stale = ?2 WHERE number = ?1")?
        .execute(params![row.number, is_roll_up])?;
    Ok(())
}

fn mark_changed(connection: &Connection, document: i64) -> Result<()> {
    connection.prepare_cached("DELETE FROM hub_chunks WHERE document = ?1")?.execute([document])?;
    connection
        .prepare_cached("UPDATE hub_documents SET revision = -1 WHERE number = ?1")?
        .execute([document])?;
    Ok(())
}

/// Deletes snapshots and labels that contain the text, and the rows of selected documents and of those whose names
/// contain it. Returns the number of deleted rows.
fn delete_related_rows(
    connection: &Connection,
    scope: &Scope,
    act: &HubForgetting<'_>,
    holders: &mut CopyHolders,
) -> Result<u64> {
    if act.text.is_none() {
        return erase_named(connection, scope, act, holders);
    }
    let mut gone = 0;
    let key = [scope.persona.as_str(), scope.user.as_str()];
    let snapshots: Vec<(String, String, String)> = connection
        .prepare_cached(
            "SELECT id, user_id, content FROM hub_snapshots WHERE persona_id = ?1 AND user_id IN ('', ?2)",
        )?
        .query_map(key, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_>>()?;
    for (id, user, content) in snapshots {
        if act.is_part_of(&content) && !(act.spares_shared && user.is_empty()) {
            gone += connection
                .prepare_cached(
                    "DELETE FROM hub_snapshots WHERE persona_id = ?1 AND user_id = ?2 AND id = ?3",
                )?
                .execute([scope.persona.as_str(), &user, &id])? as u64;
        }
    }
    let labels: Vec<(String, String, String, String)> = connection
        .prepare_cached(
            "SELECT user_id, kind, stem, label FROM hub_labels WHERE persona_id = ?1 AND user_id IN ('', ?2)",
        )?
        .query_map(key, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?
        .collect::<Result<_>>()?;
    for (user, kind, stem, label) in labels {
        if act.is_part_of(&label) && !(act.spares_shared && user.is_empty()) {
            gone += connection
                .prepare_cached(
                    "DELETE FROM hub_labels WHERE persona_id = ?1 AND user_id = ?2 AND kind = ?3 AND stem = ?4",
                )?
                .execute([scope.persona.as_str(), &user, &kind, &stem])? as u64;
        }
    }
    Ok(gone + erase_named(connection, scope, act, holders)?)
}

/// Deletes significant memories and documents that are selected, or whose name contains the text. Only a digest of
/// the name stays, so that they do not come back; and the name itself for instances with a copy, until each was
/// reached.
fn erase_named(
    connection: &Connection,
    scope: &Scope,
    act: &HubForgetting<'_>,
    holders: &mut CopyHolders,
) -> Result<u64> {
    let mut taken = 0;
    for row in rows_of(connection, scope)?.into_iter().filter(|row| !act.is_spared_document(&row.name)) {
        let is_significant =
            matches!(&row.name, DocumentName::Diary(name) if name.granularity() == Granularity::Significant);
        let is_custom = matches!(&row.name, DocumentName::Identity(hub::Category::Custom, _))
            && core_block_of(&row.name, scope).is_none();
        let stem = row.name.stem();
        // Names are made from titles, with hyphens for spaces.
        let says_it = act.is_part_of(&stem) || act.is_part_of(&stem.replace(['-', '_'], " "));
        if (is_significant || is_custom) && (says_it || act.is_selected(&row.name)) {
            let mut seen = hub::VersionVector::default();
            for version in documents::versions(connection, scope, &row.name, u32::MAX)? {
                seen.join(&version.vector);
            }
            erased_names::insert_erased_name(connection, scope, &row.name, seen, act.at)?;
            for instance in holders.find(&row.name) {
                erased_names::store_name_for_instance(connection, scope, &instance, &row.name)?;
            }
            for table in ["hub_snapshots", "hub_labels"] {
                connection
                    .prepare_cached(&format!(
                        "DELETE FROM {table} WHERE persona_id = ?1 AND user_id = ?2 AND kind = ?3 AND stem = ?4"
                    ))?
                    .execute(params![
                        scope.persona.as_str(),
                        state::owner(scope, &row.name),
                        row.name.kind(),
                        stem
                    ])?;
            }
            taken += connection
                .prepare_cached("DELETE FROM hub_documents WHERE number = ?1")?
                .execute([row.number])? as u64;
        }
    }
    Ok(taken)
}
