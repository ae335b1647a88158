//! Nodes: create, get, change, delete, list.

use memory::Scope;
use memory::ports::StoreError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::ports::{GraphWrite, NewGraphNode, NodeChange, NodeDeleteOutcome, NodeUpdateOutcome};
use super::responses::{Deleted, NodeListResponse, NodeResponse};
use super::service::Graph;
use super::{LABEL_LENGTH_MAX, PROSE_LENGTH_MAX, check_length, parse_time_field, properties_fit};

/// Number of nodes in one page of a list. A longer one would fill an agent's context.
const LIST_LIMIT: usize = 100;

fn default_weight() -> f64 {
    0.5
}

/// Arguments of the tool `graph_node_create`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeCreate {
    /// The fields of the node.
    #[serde(flatten)]
    pub node: NodeText,
    /// The instance that writes.
    pub instance_id: String,
}

/// Fields of a node that is written, alone or in a transaction.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeText {
    /// The type of the node.
    #[serde(rename = "type")]
    #[schemars(length(min = 1))]
    pub node_type: String,
    /// The name of the node.
    #[schemars(length(min = 1))]
    pub label: String,
    /// A description of the node, in prose.
    #[serde(default)]
    pub description: Option<String>,
    /// Properties defined by the client.
    #[serde(default)]
    pub properties: Map<String, Value>,
    /// The certainty of the node, from 0 to 1.
    #[serde(default = "default_weight")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub confidence: f64,
    /// The memory that the node depends on.
    #[serde(default)]
    pub source_memory_id: Option<String>,
    /// Time at which the node became known.
    #[serde(default)]
    pub first_learned_at: Option<String>,
    /// A vector computed by the client. Its size is checked, but the node is embedded by our own model.
    #[serde(default)]
    pub embedding: Option<Vec<f32>>,
}

/// Arguments of the tool `graph_node_update`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeUpdate {
    /// The id of the node.
    pub id: String,
    /// The new type of the node.
    #[serde(default, rename = "type")]
    pub node_type: Option<String>,
    /// The new name of the node.
    #[serde(default)]
    pub label: Option<String>,
    /// The new description, in prose.
    #[serde(default)]
    pub description: Option<String>,
    /// All properties of the node; they replace the former ones.
    #[serde(default)]
    pub properties: Option<Map<String, Value>>,
    /// The new certainty, from 0 to 1.
    #[serde(default)]
    pub confidence: Option<f64>,
    /// Time at which the node was last confirmed.
    #[serde(default)]
    pub last_confirmed_at: Option<String>,
    /// The vector, as in [`NodeText`].
    #[serde(default)]
    pub embedding: Option<Vec<f32>>,
    /// The instance that writes.
    pub instance_id: String,
}

/// Arguments of the tool `graph_node_delete`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct NodeDelete {
    /// The id of the node.
    pub id: String,
    /// True to delete the node for good, not softly.
    #[serde(default)]
    pub permanent: bool,
}

/// Arguments of the tool `graph_node_list`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeList {
    /// Lists nodes of this type only.
    #[serde(default, rename = "type")]
    pub node_type: Option<String>,
    /// Include softly deleted nodes.
    #[serde(default)]
    pub include_deleted: bool,
    /// Maximum number of nodes.
    #[schemars(range(min = 1, max = 500), extend("default" = LIST_LIMIT))]
    pub limit: Option<usize>,
    /// Number of nodes to skip.
    #[serde(default)]
    pub offset: usize,
}

impl Graph {
    /// Writes a node. If one of the same type and label exists, it is returned, and the memory that this one depends
    /// on is added to it.
    pub async fn create_node(&self, scope: &Scope, asked: NodeCreate) -> Result<NodeResponse, StoreError> {
        let node = match self.new_node(asked.node) {
            Ok(node) => node,
            Err(reason) => return Ok(NodeResponse::refused(reason)),
        };
        let write = GraphWrite {
            nodes: vec![node],
            edges: Vec::new(),
            instance: asked.instance_id,
            at: self.clock.now(),
        };
        let written = self.store.write_graph(scope, write).await?;
        let Some(written) = written.nodes.into_iter().next() else {
            return Ok(NodeResponse::refused("the node was not written"));
        };
        if written.is_new {
            self.embed_written(scope, std::slice::from_ref(&written.value)).await?;
        }
        let happened = if written.is_new { "Node created" } else { "Node already exists" };
        let message = format!("{happened}: {} ({})", written.value.label, written.value.node_type);
        Ok(NodeResponse::from_node(written.value, message))
    }

    /// Returns a node that exists and is not deleted.
    pub async fn live_node(&self, scope: &Scope, id: &str) -> Result<NodeResponse, StoreError> {
        let mut found = match Uuid::parse_str(id) {
            Ok(id) => self.store.graph_nodes_of(scope, &[id]).await?.into_iter().find(|node| !node.deleted),
            Err(_) => None,
        };
        self.set_outdated_values(scope, found.iter_mut()).await?;
        Ok(match found {
            Some(node) => NodeResponse { success: true, message: None, node: Some(node) },
            None => NodeResponse::refused(not_found(id)),
        })
    }

