//! Edges: create, get, change, delete.

use memory::Scope;
use memory::ports::StoreError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::ports::{EdgeChange, EdgeEnd, GraphEdge, GraphWrite, NewGraphEdge};
use super::responses::{Deleted, EdgeResponse, EdgesResponse};
use super::service::Graph;
use super::{LABEL_LENGTH_MAX, PROSE_LENGTH_MAX, check_length, parse_time_field, properties_fit};

fn default_weight() -> f64 {
    0.5
}

/// Arguments of the tool `graph_edge_create`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EdgeCreate {
    /// The id of the node that the edge leaves.
    pub from_id: String,
    /// The id of the node that the edge reaches.
    pub to_id: String,
    /// The fields of the edge.
    #[serde(flatten)]
    pub edge: EdgeText,
    /// The instance that writes.
    pub instance_id: String,
}

/// Fields of an edge that is written, alone or in a transaction.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EdgeText {
    /// The type of the relation.
    #[serde(rename = "type")]
    pub edge_type: String,
    /// Properties defined by the client.
    #[serde(default)]
    pub properties: Map<String, Value>,
    /// The strength of the relation, from 0 to 1.
    #[serde(default = "default_weight")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub weight: f64,
    /// The evidence of the relation.
    #[serde(default)]
    pub evidence: Option<String>,
    /// The memory that the edge depends on.
    #[serde(default)]
    pub source_memory_id: Option<String>,
    /// Time at which the fact happened.
    #[serde(default)]
    pub occurred_at: Option<String>,
    /// Time until which the fact holds.
    #[serde(default)]
    pub valid_until: Option<String>,
}

/// Arguments of the tool `graph_edge_get`. Without a filter: all edges.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EdgeGet {
    /// The id of one edge.
    #[serde(default)]
    pub id: Option<String>,
    /// The node at which the edges begin.
    #[serde(default)]
    pub from_id: Option<String>,
    /// The node at which the edges end.
    #[serde(default)]
    pub to_id: Option<String>,
    /// The type of the edges.
    #[serde(default, rename = "type")]
    pub edge_type: Option<String>,
    /// Include softly deleted edges.
    #[serde(default)]
    pub include_deleted: bool,
    /// Set to true for edges that are currently valid.
    #[serde(default)]
    pub only_valid: bool,
}

/// Arguments of the tool `graph_edge_update`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EdgeUpdate {
    /// The id of the edge.
    pub id: String,
    /// The new type of the relation.
    #[serde(default, rename = "type")]
    pub edge_type: Option<String>,
    /// All properties of the edge; they replace the former ones.
    #[serde(default)]
    pub properties: Option<Map<String, Value>>,
    /// The new strength, from 0 to 1.
    #[serde(default)]
    pub weight: Option<f64>,
    /// The new evidence of the relation.
    #[serde(default)]
    pub evidence: Option<String>,
    /// Time until which the fact holds.
    #[serde(default)]
    pub valid_until: Option<String>,
    /// Time at which the edge was last confirmed.
    #[serde(default)]
    pub last_confirmed_at: Option<String>,
    /// The instance that writes.
    pub instance_id: String,
}

impl Graph {
    /// Writes an edge between two existing nodes.
    pub async fn create_edge(&self, scope: &Scope, asked: EdgeCreate) -> Result<EdgeResponse, StoreError> {
        let end = |id: &str| Uuid::parse_str(id).map_or(EdgeEnd::Label(id.to_owned()), EdgeEnd::Id);
        let (from, to) = (end(&asked.from_id), end(&asked.to_id));
        for (id, end) in [(&asked.from_id, &from), (&asked.to_id, &to)] {
            if matches!(end, EdgeEnd::Label(_)) {
                return Ok(EdgeResponse::refused(super::nodes::not_found(id)));
            }
        }
        let instance = asked.instance_id;
        let edge = match self.new_edge(asked.edge, from, to) {
            Ok(edge) => edge,
            Err(reason) => return Ok(EdgeResponse::refused(reason)),
        };
        let write = GraphWrite { nodes: Vec::new(), edges: vec![edge], instance, at: self.clock.now() };
        let written = self.store.write_graph(scope, write).await?;
        if let Some(unresolved) = written.unresolved.first() {
            return Ok(EdgeResponse::refused(super::nodes::not_found(&unresolved.missing.join(", "))));
        }
        Ok(match written.edges.into_iter().next() {
            Some(edge) => {
                let happened =
                    if edge.is_new { "Edge created" } else { "Edge already exists, and is confirmed" };
                let message = format!("{happened}: {}", edge.value.edge_type);
                EdgeResponse::from_edge(edge.value, message)
            }
            None => EdgeResponse::refused("the edge was not written"),
        })
    }

