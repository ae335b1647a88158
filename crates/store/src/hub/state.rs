//! State of the hub: its revision, the changes that it includes, and the instances that have connected.

use hub::names::{DocumentName, InstanceId};
use hub::ports::{HubState, Instance};
use hub::version_vector::VersionVector;
use memory::Scope;

use crate::engine::sql::{Connection, OptionalExtension, Result, Row, params};
use crate::rows::{self, microseconds, to_json};

/// The user of a document for columns without NULL: empty for the persona's own documents.
pub(super) fn owner<'a>(scope: &'a Scope, name: &DocumentName) -> &'a str {
    if name.is_of_user() { scope.user.as_str() } else { "" }
}

/// Query for a state in one statement, because every turn asks for it: the author of this database's own changes, the
/// revision, and the changes that it includes.
const STATE: &str = "
    SELECT 'author', '', CASE author WHEN '' THEN id ELSE author END, 0 FROM hub_own_instance
    UNION ALL SELECT 'revision', '', '', revision FROM hub_revisions WHERE persona_id = ?1
    UNION ALL SELECT 'seen', user_id, author, counter FROM hub_seen WHERE persona_id = ?1";

pub(super) fn read(connection: &Connection, scope: &Scope) -> Result<HubState> {
    let mut state = HubState {
        revision: 0,
        seen: VersionVector::default(),
        counters: VersionVector::default(),
        author: InstanceId::made_safe(""),
    };
    let mut statement = connection.prepare_cached(STATE)?;
    let mut rows = statement.query([scope.persona.as_str()])?;
    while let Some(row) = &rows.next()? {
        match row.get_ref(0)?.as_str()? {
            "author" => state.author = own_id(row, 2)?,
            "revision" => state.revision = row.get(3)?,
            _ => {
                let (author, counter) = (instance_id(row, 2)?, row.get(3)?);
                state.counters.note_seen(&author, counter);
                let user = row.get_ref(1)?.as_str()?;
                if user.is_empty() || user == scope.user.as_str() {
                    state.seen.note_seen(&author, counter);
                }
            }
        }
    }
    Ok(state)
}

/// The id of this database; an invalid one is replaced.
fn own_id(row: &Row<'_>, column: usize) -> Result<InstanceId> {
    Ok(row.get_ref(column)?.as_str()?.parse().unwrap_or_else(|_| InstanceId::made_safe("")))
}

pub(super) fn revision(connection: &Connection, scope: &Scope) -> Result<i64> {
    let found = connection
        .prepare_cached("SELECT revision FROM hub_revisions WHERE persona_id = ?1")?
        .query_row([scope.persona.as_str()], |row| row.get(0))
        .optional()?;
    Ok(found.unwrap_or(0))
}

/// Increments the revision and returns it.
pub(super) fn raise_revision(connection: &Connection, scope: &Scope) -> Result<i64> {
    connection
        .prepare_cached(
            "INSERT INTO hub_revisions (persona_id, revision) VALUES (?1, 1)
             ON CONFLICT (persona_id) DO UPDATE SET revision = hub_revisions.revision + 1 RETURNING revision",
        )?
        .query_row([scope.persona.as_str()], |row| row.get(0))
}

/// Records that the changes of a version were received.
pub(super) fn note_seen(
    connection: &Connection,
    scope: &Scope,
    name: &DocumentName,
    vector: &VersionVector,
) -> Result<()> {
    for (author, counter) in vector.iter() {
        note_author(connection, scope, owner(scope, name), author, counter)?;
    }
    Ok(())
}

/// Records that the changes of an author were received up to this one.
pub(super) fn note_author(
    connection: &Connection,
    scope: &Scope,
    user: &str,
    author: &InstanceId,
    counter: u64,
) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO hub_seen (persona_id, user_id, author, counter) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (persona_id, user_id, author) DO UPDATE SET counter = max(hub_seen.counter, excluded.counter)",
        )?
        .execute(params![scope.persona.as_str(), user, author.as_str(), counter.cast_signed()])?;
    Ok(())
}