    pub async fn update_node(&self, scope: &Scope, asked: NodeUpdate) -> Result<NodeResponse, StoreError> {
        let Ok(id) = Uuid::parse_str(&asked.id) else {
            return Ok(NodeResponse::refused(not_found(&asked.id)));
        };
        let change = match self.node_change(&asked) {
            Ok(change) => change,
            Err(reason) => return Ok(NodeResponse::refused(reason)),
        };
        Ok(match self.store.change_graph_node(scope, id, change, self.clock.now()).await? {
            NodeUpdateOutcome::Changed(node) => {
                self.embed_written(scope, std::slice::from_ref(&node)).await?;
                let message = format!("Node updated: {}", node.label);
                NodeResponse::from_node(*node, message)
            }
            NodeUpdateOutcome::NotThere => NodeResponse::refused(not_found(&asked.id)),
            NodeUpdateOutcome::LabelTaken(other) => NodeResponse::refused(format!(
                "Another {} is named {:?} (id {}); nothing was changed. If both are the same, merge the \
                    entities",
                other.node_type, other.label, other.id
            )),
            NodeUpdateOutcome::DescribedByPerson => NodeResponse::refused(
                "This description was written by a person, and only a person can overwrite it; nothing was \
                    changed",
            ),
            NodeUpdateOutcome::TypeIsFixed => NodeResponse::refused(
                "The type of an entity (person, place, org, pet, other) can't be changed, and no other node \
                    can become one; nothing was changed. Create a node of the other type instead",
            ),
        })
    }

    /// Deletes a node and its edges.
    pub async fn delete_node(&self, scope: &Scope, asked: NodeDelete) -> Result<Deleted, StoreError> {
        let gone = match Uuid::parse_str(&asked.id) {
            Ok(id) => self.store.delete_graph_node(scope, id, asked.permanent, self.clock.now()).await?,
            Err(_) => NodeDeleteOutcome::NotThere,
        };
        Ok(match gone {
            NodeDeleteOutcome::Gone { edges } => {
                let how = if asked.permanent { " for good" } else { "" };
                let (id, edges) = (&asked.id, edges.to_string());
                Deleted { success: true, message: format!("Node deleted{how}: {id}, with {edges} edges") }
            }
            NodeDeleteOutcome::NotThere => Deleted { success: false, message: not_found(&asked.id) },
            NodeDeleteOutcome::SpokenOf { memories } => Deleted {
                success: false,
                message: format!(
                    "{memories} memories mention this entity, so it can't be deleted; nothing was deleted. \
                        To erase it with them, call forget_preview and then forget with its id as an entity"
                ),
            },
        })
    }

    /// Returns a page of nodes.
    pub async fn list_nodes(&self, scope: &Scope, asked: NodeList) -> Result<NodeListResponse, StoreError> {
        let mut nodes = self.store.graph_nodes(scope).await?;
        nodes.retain(|node| {
            (asked.include_deleted || !node.deleted)
                && asked.node_type.as_ref().is_none_or(|wanted| *wanted == node.node_type)
        });
        let total = nodes.len();
        let page = nodes.into_iter().skip(asked.offset).take(asked.limit.unwrap_or(LIST_LIMIT));
        let mut nodes: Vec<_> = page.collect();
        self.set_outdated_values(scope, nodes.iter_mut()).await?;
        Ok(NodeListResponse { nodes, total })
    }

    pub(super) fn new_node(&self, asked: NodeText) -> Result<NewGraphNode, String> {
        self.check_size(asked.embedding.as_deref())?;
        let label = checked_label(&asked.label)?;
        let description = asked.description.unwrap_or_default();
        check_length("description", &description, PROSE_LENGTH_MAX)?;
        properties_fit(&asked.properties)?;
        Ok(NewGraphNode {
            id: self.ids.next(self.clock.now()),
            node_type: checked_type(&asked.node_type)?,
            label,
            description,
            properties: asked.properties,
            confidence: asked.confidence.clamp(0.0, 1.0),
            source_memory_id: asked.source_memory_id,
            first_learned_at: parse_time_field("firstLearnedAt", asked.first_learned_at.as_deref())?,
        })
    }

    fn node_change(&self, asked: &NodeUpdate) -> Result<NodeChange, String> {
        self.check_size(asked.embedding.as_deref())?;
        check_length("description", asked.description.as_deref().unwrap_or_default(), PROSE_LENGTH_MAX)?;
        asked.properties.as_ref().map_or(Ok(()), properties_fit)?;
        Ok(NodeChange {
            node_type: asked.node_type.as_deref().map(checked_type).transpose()?,
            label: asked.label.as_deref().map(checked_label).transpose()?,
            description: asked.description.clone(),
            properties: asked.properties.clone(),
            confidence: asked.confidence.map(|confidence| confidence.clamp(0.0, 1.0)),
            last_confirmed_at: parse_time_field("lastConfirmedAt", asked.last_confirmed_at.as_deref())?,
        })
    }

    /// Checks the size of a client's vector. Another size means another model, which the client should learn before
    /// anything is written.
    pub(super) fn check_size(&self, embedding: Option<&[f32]>) -> Result<(), String> {
        let (Some(given), Some(ours)) =
            (embedding, self.embedder.as_ref().map(|model| model.dimension()).filter(|size| *size > 0))
        else {
            return Ok(());
        };
        if given.len() == ours {
            return Ok(());
        }
        Err(format!(
            "the embedding has {} components, but vectors here have {ours}; nothing was written. Leave it \
                out: nodes are embedded by the server",
            given.len()
        ))
    }
}

pub(super) fn not_found(id: &str) -> String {
    format!("Node not found: {id}")
}

pub(super) fn checked_label(label: &str) -> Result<String, String> {
    let label = label.split_whitespace().collect::<Vec<_>>().join(" ");
    if label.is_empty() {
        return Err("label is blank; nothing was written".to_owned());
    }
    check_length("label", &label, LABEL_LENGTH_MAX)?;
    Ok(label)
}

fn checked_type(node_type: &str) -> Result<String, String> {
    let node_type = node_type.trim();
    if node_type.is_empty() {
        return Err("type is blank; nothing was written".to_owned());
    }
    check_length("type", node_type, LABEL_LENGTH_MAX)?;
    Ok(match node_type {
        "organization" | "organisation" => "org".to_owned(),
        other => other.to_owned(),
    })
}
