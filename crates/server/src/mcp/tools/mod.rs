//! The tools, by what they are about. Names and fields are those that existing clients of the hub use.

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

use std::sync::LazyLock;

use super::tool::Tool;

static ALL: LazyLock<Vec<Tool>> = LazyLock::new(|| {
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
});

/// All tools, in the order in which they are listed.
pub(super) fn all() -> &'static [Tool] {
    &ALL
}

/// Names of the tools that may be called again when it is not known whether a call was answered.
pub fn names_that_may_be_repeated() -> Vec<&'static str> {
    all().iter().filter(|tool| tool.effect.may_be_repeated()).map(|tool| tool.name).collect()
}

/// A tool of the hub's documents: the door's method of the same name.
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    #[test]
    fn every_tool_of_the_compatibility_list_is_there_once() {
        let names: Vec<&str> = all().iter().map(|tool| tool.name).collect();
        let once: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(names.len(), once.len());
        let count = |prefix: &str| names.iter().filter(|name| name.starts_with(prefix)).count();
        assert_eq!(count("identity_"), 9);
        assert_eq!(count("memory_") + count("embedding_"), 11);
        assert_eq!(count("sync_"), 3);
        assert_eq!(count("snapshot_"), 4);
        assert_eq!(count("graph_"), 15);
        assert_eq!(count("entity_"), 2);
        let living = [
            "recall",
            "remember",
            "correct",
            "correct_undo",
            "forget_preview",
            "forget",
            "conflict_list",
            "conflict_resolve",
        ];
        assert!(living.iter().all(|name| once.contains(name)));
        assert_eq!(names.len(), 52);
    }

    #[test]
    fn schemas_say_what_is_meant_where_nothing_is_said() {
        let field = |tool: &str, field: &str| {
            let found = all().iter().find(|known| known.name == tool).unwrap();
            found.schema["properties"][field].clone()
        };
        for (tool, name, default) in [
            ("memory_list", "limit", json!(20)),
            ("memory_list", "offset", json!(0)),
            ("memory_grep", "maxResults", json!(20)),
            ("graph_node_search", "minScore", json!(0.3)),
            ("graph_node_search", "limit", json!(10)),
            ("graph_node_list", "limit", json!(100)),
            ("graph_node_list", "offset", json!(0)),
            ("graph_node_create", "confidence", json!(0.5)),
            ("graph_edge_create", "weight", json!(0.5)),
            ("graph_traverse", "direction", json!("out")),
            ("graph_traverse", "maxDepth", json!(2)),
            ("graph_traverse", "limit", json!(50)),
            ("graph_subgraph", "depth", json!(2)),
        ] {
            assert_eq!(field(tool, name)["default"], default, "{tool} {name}");
        }
        for tool in ["graph_node_update", "graph_edge_update"] {
            assert_eq!(field(tool, "instanceId")["type"], "string", "{tool}");
        }
    }

    #[test]
    fn schemas_name_what_every_tool_takes_and_hold_no_references() {
        for tool in all() {
            let schema = serde_json::to_string(&*tool.schema).unwrap();
            assert!(schema.contains("persona_id") && schema.contains("user_id"), "{}", tool.name);
            assert!(!schema.contains("$ref") && !schema.contains("null"), "{}: {schema}", tool.name);
            assert_eq!(tool.schema["type"], "object", "{}", tool.name);
        }
    }
}
