//! The stored embedding models, and the change from one to another.

use async_trait::async_trait;
use memory::Scope;
use memory::identifiers::{MessageId, NodeId};
use memory::messages::Message;
use memory::nodes::Node;
use memory::ports::{Corpus, Embedding, EmbeddingModel, EmbeddingStore, StoreError, VectorCoverage};

use crate::engine::sql::{Connection, OptionalExtension, Result, params};
use crate::home_store::HomeStore;
use crate::index::vectors::{self, CorpusTables};
use crate::messages;
use crate::rows::{self, node_columns};

#[async_trait]
impl EmbeddingStore for HomeStore {
    async fn messages_without_vector(
        &self,
        fingerprint: &str,
        limit: u32,
    ) -> Result<Vec<Message>, StoreError> {
        let fingerprint = fingerprint.to_owned();
        self.read(move |connection| Ok(messages::without_vector(connection, &fingerprint, limit)?)).await
    }

    async fn put_message_vectors(
        &self,
        fingerprint: &str,
        embeddings: Vec<(MessageId, Embedding)>,
    ) -> Result<(), StoreError> {
        let fingerprint = fingerprint.to_owned();
        self.write(move |unit| {
            let model = vectors::model_or_new(unit.connection, &fingerprint)?;
            for (id, embedding) in &embeddings {
                if let Some(seq) = messages::number(unit.connection, *id)? {
                    vectors::write_vector(unit.connection, Corpus::Messages, seq, model, embedding)?;
                }
            }
            Ok(())
        })
        .await
    }

    async fn nodes_without_vector(&self, fingerprint: &str, limit: u32) -> Result<Vec<Node>, StoreError> {
        let fingerprint = fingerprint.to_owned();
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(concat!(
                "SELECT ",
                node_columns!(),
                " FROM concept_nodes n WHERE n.seq = ?1"
            ))?;
            let seqs = vectors::rows_without_vector(connection, Corpus::Nodes, &fingerprint, limit)?;
            let nodes = seqs.into_iter().map(|seq| statement.query_row([seq], rows::read_node));
            Ok(nodes.collect::<Result<_>>()?)
        })
        .await
    }

    async fn put_node_vectors(
        &self,
        fingerprint: &str,
        embeddings: Vec<(NodeId, Embedding)>,
    ) -> Result<(), StoreError> {
        let fingerprint = fingerprint.to_owned();
        self.write(move |unit| {
            let model = vectors::model_or_new(unit.connection, &fingerprint)?;
            let mut statement =
                unit.connection.prepare_cached("SELECT seq FROM concept_nodes WHERE id = ?1")?;
            for (id, embedding) in &embeddings {
                let seq: Option<i64> =
                    statement.query_row([id.0.into_bytes()], |row| row.get(0)).optional()?;
                if let Some(seq) = seq {
                    vectors::write_vector(unit.connection, Corpus::Nodes, seq, model, embedding)?;
                }
            }
            Ok(())
        })
        .await
    }

    async fn embedding_models(&self) -> Result<Vec<EmbeddingModel>, StoreError> {
        self.read_statement(|connection| Ok(list_models(connection)?)).await
    }

    async fn note_embedding_model(&self, fingerprint: &str, source: Option<&str>) -> Result<(), StoreError> {
        let (fingerprint, source) = (fingerprint.to_owned(), source.map(str::to_owned));
        self.write(move |unit| {
            let model = vectors::model_or_new(unit.connection, &fingerprint)?;
            unit.connection
                .prepare_cached("UPDATE embedding_models SET source = ?2 WHERE number = ?1")?
                .execute(params![model, source])?;
            Ok(())
        })
        .await
    }

    async fn vector_coverage(&self, fingerprint: &str) -> Result<VectorCoverage, StoreError> {
        let fingerprint = fingerprint.to_owned();
        self.read(move |connection| Ok(count_coverage(connection, &fingerprint)?)).await
    }

    async fn scopes_between_models(
        &self,
        fingerprint: &str,
        previous: &str,
    ) -> Result<Vec<Scope>, StoreError> {
        let (fingerprint, previous) = (fingerprint.to_owned(), previous.to_owned());
        self.read(move |connection| Ok(scopes_between(connection, &fingerprint, &previous)?)).await
    }

    async fn adopt_vectors(&self, fingerprint: &str, limit: u32) -> Result<u32, StoreError> {
        let fingerprint = fingerprint.to_owned();
        self.write(move |unit| Ok(adopt_vectors(unit.connection, &fingerprint, limit)?)).await
    }

    async fn remove_other_vectors(&self, fingerprint: &str, limit: u32) -> Result<u32, StoreError> {
        let fingerprint = fingerprint.to_owned();
        self.write(move |unit| Ok(remove_others(unit.connection, &fingerprint, limit)?)).await
    }
}

