//! The dependencies of the MCP tools.

use std::sync::Arc;

use hub::graph::Graph;
use hub::{Hub, InstanceId};
use memory::ports::AccessStore;
use runtime::Runtime;

/// The dependencies of the MCP tools. Cheap to clone.
#[derive(Clone)]
pub struct ToolContext {
    /// Documents: identity, memories, snapshots, sync.
    pub hub: Hub,
    /// The graph of people, places and topics.
    pub graph: Graph,
    pub runtime: Runtime,
    pub access: Arc<dyn AccessStore>,
}

impl ToolContext {
    /// The hub's own instance, which is used if a caller names none.
    pub fn instance(&self) -> InstanceId {
        self.hub.instance_id()
    }
}
