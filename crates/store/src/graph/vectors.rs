//! Vectors of nodes; those of entities are stored with the entities.

use hub::graph::UnembeddedNode;
use memory::ports::Embedding;
use uuid::Uuid;

use crate::engine::sql::{Connection, Result, params};
use crate::entities::entity_vectors;
use crate::index::vectors;
use crate::rows;

/// All vectors of this model in the scope.
pub(super) fn vectors_of_scope(
    connection: &Connection,
    scope: i64,
    fingerprint: &str,
) -> Result<Vec<(Uuid, Embedding)>> {
    let entities = entity_vectors::vectors_of_scope(connection, scope, fingerprint)?;
    let mut found: Vec<(Uuid, Embedding)> =
        entities.into_iter().map(|vector| (vector.entity_id.0, vector.embedding)).collect();
    let Some(model) = vectors::model(connection, fingerprint)? else { return Ok(found) };
    let mut statement = connection.prepare_cached(
        "SELECT id, readability, vector FROM graph_nodes
         WHERE scope = ?1 AND embedding_model = ?2 AND deleted_at IS NULL AND vector IS NOT NULL",
    )?;
    let own = statement.query_map(params![scope, model], |row| {
        let vector = vectors::from_bytes(row.get_ref(2)?.as_blob()?);
        Ok((rows::read_uuid(row, 0)?, Embedding { vector, readability: row.get(1)? }))
    })?;
    for vector in own {
        found.push(vector?);
    }
    Ok(found)
}

/// Nodes other than entities without a vector of this model.
pub(super) fn nodes_without_vector(
    connection: &Connection,
    scope: i64,
    fingerprint: &str,
    limit: u32,
) -> Result<Vec<UnembeddedNode>> {
    let model = vectors::model(connection, fingerprint)?;
    connection
        .prepare_cached(
            "SELECT id, label, description FROM graph_nodes
             WHERE scope = ?1 AND entity_id IS NULL AND deleted_at IS NULL
               AND (embedding_model IS NULL OR embedding_model IS NOT ?2)
             LIMIT ?3",
        )?
        .query_map(params![scope, model, limit], |row| {
            Ok(UnembeddedNode { id: rows::read_uuid(row, 0)?, label: row.get(1)?, description: row.get(2)? })
        })?
        .collect()
}

/// Writes vectors of texts that have not changed.
pub(super) fn write_vectors(
    connection: &Connection,
    fingerprint: &str,
    vectors: &[(UnembeddedNode, Embedding)],
) -> Result<()> {
    let model = vectors::model_or_new(connection, fingerprint)?;
    let mut statement = connection.prepare_cached(
        "UPDATE graph_nodes SET embedding_model = ?2, readability = ?3, vector = ?4
         WHERE id = ?1 AND label = ?5 AND description = ?6",
    )?;
    for (node, embedding) in vectors {
        statement.execute(params![
            node.id.into_bytes(),
            model,
            embedding.readability,
            vectors::to_bytes(&embedding.vector),
            node.label,
            node.description,
        ])?;
    }
    Ok(())
}

pub(super) fn clear(connection: &Connection, scope: i64) -> Result<u64> {
    let cleared = connection
        .prepare_cached(
            "UPDATE graph_nodes SET embedding_model = NULL, readability = NULL, vector = NULL
             WHERE scope = ?1 AND vector IS NOT NULL",
        )?
        .execute([scope])?;
    Ok(cleared as u64)
}
