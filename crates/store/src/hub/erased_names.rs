//! Documents that were erased together with their names: a digest of the name prevents them from coming back.

use std::collections::BTreeSet;

use hub::documents::{Document, Version};
use hub::erasure::ERASURE_EDITOR;
use hub::export::ErasedName;
use hub::names::{DocumentName, InstanceId};
use hub::version_vector::VersionVector;
use jiff::Timestamp;
use memory::Scope;
use sha2::{Digest as _, Sha256};

use super::state::{self, owner};
use crate::engine::sql::{Connection, OptionalExtension, Result, Row, params};
use crate::rows::{self, microseconds, to_json};

pub(super) fn digest(scope: &Scope, name: &DocumentName) -> [u8; 32] {
    let mut digest = Sha256::new();
    for part in [scope.persona.as_str(), owner(scope, name), name.kind(), &name.stem()] {
        digest.update(part.as_bytes());
        digest.update([0]);
    }
    digest.finalize().into()
}

/// Digests of all erased names, of all personas.
pub(crate) fn all_digests(connection: &Connection) -> Result<BTreeSet<[u8; 32]>> {
    connection
        .prepare_cached("SELECT digest FROM hub_erased_names")?
        .query_map([], |row| row.get(0))?
        .collect()
}

/// Documents of this home whose names have one of these digests, each with a scope in which it can be erased.
pub(crate) fn documents_with(
    connection: &Connection,
    digests: &BTreeSet<[u8; 32]>,
) -> Result<Vec<(Scope, DocumentName)>> {
    // A document of all users can be reached from the scope of any of them.
    let mut statement = connection.prepare_cached(
        "SELECT s.persona_id, s.user_id, h.kind, h.stem FROM hub_documents h JOIN scopes s ON s.number =
             (SELECT min(number) FROM scopes WHERE persona_id = h.persona_id AND (h.user_id IS NULL OR user_id = h.user_id))",
    )?;
    let named = |row: &Row<'_>| {
        let name = DocumentName::parse(row.get_ref(2)?.as_str()?, row.get_ref(3)?.as_str()?);
        Ok((rows::scope(row, 0)?, name.map_err(|error| rows::unreadable_column(3, error))?))
    };
    let named: Vec<(Scope, DocumentName)> = statement.query_map([], named)?.collect::<Result<_>>()?;
    Ok(named.into_iter().filter(|(scope, name)| digests.contains(&digest(scope, name))).collect())
}

/// Stores that a document was erased with its name, the changes that it included, and the instance that reported it.
pub(super) fn insert_erased_name(
    connection: &Connection,
    scope: &Scope,
    name: &DocumentName,
    seen: VersionVector,
    at: i64,
) -> Result<()> {
    let revision = state::raise_revision(connection, scope)?;
    let (own, counter) = state::next_own_change(connection, scope)?;
    let vector = seen.with_change(&own, counter);
    state::note_seen(connection, scope, name, &vector)?;
    let erased_at = Timestamp::from_microsecond(at).unwrap_or_default();
    let kept = ErasedName { kind: name.kind().to_owned(), digest: digest(scope, name), vector, erased_at };
    insert_erasure(connection, scope, owner(scope, name), &kept, revision)
}

/// Stores an erasure. For a known one, the changes are joined, and the later time counts.
pub(super) fn insert_erasure(
    connection: &Connection,
    scope: &Scope,
    user: &str,
    erased: &ErasedName,
    revision: i64,
) -> Result<()> {
    let known: Option<VersionVector> = connection
        .prepare_cached(
            "SELECT vector FROM hub_erased_names
             WHERE persona_id = ?1 AND user_id = ?2 AND kind = ?3 AND digest = ?4",
        )?
        .query_row(params![scope.persona.as_str(), user, erased.kind, erased.digest], |row| {
            rows::read_json(row, 0)
        })
        .optional()?;
    let mut vector = erased.vector.clone();
    vector.join(&known.unwrap_or_default());
    connection
        .prepare_cached(
            "INSERT INTO hub_erased_names (persona_id, user_id, kind, digest, vector, erased_at, revision)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (persona_id, user_id, kind, digest) DO UPDATE SET vector = excluded.vector, revision = excluded.revision,
                 erased_at = max(hub_erased_names.erased_at, excluded.erased_at)",
        )?
        .execute(params![
            scope.persona.as_str(),
            user,
            erased.kind,
            erased.digest,
            to_json(&vector)?,
            microseconds(erased.erased_at),
            revision
        ])?;
    Ok(())
}

