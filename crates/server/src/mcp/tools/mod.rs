//! The tools by topic. Names and fields are those of existing clients of the hub.

mod identity;
mod memories;
mod sync;
mod snapshots;
mod graph;
mod archive;
mod conflicts;
mod corrections;
mod recall;
mod forgetting;

use std::sync::OnceLock;

use super::tool::Tool;

/// All tools, in the order in which they are listed.
pub(super) fn list_tools() -> &'static [Tool] {
    static TOOLS: OnceLock<Vec<Tool>> = OnceLock::new();
    TOOLS.get_or_init(|| {
        [
            identity::tools(),
            memories::tools(),
            sync::tools(),
            snapshots::tools(),
            graph::tools(),
            archive::tools(),
            conflicts::tools(),
            recall::tools(),
            corrections::tools(),
            forgetting::tools(),
        ]
        .into_iter()
        .flatten()
        .collect()
    })
}

/// Names of the tools that may be called again after a connection broke.
pub fn names_that_may_be_repeated() -> Vec<&'static str> {
    list_tools().iter().filter(|tool| tool.effect.may_be_repeated()).map(|tool| tool.name).collect()
}

/// Declares a tool that calls the hub's method of the same name.
macro_rules! of_hub {
    ($method:ident, $effect:ident, $input:ty, $description:literal) => {
        $crate::mcp::tool::tool(
            stringify!($method),
            $crate::mcp::tool::Effect::$effect,
            $description,
            |context: std::sync::Arc<$crate::mcp::ToolContext>, caller: hub::Caller, input: $input| async move {
                context.hub.$method(&caller, input).await
            },
        )
    };
    ($method:ident, $effect:ident, $description:literal) => {
        $crate::mcp::tool::tool(
            stringify!($method),
            $crate::mcp::tool::Effect::$effect,
            $description,
            |context: std::sync::Arc<$crate::mcp::ToolContext>,
             caller: hub::Caller,
             _: $crate::mcp::tool::NoArgs| async move { context.hub.$method(&caller).await },
        )
    };
}
use of_hub;
