//! The earlier API.

use super::route::{Route, Tag};
use crate::legacy::channels::{self, ChannelChangeRequest};
use crate::legacy::import_pipeline;

pub(super) fn routes() -> Vec<Route> {
    let tag = Tag("imports");
    vec![
        tag.post(
            import_pipeline::UPLOAD_PATH,
            "Upload one file for an import pipeline, at most 50 MiB",
            import_pipeline::upload,
        )
        .takes_form::<import_pipeline::UploadForm>(),
        tag.post(
            import_pipeline::TEXT_PATH,
            "Upload a text for an import pipeline",
            import_pipeline::upload_text,
        ),
        tag.post(
            "/api/admin/import/estimate",
            "Estimate tokens and cost of an upload",
            import_pipeline::estimate_import,
        )
        .add_error_statuses(&[400, 404]),
        tag.post("/api/admin/import/start", "Start the import of an upload", import_pipeline::start)
            .add_error_statuses(&[404, 409]),
        tag.post(
            "/api/admin/import/cancel",
            "Cancel an import; imported messages stay",
            import_pipeline::cancel,
        ),
        tag.get(
            import_pipeline::EVENTS_PATH,
            "Stream all events of an import pipeline from its start",
            import_pipeline::events,
        )
        .returns_events::<runtime::PipelineEvent>()
        .add_error_statuses(&[404]),
        Tag("work")
            .patch("/api/admin/channels", "Change a channel's settings", channels::change)
            .with_body::<ChannelChangeRequest>()
            .add_error_statuses(&[500, 501]),
    ]
}