/// Erased names of a scope: the user's, or the persona's own.
pub(super) fn list(connection: &Connection, scope: &Scope, user: &str) -> Result<Vec<ErasedName>> {
    connection
        .prepare_cached(
            "SELECT kind, digest, vector, erased_at FROM hub_erased_names
             WHERE persona_id = ?1 AND user_id = ?2 ORDER BY kind, digest",
        )?
        .query_map([scope.persona.as_str(), user], |row| {
            Ok(ErasedName {
                kind: row.get(0)?,
                digest: row.get(1)?,
                vector: rows::read_json(row, 2)?,
                erased_at: rows::time(row, 3)?,
            })
        })?
        .collect()
}

/// An erased document as a deleted one; `None` if no document of this name was erased.
pub(super) fn document(
    connection: &Connection,
    scope: &Scope,
    name: &DocumentName,
) -> Result<Option<Document>> {
    let found = connection
        .prepare_cached(
            "SELECT vector, erased_at, revision FROM hub_erased_names
             WHERE persona_id = ?1 AND user_id = ?2 AND kind = ?3 AND digest = ?4",
        )?
        .query_row(
            params![scope.persona.as_str(), owner(scope, name), name.kind(), digest(scope, name)],
            |row| Ok((rows::read_json(row, 0)?, rows::time(row, 1)?, row.get(2)?)),
        )
        .optional()?;
    let Some((vector, erased_at, revision)) = found else { return Ok(None) };
    let deletion = Version {
        number: 0,
        content: None,
        vector,
        author: state::own_author(connection)?,
        edited_by: ERASURE_EDITOR.to_owned(),
        by_person: true,
        chat_ids: BTreeSet::new(),
        participants: BTreeSet::new(),
        written_at: erased_at,
    };
    Ok(Some(Document {
        name: name.clone(),
        prompt_label: None,
        heads: vec![deletion],
        stale: false,
        created_at: erased_at,
        revision,
    }))
}

/// Stores the name of an erased document for an instance that has a copy.
pub(super) fn store_name_for_instance(
    connection: &Connection,
    scope: &Scope,
    instance: &InstanceId,
    name: &DocumentName,
) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO hub_untold_deletions (persona_id, user_id, instance_id, kind, stem)
             VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
        )?
        .execute([
            scope.persona.as_str(),
            scope.user.as_str(),
            instance.as_str(),
            name.kind(),
            &name.stem(),
        ])?;
    Ok(())
}

/// Deletions of erased documents that were not sent to this instance, each as a deleted document.
pub(super) fn unsent_erasures(
    connection: &Connection,
    scope: &Scope,
    instance: &InstanceId,
) -> Result<Vec<Document>> {
    let names: Vec<DocumentName> = connection
        .prepare_cached(
            "SELECT kind, stem FROM hub_untold_deletions
             WHERE persona_id = ?1 AND user_id = ?2 AND instance_id = ?3 ORDER BY kind, stem",
        )?
        .query_map([scope.persona.as_str(), scope.user.as_str(), instance.as_str()], |row| {
            let name = DocumentName::parse(row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?);
            name.map_err(|error| rows::unreadable_column(1, error))
        })?
        .collect::<Result<_>>()?;
    let deletions = names.iter().map(|name| document(connection, scope, name));
    deletions.filter_map(Result::transpose).collect()
}

