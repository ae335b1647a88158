//! What is remembered: looking, correcting, forgetting.

use super::operation::{Operation, operation};
use crate::admin::{corrections, entities, erase, forget, nodes, recall, search, timeline};
use crate::cursor::PageQuery;

const TAG: &str = "memory";
const ENTITIES: &str = "entities";
const FORGETTING: &str = "forgetting";

/// A memory named beside another.
macro_rules! named {
    () => {
        "[{id: id, node_type: @NodeKind, description: text, created_at: time, source_session_id: id|null}]"
    };
}
const TRACE: &str = concat!(
    "{thought_id: id, source_events: ",
    named!(),
    ", source_sessions: [id], forgotten_event_ids: [id]}"
);
const DEPENDENTS: &str = concat!("{event_id: id, dependent_thoughts: ", named!(), "}");
const PREVIEW: &str = concat!(
    "{target_id: id, dependent_thought_ids: [id], dependent_thought_descriptions: [text], has_dependents: bool, \
     node_type: @NodeKind, description: text, created_at: time, source_session_id: id|null, evidence: [@Evidence], \
     rests_on: ",
    named!(),
    ", forgotten_event_ids: [id], replaced_ids: [id], would_take: {orphan?: @Taken, cascade?: @Taken}}"
);
const NODE_GONE: &str = "{deleted: bool, node_id: id, choice: 'orphan'|'cascade', taken: @Taken}";

pub(super) fn operations() -> Vec<Operation> {
    let mut operations = looking();
    operations.extend(correcting());
    operations.extend(entities());
    operations.extend(forgetting());
    operations
}

fn looking() -> Vec<Operation> {
    let on = |method, path, summary| operation(TAG, method, path, summary);
    vec![
        on("post", "/api/admin/memory/recall", "What a text brings to mind, and why the rest does not")
            .takes::<recall::RecallRequest>()
            .answers::<recall::RecallResponse>()
            .refuses(&[404]),
        on("get", "/api/admin/memory/events", "Events, newest first")
            .asks::<nodes::NodePageQuery>()
            .in_scope()
            .answers::<nodes::NodeList>(),
        on("get", "/api/admin/memory/thoughts", "Thoughts, newest first")
            .asks::<nodes::NodePageQuery>()
            .in_scope()
            .answers::<nodes::NodeList>(),
        on("get", "/api/admin/memory/search", "Memories that hold or mean these words, best first")
            .asks::<search::SearchRequest>()
            .in_scope()
            .answers::<search::SearchResponse>(),
        on("get", "/api/admin/memory/timeline", "What became memory, newest first")
            .asks::<timeline::TimelineQuery>()
            .in_scope()
            .answers::<timeline::Timeline>(),
        on("get", "/api/admin/memory/thoughts/{id}/trace", "What a thought rests on")
            .answers_shape(200, TRACE),
        on("get", "/api/admin/memory/events/{id}/dependents", "What rests on an event")
            .answers_shape(200, DEPENDENTS),
        on("get", "/api/admin/memory/rejected", "What was refused for want of evidence")
            .asks::<PageQuery>()
            .in_scope()
            .answers::<nodes::RejectedList>(),
    ]
}

fn correcting() -> Vec<Operation> {
    let on = |method, path, summary| operation(TAG, method, path, summary);
    vec![
        on(
            "patch",
            "/api/admin/memory/nodes/{id}",
            "Corrects or pins a memory; the old text stays in its history",
        )
        .takes::<corrections::NodeChange>()
        .answers::<nodes::NodeBody>(),
        on("get", "/api/admin/memory/nodes/{id}/history", "What a memory said before")
            .asks::<corrections::HistoryQuery>()
            .answers::<corrections::NodeHistory>(),
        on("post", "/api/admin/memory/nodes/{id}/undo", "Takes back the last change")
            .answers::<corrections::NodeUndone>()
            .refuses(&[409]),
        on("post", "/api/admin/memory/rejected/{id}/approve", "Makes a refused memory a memory")
            .may_take::<corrections::ApprovalBody>()
            .answers_shape(200, "{ok: bool, id: id, node_id: id, node: @Node}")
            .refuses(&[409]),
        on("post", "/api/admin/memory/rejected/{id}/dismiss", "Asks no more about a refused memory")
            .answers_shape(200, "{ok: bool, id: id}")
            .refuses(&[409]),
    ]
}