    /// Edges by id, ends and type.
    pub async fn edges(&self, scope: &Scope, asked: EdgeGet) -> Result<EdgesResponse, StoreError> {
        let now = self.clock.now();
        let parsed = |id: &Option<String>| id.as_deref().map(|id| Uuid::parse_str(id).unwrap_or_default());
        let (id, from, to) = (parsed(&asked.id), parsed(&asked.from_id), parsed(&asked.to_id));
        let ends: Vec<Uuid> = from.into_iter().chain(to).collect();
        let mut edges = match ends.as_slice() {
            [] => self.store.graph_edges(scope).await?,
            ends => self.store.graph_edges_at(scope, ends).await?,
        };
        let wanted = |edge: &GraphEdge| {
            id.is_none_or(|id| edge.id == id)
                && from.is_none_or(|from| edge.from_id == from)
                && to.is_none_or(|to| edge.to_id == to)
                && asked.edge_type.as_ref().is_none_or(|wanted| *wanted == edge.edge_type)
                && (asked.include_deleted || !edge.deleted)
                && (!asked.only_valid || edge.valid_until.is_none_or(|until| now < until))
        };
        edges.retain(wanted);
        Ok(EdgesResponse { edges })
    }

    pub async fn update_edge(&self, scope: &Scope, asked: EdgeUpdate) -> Result<EdgeResponse, StoreError> {
        let missing = || {
            EdgeResponse::refused(format!(
                "Edge not found: {} (or another edge of this type already connects the same nodes)",
                asked.id
            ))
        };
        let Ok(id) = Uuid::parse_str(&asked.id) else { return Ok(missing()) };
        let change = match edge_change(&asked) {
            Ok(change) => change,
            Err(reason) => return Ok(EdgeResponse::refused(reason)),
        };
        let changed = self.store.change_graph_edge(scope, id, change, self.clock.now()).await?;
        Ok(changed.map_or_else(missing, |edge| {
            let message = format!("Edge updated: {}", edge.id);
            EdgeResponse::from_edge(edge, message)
        }))
    }

    /// Deletes an edge softly.
    pub async fn delete_edge(&self, scope: &Scope, id: &str) -> Result<Deleted, StoreError> {
        let gone = match Uuid::parse_str(id) {
            Ok(id) => self.store.delete_graph_edge(scope, id, self.clock.now()).await?,
            Err(_) => false,
        };
        Ok(if gone {
            Deleted { success: true, message: format!("Edge deleted: {id}") }
        } else {
            Deleted { success: false, message: format!("Edge not found: {id}") }
        })
    }

    pub(super) fn new_edge(
        &self,
        asked: EdgeText,
        from: EdgeEnd,
        to: EdgeEnd,
    ) -> Result<NewGraphEdge, String> {
        check_length("evidence", asked.evidence.as_deref().unwrap_or_default(), PROSE_LENGTH_MAX)?;
        properties_fit(&asked.properties)?;
        Ok(NewGraphEdge {
            id: self.ids.next(self.clock.now()),
            from,
            to,
            edge_type: checked_type(&asked.edge_type)?,
            properties: asked.properties,
            weight: asked.weight.clamp(0.0, 1.0),
            evidence: asked.evidence.filter(|text| !text.trim().is_empty()),
            source_memory_id: asked.source_memory_id,
            occurred_at: parse_time_field("occurredAt", asked.occurred_at.as_deref())?,
            valid_until: parse_time_field("validUntil", asked.valid_until.as_deref())?,
        })
    }
}

fn edge_change(asked: &EdgeUpdate) -> Result<EdgeChange, String> {
    check_length("evidence", asked.evidence.as_deref().unwrap_or_default(), PROSE_LENGTH_MAX)?;
    asked.properties.as_ref().map_or(Ok(()), properties_fit)?;
    Ok(EdgeChange {
        edge_type: asked.edge_type.as_deref().map(checked_type).transpose()?,
        properties: asked.properties.clone(),
        weight: asked.weight.map(|weight| weight.clamp(0.0, 1.0)),
        evidence: asked.evidence.clone(),
        valid_until: parse_time_field("validUntil", asked.valid_until.as_deref())?,
        last_confirmed_at: parse_time_field("lastConfirmedAt", asked.last_confirmed_at.as_deref())?,
    })
}

fn checked_type(edge_type: &str) -> Result<String, String> {
    let edge_type = edge_type.trim();
    if edge_type.is_empty() {
        return Err("type is blank; nothing was written".to_owned());
    }
    check_length("type", edge_type, LABEL_LENGTH_MAX)?;
    Ok(edge_type.to_owned())
}
