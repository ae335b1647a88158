//! Names that no text contains any more, and entities without support.

use std::collections::BTreeSet;

use memory::entities::{fold_name, is_named_in_text};
use memory::ports::{Corpus, Phrase};
use memory::text::index_terms;

use super::removal::{RemovalSet, RowKey};
use crate::engine::sql::{Connection, Result, params};
use crate::index::words;
use crate::rows::column;

/// The effect of forgetting on the scope's entities.
#[derive(Default)]
pub(super) struct ForgottenNames {
    pub(super) entities: BTreeSet<RowKey>,
    /// Names to remove from entities that stay, by number.
    pub(super) aliases: BTreeSet<i64>,
    /// Entities that get another main name.
    pub(super) renamed: Vec<(RowKey, String)>,
    /// Entities that lose their description, because it was derived from removed text.
    pub(super) undescribed: BTreeSet<RowKey>,
}

/// Entities that only withdrawn nodes were about and that no person has described.
pub(super) fn names_to_withdraw(connection: &Connection, going: &RemovalSet) -> Result<ForgottenNames> {
    let mut names = ForgottenNames::default();
    let mut linked = BTreeSet::new();
    for node in going.nodes.keys() {
        let entities = "SELECT l.entity_id FROM concept_node_entities l JOIN entities e ON e.id = l.entity_id
                        WHERE l.node_seq = ?1 AND e.owner_override = 0
                          AND NOT EXISTS (SELECT 1 FROM entities o WHERE o.merge_target = e.id)";
        linked.extend(column::<RowKey>(connection, entities, node)?);
    }
    for entity in linked {
        let nodes = "SELECT node_seq FROM concept_node_entities WHERE entity_id = ?1";
        if column::<i64>(connection, nodes, entity)?.iter().all(|seq| going.nodes.contains_key(seq)) {
            names.entities.insert(entity);
        }
    }
    Ok(names)
}

struct Entity {
    id: RowKey,
    canonical_name: String,
    description: Option<String>,
    /// True if a person wrote the description of the entity.
    owner_override: bool,
    aliases: Vec<(i64, String)>,
    /// True if the entity was linked to a removed node, and true if it is still linked to a remaining one.
    loses_link: bool,
    keeps_link: bool,
}

/// Determines for every entity of the scope what is forgotten with the set.
pub(super) fn names_to_forget(connection: &Connection, going: &RemovalSet) -> Result<ForgottenNames> {
    let said = folded_texts(going);
    let mut names = ForgottenNames { entities: going.entities.clone(), ..ForgottenNames::default() };
    for entity in removed_entities(connection, going)? {
        if !names.entities.contains(&entity.id) {
            decide(connection, going, &said, &entity, &mut names)?;
        }
    }
    Ok(names)
}

fn decide(
    connection: &Connection,
    going: &RemovalSet,
    said: &[String],
    entity: &Entity,
    names: &mut ForgottenNames,
) -> Result<()> {
    let mut called: BTreeSet<&str> = entity.aliases.iter().map(|(_, name)| name.as_str()).collect();
    called.insert(&entity.canonical_name);
    let mut lost = BTreeSet::new();
    let mut stands = false;
    for name in &called {
        let folded = fold_name(name);
        let was_said = said.iter().any(|text| is_named_in_text(text, &folded));
        let pointed_at = going.is_part_of(name);
        let stands_now =
            !pointed_at && (was_said || entity.loses_link) && is_name_still_used(connection, going, name)?;
        stands |= stands_now;
        if pointed_at || (was_said && !stands_now && !entity.owner_override) {
            lost.insert(*name);
        }
    }
    let named_by_it = going.is_part_of(entity.description.as_deref().unwrap_or_default());
    if lost.is_empty() && !entity.loses_link && !named_by_it {
        return Ok(());
    }
    let unsupported = !entity.keeps_link && !stands && !entity.owner_override;
    if lost.len() == called.len() || unsupported {
        names.entities.insert(entity.id);
        return Ok(());
    }
    let (gone, left): (Vec<_>, Vec<_>) =
        entity.aliases.iter().partition(|(_, name)| lost.contains(name.as_str()));
    names.aliases.extend(gone.into_iter().map(|(number, _)| *number));
    if lost.contains(entity.canonical_name.as_str())
        && let Some((_, name)) = left.first()
    {
        names.renamed.push((entity.id, name.clone()));
    }
    if entity.description.is_some() && (named_by_it || !entity.owner_override) {
        names.undescribed.insert(entity.id);
    }
    Ok(())
}