/// The hub's own instance.
pub(super) fn own_instance(connection: &Connection) -> Result<Option<InstanceId>> {
    connection
        .prepare_cached("SELECT id FROM hub_own_instance")?
        .query_row([], |row| instance_id(row, 0))
        .optional()
}

/// The author of this database's own changes.
pub(super) fn own_author(connection: &Connection) -> Result<InstanceId> {
    let found = connection
        .prepare_cached("SELECT CASE author WHEN '' THEN id ELSE author END FROM hub_own_instance")?
        .query_row([], |row| own_id(row, 0))
        .optional()?;
    Ok(found.unwrap_or_else(|| InstanceId::made_safe("")))
}

/// Sets the author of this database's own changes from now on.
pub(super) fn set_author(connection: &Connection, author: &InstanceId) -> Result<()> {
    connection.prepare_cached("UPDATE hub_own_instance SET author = ?1")?.execute([author.as_str()])?;
    Ok(())
}

/// The next counter of this database's own changes.
pub(super) fn next_own_change(connection: &Connection, scope: &Scope) -> Result<(InstanceId, u64)> {
    let own = own_author(connection)?;
    let counter: Option<u64> = connection
        .prepare_cached("SELECT max(counter) FROM hub_seen WHERE persona_id = ?1 AND author = ?2")?
        .query_row([scope.persona.as_str(), own.as_str()], |row| row.get(0))?;
    Ok((own, counter.unwrap_or(0) + 1))
}

pub(super) fn instances(connection: &Connection, scope: &Scope) -> Result<Vec<Instance>> {
    connection
        .prepare_cached(
            "SELECT id, kind, name, last_sync, base, sent FROM hub_instances
             WHERE persona_id = ?1 AND user_id = ?2 ORDER BY id",
        )?
        .query_map([scope.persona.as_str(), scope.user.as_str()], |row| {
            Ok(Instance {
                id: instance_id(row, 0)?,
                kind: row.get(1)?,
                name: row.get(2)?,
                last_sync: rows::time(row, 3)?,
                base: rows::read_json(row, 4)?,
                sent: rows::read_json(row, 5)?,
            })
        })?
        .collect()
}

pub(super) fn write_instance(connection: &Connection, scope: &Scope, instance: &Instance) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO hub_instances (persona_id, user_id, id, kind, name, last_sync, base, sent)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT (persona_id, user_id, id) DO UPDATE SET kind = excluded.kind,
                 name = coalesce(excluded.name, hub_instances.name), last_sync = excluded.last_sync, base = excluded.base,
                 sent = excluded.sent",
        )?
        .execute(params![
            scope.persona.as_str(),
            scope.user.as_str(),
            instance.id.as_str(),
            instance.kind,
            instance.name,
            microseconds(instance.last_sync),
            to_json(&instance.base)?,
            to_json(&instance.sent)?,
        ])?;
    Ok(())
}

/// Scopes that have memories or messages. Called after each change: it looks for one document of each scope, not for
/// all.
pub(super) fn scopes(connection: &Connection) -> Result<Vec<Scope>> {
    connection
        .prepare_cached(
            "SELECT p.id, u.id FROM personas p CROSS JOIN users u
             WHERE EXISTS (SELECT 1 FROM hub_documents d WHERE d.persona_id = p.id AND d.user_id = u.id)
             UNION SELECT persona_id, user_id FROM scopes ORDER BY 1, 2",
        )?
        .query_map([], |row| rows::scope(row, 0))?
        .collect()
}

pub(super) fn instance_id(row: &Row<'_>, column: usize) -> Result<InstanceId> {
    let text: String = row.get(column)?;
    text.parse().map_err(|error: hub::names::InvalidName| rows::unreadable_column(column, error))
}