fn entities() -> Vec<Operation> {
    let on = |method, path, summary| operation(ENTITIES, method, path, summary);
    vec![
        on("get", "/api/admin/memory/entities", "Open questions first, then the last changed first")
            .asks::<entities::EntityQuery>()
            .in_scope()
            .answers::<entities::EntityList>(),
        on("post", "/api/admin/memory/entities", "One that a person knows of")
            .in_scope()
            .takes::<entities::NewEntityRequest>()
            .answers::<entities::EntityDetail>()
            .refuses(&[409]),
        on("get", "/api/admin/memory/entities/{id}", "One").in_scope().answers::<entities::EntityDetail>(),
        on("patch", "/api/admin/memory/entities/{id}", "Names and describes")
            .in_scope()
            .takes::<entities::EntityEdit>()
            .answers::<entities::EntityDetail>()
            .refuses(&[409]),
        on("post", "/api/admin/memory/entities/{id}/merge", "Both are one")
            .in_scope()
            .takes::<entities::MergeRequest>()
            .answers_shape(200, "{ok: bool, merged_into: id}")
            .refuses(&[409]),
        on("post", "/api/admin/memory/entities/{id}/confirm-separate", "They are two")
            .in_scope()
            .takes::<entities::SeparateRequest>()
            .answers_shape(200, "{ok: bool}")
            .refuses(&[409]),
        on("post", "/api/admin/memory/entities/{id}/undo", "Takes back the last change")
            .in_scope()
            .answers_shape(200, "{ok: bool, undone: any, entities: [@Entity]}")
            .refuses(&[409]),
    ]
}

fn forgetting() -> Vec<Operation> {
    let on = |method, path, summary| operation(FORGETTING, method, path, summary);
    let delete = |path, summary| {
        on("delete", path, summary).asks::<forget::ForgetModeQuery>().answers_shape(200, NODE_GONE)
    };
    vec![
        on("post", "/api/admin/memory/preview-delete", "What hangs on a memory; nothing is done")
            .takes::<forget::PreviewRequest>()
            .answers_shape(200, PREVIEW)
            .refuses(&[404]),
        delete("/api/admin/memory/events/{id}", "Forgets an event or an intention"),
        delete("/api/admin/memory/thoughts/{id}", "Forgets a thought or an expectation"),
        delete("/api/admin/memory/intentions/{id}", "Forgets an intention"),
        delete("/api/admin/memory/expectations/{id}", "Forgets an expectation"),
        on("delete", "/api/admin/memory/messages/{id}", "Forgets words and what only they proved")
            .asks::<forget::ForgetModeQuery>()
            .answers_shape(200, "{deleted: bool, message_id: id, taken: @Taken}"),
        on("delete", "/api/admin/memory/sessions/{id}", "Forgets all words of a session")
            .asks::<forget::ForgetModeQuery>()
            .answers_shape(200, "{deleted: bool, session_id: id, messages_deleted: int, taken: @Taken}"),
        on(
            "get",
            "/api/admin/memory/core-blocks/{label}/appends",
            "What a block was at each edit, newest first",
        )
        .asks::<forget::AppendQuery>()
        .in_scope()
        .answers::<forget::AppendList>(),
        on("delete", "/api/admin/memory/core-blocks/{label}/appends/{append_id}", "Forgets one edit")
            .in_scope()
            .answers_shape(200, "{deleted: bool, append_id: text, label: text}"),
        on("post", "/api/admin/memory/erase", "Erases for good, with a receipt")
            .takes::<erase::EraseRequest>()
            .answers::<erase::EraseResponse>()
            .refuses(&[404, 409]),
        on("get", "/api/admin/memory/receipts", "Receipts of erasures, newest first")
            .asks::<erase::ReceiptQuery>()
            .in_scope()
            .answers::<erase::ErasureReceiptList>(),
        on("post", "/api/admin/reset", "The persona as if it were new")
            .takes::<erase::ResetRequest>()
            .answers_shape(200, "{ok: bool, persona_id: text, erased: object}")
            .refuses(&[404]),
    ]
}