const CORPORA: [Corpus; 2] = [Corpus::Messages, Corpus::Nodes];

fn list_models(connection: &Connection) -> Result<Vec<EmbeddingModel>> {
    // By scope, because vectors are indexed by scope.
    connection
        .prepare_cached(
            "SELECT fingerprint, source,
                    (SELECT count(*) FROM message_vectors v
                     WHERE v.scope IN (SELECT number FROM scopes) AND v.embedding_model = m.number)
                  + (SELECT count(*) FROM node_vectors v
                     WHERE v.scope IN (SELECT number FROM scopes) AND v.embedding_model = m.number)
             FROM embedding_models m ORDER BY number",
        )?
        .query_map([], |row| {
            Ok(EmbeddingModel { fingerprint: row.get(0)?, source: row.get(1)?, vectors: row.get(2)? })
        })?
        .collect()
}

fn count_coverage(connection: &Connection, fingerprint: &str) -> Result<VectorCoverage> {
    let rows: u64 = connection
        .prepare_cached("SELECT coalesce(sum(message_count + node_count), 0) FROM scopes")?
        .query_row([], |row| row.get(0))?;
    let Some(model) = vectors::model(connection, fingerprint)? else {
        return Ok(VectorCoverage { rows, with_vector: 0 });
    };
    let with_vector = connection
        .prepare_cached(
            "SELECT (SELECT count(*) FROM recall_messages WHERE embedding_model = ?1 AND deleted_at IS NULL)
                  + (SELECT count(*) FROM concept_nodes WHERE embedding_model = ?1 AND deleted_at IS NULL)",
        )?
        .query_row([model], |row| row.get(0))?;
    Ok(VectorCoverage { rows, with_vector })
}

/// Query for rows whose last vector is of the previous model, so that they have none of the new one.
fn scopes_between(connection: &Connection, fingerprint: &str, previous: &str) -> Result<Vec<Scope>> {
    let Some(previous) = vectors::model(connection, previous)?.filter(|_| fingerprint != previous) else {
        return Ok(Vec::new());
    };
    connection
        .prepare_cached(
            "SELECT persona_id, user_id FROM scopes WHERE number IN (
                 SELECT scope FROM recall_messages WHERE embedding_model = ?1 AND deleted_at IS NULL
                 UNION SELECT scope FROM concept_nodes WHERE embedding_model = ?1 AND deleted_at IS NULL
             ) ORDER BY number",
        )?
        .query_map([previous], |row| rows::scope(row, 0))?
        .collect()
}

fn adopt_vectors(connection: &Connection, fingerprint: &str, limit: u32) -> Result<u32> {
    let Some(model) = vectors::model(connection, fingerprint)? else { return Ok(0) };
    let mut adopted = 0;
    for other in other_models(connection, fingerprint)? {
        for corpus in CORPORA {
            let CorpusTables { rows, vectors } = vectors::tables(corpus);
            let statement = format!(
                "UPDATE {rows} SET embedding_model = ?1 WHERE seq IN (
                     SELECT r.seq FROM {rows} r CROSS JOIN {vectors} v ON v.seq = r.seq AND v.embedding_model = ?1
                     WHERE r.embedding_model = ?2 AND r.deleted_at IS NULL LIMIT ?3)"
            );
            adopted += connection.prepare_cached(&statement)?.execute(params![model, other, limit])?;
        }
    }
    Ok(u32::try_from(adopted).unwrap_or(u32::MAX))
}

fn remove_others(connection: &Connection, fingerprint: &str, limit: u32) -> Result<u32> {
    let Some(model) = vectors::model(connection, fingerprint)? else { return Ok(0) };
    let mut removed = 0;
    for other in other_models(connection, fingerprint)? {
        for corpus in CORPORA {
            let CorpusTables { rows, vectors } = vectors::tables(corpus);
            let statement = format!(
                "DELETE FROM {vectors} WHERE revision IN (
                     SELECT v.revision FROM {vectors} v CROSS JOIN {rows} r ON r.seq = v.seq
                     WHERE v.scope IN (SELECT number FROM scopes) AND v.embedding_model = ?2
                       AND r.embedding_model = ?1 LIMIT ?3)"
            );
            removed += connection.prepare_cached(&statement)?.execute(params![model, other, limit])?;
        }
    }
    Ok(u32::try_from(removed).unwrap_or(u32::MAX))
}

fn other_models(connection: &Connection, fingerprint: &str) -> Result<Vec<i64>> {
    connection
        .prepare_cached("SELECT number FROM embedding_models WHERE fingerprint <> ?1")?
        .query_map([fingerprint], |row| row.get(0))?
        .collect()
}
