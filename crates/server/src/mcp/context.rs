//! What the tools reach.

use std::sync::Arc;

use hub::graph::Graph;
use hub::{Hub, InstanceId};
use memory::ports::AccessStore;
use runtime::Runtime;

/// The dependencies of the tools. Cheap to clone.
#[derive(Clone)]
pub struct ToolContext {
    /// Documents: identity, memories, snapshots, sync.
    pub hub: Hub,
    /// People, places, topics and what joins them.
    pub graph: Graph,
    pub runtime: Runtime,
    pub access: Arc<dyn AccessStore>,
}

impl ToolContext {
    /// The instance that this hub is: as it speaks whoever names no other.
    pub fn instance(&self) -> InstanceId {
        self.hub.instance_id()
    }
}
