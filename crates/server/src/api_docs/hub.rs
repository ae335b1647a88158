//! The shared self: documents, versions, conflicts, search.

use hub::api::documents::{DocumentEdit, DocumentText};
use hub::api::memories::SearchResults;
use hub::api::sync::SyncStatus;

use super::operation::{Operation, operation};
use crate::admin::hub::{
    ConflictDecision, ConflictList, ConflictListQuery, DocumentKindQuery, DocumentList, DocumentSearchQuery,
    PendingPeriodList, VersionList,
};
use crate::cursor::PageQuery;

const TAG: &str = "hub";

pub(super) fn operations() -> Vec<Operation> {
    let on = |method, path, summary| operation(TAG, method, path, summary).in_scope();
    vec![
        on("get", "/api/hub/documents", "Documents of the shared self")
            .asks::<DocumentKindQuery>()
            .asks::<PageQuery>()
            .answers::<DocumentList>(),
        on("get", "/api/hub/documents/{kind}/{filename}", "One, with its text").answers::<DocumentText>(),
        on("put", "/api/hub/documents/{kind}/{filename}", "A person's own version")
            .takes::<DocumentEdit>()
            .answers::<DocumentText>()
            .refuses(&[409]),
        on("delete", "/api/hub/documents/{kind}/{filename}", "Deletes a document; its versions stay")
            .answers_shape(200, "{ok: bool}"),
        on("get", "/api/hub/documents/{kind}/{filename}/versions", "Its versions, newest first")
            .asks::<PageQuery>()
            .answers::<VersionList>(),
        on(
            "post",
            "/api/hub/documents/{kind}/{filename}/versions/{version}/restore",
            "An earlier text, anew",
        )
        .answers::<DocumentText>()
        .refuses(&[409]),
        on("get", "/api/hub/rollups", "Periods that wait for their roll-up").answers::<PendingPeriodList>(),
        on("post", "/api/hub/rollups/{kind}/{filename}", "Writes a roll-up now")
            .answers::<DocumentText>()
            .refuses(&[409, 502]),
        on("get", "/api/hub/conflicts", "VersionList that wait for a decision")
            .asks::<ConflictListQuery>()
            .asks::<PageQuery>()
            .answers::<ConflictList>(),
        on("post", "/api/hub/conflicts/{id}", "Decides")
            .takes::<ConflictDecision>()
            .answers_shape(200, "{ok: bool, message: text}"),
        on("get", "/api/hub/search", "Memories of the shared self, best first")
            .asks::<DocumentSearchQuery>()
            .answers::<SearchResults>(),
        on("get", "/api/hub/status", "Where the hub stands").answers::<SyncStatus>(),
    ]
}