/// For each author, the number of the first erasure that the instance may not have received.
pub(super) fn first_unreceived_erasures(
    connection: &Connection,
    scope: &Scope,
    instance: &InstanceId,
) -> Result<VersionVector> {
    let mut statement = connection.prepare_cached(
        "SELECT CASE i.author WHEN '' THEN (SELECT id FROM hub_own_instance) ELSE i.author END, min(i.counter)
         FROM erasure_instances i JOIN erasure_receipts r ON r.id = i.receipt_id
         WHERE i.instance_id = ?3 AND i.reached_at IS NULL AND r.persona_id = ?1 AND r.user_id = ?2 GROUP BY i.author",
    )?;
    let key = [scope.persona.as_str(), scope.user.as_str(), instance.as_str()];
    let first = statement.query_map(key, |row| Ok((state::instance_id(row, 0)?, row.get(1)?)))?;
    let mut waiting = VersionVector::default();
    for (author, counter) in first.collect::<Result<Vec<(InstanceId, u64)>>>()? {
        waiting.note_seen(&author, counter);
    }
    Ok(waiting)
}

/// Notes what an instance has received, as its own pull shows: names stored for it are dropped, and receipts say that
/// it was reached. Claims of changes that were never made here are ignored. True if a name was dropped.
pub(super) fn note_received(
    connection: &Connection,
    scope: &Scope,
    instance: &InstanceId,
    heard: &VersionVector,
    at: Timestamp,
) -> Result<bool> {
    let own = state::own_instance(connection)?;
    let made = state::read(connection, scope)?.counters;
    let is_of_this = |author: &InstanceId| own.as_ref().is_some_and(|own| author.is_part_of(own));
    if heard.authors_ahead_of(&made).any(|(author, _)| is_of_this(author)) {
        return Ok(false);
    }
    for (author, counter) in heard.iter() {
        note_reached(connection, scope, instance, (author, counter), at)?;
    }
    let mut dropped = false;
    for deletion in unsent_erasures(connection, scope, instance)? {
        if heard.covers(&deletion.seen_by_heads()) {
            dropped |= remove_stored_name(connection, scope, Some(instance), &deletion.name)?;
        }
    }
    Ok(dropped)
}

/// Notes on receipts that an instance knows this author's erasures up to this change.
pub(super) fn note_reached(
    connection: &Connection,
    scope: &Scope,
    instance: &InstanceId,
    (author, counter): (&InstanceId, u64),
    at: Timestamp,
) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE erasure_instances SET reached_at = ?6
             WHERE instance_id = ?3 AND reached_at IS NULL AND counter <= ?4
                 AND ?5 = CASE author WHEN '' THEN (SELECT id FROM hub_own_instance) ELSE author END
                 AND receipt_id IN (SELECT id FROM erasure_receipts WHERE persona_id = ?1 AND user_id = ?2)",
        )?
        .execute(params![
            scope.persona.as_str(),
            scope.user.as_str(),
            instance.as_str(),
            counter.cast_signed(),
            author.as_str(),
            microseconds(at)
        ])?;
    Ok(())
}

/// Drops the name stored for an instance, or for all.
pub(super) fn remove_stored_name(
    connection: &Connection,
    scope: &Scope,
    instance: Option<&InstanceId>,
    name: &DocumentName,
) -> Result<bool> {
    let dropped = connection
        .prepare_cached(
            "DELETE FROM hub_untold_deletions WHERE persona_id = ?1 AND user_id = ?2
                 AND (?3 IS NULL OR instance_id = ?3) AND kind = ?4 AND stem = ?5",
        )?
        .execute(params![
            scope.persona.as_str(),
            scope.user.as_str(),
            instance.map(InstanceId::as_str),
            name.kind(),
            name.stem()
        ])?;
    Ok(dropped > 0)
}

/// Removes an erased name because a document of this name exists again.
pub(super) fn drop(connection: &Connection, scope: &Scope, name: &DocumentName) -> Result<()> {
    connection
        .prepare_cached(
            "DELETE FROM hub_erased_names WHERE persona_id = ?1 AND user_id = ?2 AND kind = ?3 AND digest = ?4",
        )?
        .execute(params![scope.persona.as_str(), owner(scope, name), name.kind(), digest(scope, name)])?;
    remove_stored_name(connection, scope, None, name)?;
    Ok(())
}
