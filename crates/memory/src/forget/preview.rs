//! Preview of a deletion: the rows that depend on a node.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::{ForgetMode, ForgetRequest, ForgetSummary, Selection};
use crate::identifiers::{NodeId, SessionId};
use crate::nodes::{Evidence, NodeKind};
use crate::ports::{ForgetStore, StoreError};
use crate::scope::Scope;

/// A node that depends on another, or that another depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Dependent {
    /// The id of the node.
    pub id: NodeId,
    /// The kind of the node.
    pub kind: NodeKind,
    /// The text of the node.
    pub description: String,
    /// Time at which the dependent memory was written.
    pub created_at: Timestamp,
    /// The session that the node was extracted from.
    pub source_session_id: Option<SessionId>,
}

/// A node with the memories that it depends on and those that depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependents {
    pub scope: Scope,
    pub node: Dependent,
    /// Thoughts, intentions and expectations that cite the node, the newest first.
    pub resting_on_it: Vec<Dependent>,
    /// Events that the node cites, the newest first.
    pub rests_on: Vec<Dependent>,
    /// Cited events that were forgotten.
    pub orphaned: Vec<NodeId>,
    pub evidence: Vec<Evidence>,
    /// Nodes that this node replaced.
    pub replaced: Vec<NodeId>,
}

impl Dependents {
    /// Previews the deletion of the node.
    pub async fn preview_deletion(
        &self,
        store: &dyn ForgetStore,
        thoughts: ForgetMode,
        at: Timestamp,
    ) -> Result<ForgetSummary, StoreError> {
        let selection = Selection { nodes: [self.node.id].into(), ..Selection::default() };
        let act = ForgetRequest { scope: self.scope.clone(), selection, thoughts, at };
        store.preview_forgetting(act).await
    }
}