/// The removed texts, folded like names.
fn folded_texts(going: &RemovalSet) -> Vec<String> {
    let messages = going.messages.values().map(|message| &message.content);
    let nodes = going.nodes.values().map(|node| &node.description);
    let rewritten = going.rewritten.values().map(|rewritten| &rewritten.before);
    messages.chain(nodes).chain(rewritten).map(|text| fold_name(text)).collect()
}

/// True if a remaining message or node contains the name.
fn is_name_still_used(connection: &Connection, going: &RemovalSet, name: &str) -> Result<bool> {
    let phrase = Phrase(index_terms(name).split_whitespace().map(str::to_owned).collect());
    if phrase.0.is_empty() {
        return occurs_as_written(connection, going, name);
    }
    // One more than can be removed: if that many are found, one of them stays.
    let limit = |going: usize| u32::try_from(going).unwrap_or(u32::MAX).saturating_add(1);
    let messages = limit(going.messages.len());
    let rows = words::newest_rows(connection, Corpus::Messages, going.scope, &phrase, messages)?;
    if rows.iter().any(|seq| !going.messages.contains_key(seq)) {
        return Ok(true);
    }
    let nodes = limit(going.nodes.len() + going.rewritten.len());
    let rows = words::newest_rows(connection, Corpus::Nodes, going.scope, &phrase, nodes)?;
    let stays = |seq: &i64| !going.nodes.contains_key(seq) && !going.rewritten.contains_key(seq);
    let folded = fold_name(name);
    let in_rewritten = || going.rewritten.values().any(|r| is_named_in_text(&fold_name(&r.after), &folded));
    Ok(rows.iter().any(stays) || in_rewritten())
}

/// True if a text contains a name as written: for names without a letter or digit, which no index has.
fn occurs_as_written(connection: &Connection, going: &RemovalSet, name: &str) -> Result<bool> {
    let mut statement = connection
        .prepare_cached("SELECT seq FROM recall_messages WHERE scope = ?1 AND instr(content, ?2) > 0")?;
    for seq in statement.query_map(params![going.scope, name], |row| row.get::<i64>(0))? {
        if !going.messages.contains_key(&seq?) {
            return Ok(true);
        }
    }
    let mut statement = connection
        .prepare_cached("SELECT seq FROM concept_nodes WHERE scope = ?1 AND instr(description, ?2) > 0")?;
    for seq in statement.query_map(params![going.scope, name], |row| row.get::<i64>(0))? {
        let seq = seq?;
        if !going.nodes.contains_key(&seq) && !going.rewritten.contains_key(&seq) {
            return Ok(true);
        }
    }
    Ok(going.rewritten.values().any(|rewritten| rewritten.after.contains(name)))
}

fn removed_entities(connection: &Connection, going: &RemovalSet) -> Result<Vec<Entity>> {
    let mut entities: Vec<Entity> = connection
        .prepare_cached(
            "SELECT id, canonical_name, description, owner_override FROM entities WHERE scope = ?1",
        )?
        .query_map([going.scope], |row| {
            Ok(Entity {
                id: row.get(0)?,
                canonical_name: row.get(1)?,
                description: row.get(2)?,
                owner_override: row.get(3)?,
                aliases: Vec::new(),
                loses_link: false,
                keeps_link: false,
            })
        })?
        .collect::<Result<_>>()?;
    let mut aliases = connection
        .prepare_cached("SELECT number, name FROM entity_aliases WHERE entity_id = ?1 ORDER BY number")?;
    for entity in &mut entities {
        let named = aliases.query_map([entity.id], |row| Ok((row.get(0)?, row.get(1)?)))?;
        entity.aliases = named.collect::<Result<_>>()?;
        let linked = "SELECT node_seq FROM concept_node_entities WHERE entity_id = ?1";
        for seq in column::<i64>(connection, linked, entity.id)? {
            let goes = going.nodes.contains_key(&seq);
            entity.loses_link |= goes;
            entity.keeps_link |= !goes;
        }
    }
    Ok(entities)
}
