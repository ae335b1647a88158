//! Vectors of entities: few per scope, read at once.

use memory::identifiers::EntityId;
use memory::ports::{Embedding, EntityVector, UnembeddedEntity};

use crate::engine::sql::{Connection, Result, Row, params};
use crate::entities::entity_queries;
use crate::index::vectors;
use crate::rows;

/// Writes the vector of an entity, replacing an earlier one.
pub(crate) fn write_vector(
    connection: &Connection,
    id: EntityId,
    model: i64,
    embedding: &Embedding,
) -> Result<()> {
    let id = id.0.into_bytes();
    connection
        .prepare_cached("UPDATE entities SET embedding_model = ?2 WHERE id = ?1")?
        .execute(params![id, model])?;
    connection
        .prepare_cached(
            "INSERT INTO entity_vectors (entity_id, scope, embedding_model, readability, vector)
             SELECT id, scope, ?2, ?3, ?4 FROM entities WHERE id = ?1
             ON CONFLICT (entity_id) DO UPDATE SET scope = excluded.scope, embedding_model = excluded.embedding_model,
                 readability = excluded.readability, vector = excluded.vector",
        )?
        .execute(params![id, model, embedding.readability, vectors::to_bytes(&embedding.vector)])?;
    Ok(())
}

/// Removes the vector if its text has changed.
pub(crate) fn clear(connection: &Connection, id: EntityId) -> Result<()> {
    let id = id.0.into_bytes();
    connection.prepare_cached("UPDATE entities SET embedding_model = NULL WHERE id = ?1")?.execute([id])?;
    connection.prepare_cached("DELETE FROM entity_vectors WHERE entity_id = ?1")?.execute([id])?;
    Ok(())
}

/// Writes vectors of texts that have not changed.
pub(crate) fn write_vectors(
    connection: &Connection,
    fingerprint: &str,
    vectors: &[(UnembeddedEntity, Embedding)],
) -> Result<()> {
    let model = vectors::model_or_new(connection, fingerprint)?;
    let mut current = connection.prepare_cached(
        "SELECT 1 FROM entities WHERE id = ?1 AND canonical_name = ?2 AND description IS ?3",
    )?;
    for (entity, embedding) in vectors {
        let key = params![entity.id.0.into_bytes(), entity.canonical_name, entity.description];
        if current.exists(key)? {
            write_vector(connection, entity.id, model, embedding)?;
        }
    }
    Ok(())
}

/// All vectors of the scope, by the entities that they are part of.
pub(crate) fn vectors_of_scope(
    connection: &Connection,
    scope: i64,
    fingerprint: &str,
) -> Result<Vec<EntityVector>> {
    let Some(model) = vectors::model(connection, fingerprint)? else { return Ok(Vec::new()) };
    let mut statement = connection.prepare_cached(
        "SELECT entity_id, readability, vector FROM entity_vectors
         WHERE scope = ?1 AND embedding_model = ?2 ORDER BY rowid",
    )?;
    let read = |row: &Row<'_>| {
        let vector = vectors::from_bytes(row.get_ref(2)?.as_blob()?);
        Ok((EntityId(rows::read_uuid(row, 0)?), Embedding { vector, readability: row.get(1)? }))
    };
    let mut found = Vec::new();
    for row in statement.query_map(params![scope, model], read)? {
        let (id, embedding) = row?;
        let root = entity_queries::merged_into(connection, scope, id)?;
        found.extend(root.map(|entity_id| EntityVector { entity_id, embedding }));
    }
    Ok(found)
}

/// Entities without a vector of this model, including those with vectors of other models.
pub(crate) fn entities_without_vector(
    connection: &Connection,
    fingerprint: &str,
    limit: u32,
) -> Result<Vec<UnembeddedEntity>> {
    let others = vectors::other_models(connection, fingerprint)?;
    let mut statement = connection.prepare_cached(
        "SELECT id, canonical_name, description FROM entities WHERE embedding_model IS ?1 LIMIT ?2",
    )?;
    let mut found = Vec::new();
    for model in others {
        let rows = statement.query_map(params![model, limit], |row| {
            Ok(UnembeddedEntity {
                id: EntityId(rows::read_uuid(row, 0)?),
                canonical_name: row.get(1)?,
                description: row.get(2)?,
            })
        })?;
        for entity in rows {
            found.push(entity?);
        }
    }
    found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(found)
}
