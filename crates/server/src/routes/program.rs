//! The program: status, settings, tokens.

use serde_json::{Map, Value};

use super::route::{Route, Tag};
use crate::admin::program::config::{self, ConfigResponse};
use crate::admin::program::{audit, daemon, metrics, model, tokens};
use crate::api_docs;
use crate::auth::login;
use crate::ports::model_setup::ModelTryEvent;
use crate::respond::OkResponse;

pub(super) fn routes() -> Vec<Route> {
    let tag = Tag("program");
    vec![
        tag.get("/health", "Check that the program runs", daemon::health),
        tag.get("/ready", "Check that the program can serve requests", daemon::ready)
            .add_response::<OkResponse>(200)
            .add_response::<OkResponse>(503),
        tag.get("/metrics", "Get metrics for Prometheus", metrics::metrics)
            .returns_media("application/openmetrics-text; version=1.0.0; charset=utf-8"),
        tag.get("/api/state", "Get the initial state of the web UI", daemon::state),
        tag.get("/api/openapi.json", "Get the API document", api_docs::json)
            .add_response::<Map<String, Value>>(200),
        tag.get("/api/docs", "Get the API documentation page", api_docs::page)
            .returns_media("text/html; charset=utf-8"),
        tag.get("/api/docs/style.css", "Stylesheet", api_docs::stylesheet)
            .returns_media("text/css; charset=utf-8"),
        tag.get("/api/admin/status", "Get the program's status", daemon::status),
        tag.get("/api/admin/daemons", "List the daemons that share this home", daemon::list_daemons),
        tag.post("/api/admin/stop", "Shut down", daemon::stop),
        tag.post("/api/admin/login-code", "Create a one-time login link", login::new_code),
        tag.get("/api/admin/config", "Get all settings", config::show)
            .add_response::<ConfigResponse>(200)
            .add_error_statuses(&[500]),
        tag.patch("/api/admin/config", "Change settings in the file and the running program", config::change)
            .with_body::<Map<String, Value>>()
            .add_error_statuses(&[500]),
        tag.get("/api/admin/model", "Get which language model is configured", model::show)
            .add_error_statuses(&[500]),
        tag.put("/api/admin/model", "Choose the language model, with its key", model::choose)
            .add_error_statuses(&[500]),
        tag.get("/api/admin/model/local", "List model servers on this machine", model::local_servers),
        tag.post("/api/admin/model/list", "List an endpoint's models", model::list),
        tag.post(model::TRY_PATH, "Test a model with one sentence", model::try_out)
            .returns_events::<ModelTryEvent>(),
        tag.post("/api/admin/model/check", "Check that the language model responds", model::check),
        tag.post("/api/admin/reload", "Reload the configuration file", config::reload)
            .add_error_statuses(&[422, 500]),
        tag.get("/api/admin/tokens", "List named tokens", tokens::list),
        tag.post("/api/admin/tokens", "Create a named token; it is shown once", tokens::make)
            .add_error_statuses(&[409]),
        tag.delete("/api/admin/tokens/{name}", "Revoke a token", tokens::revoke),
        tag.get("/api/admin/logins", "List logged-in browsers", login::list),
        tag.delete("/api/admin/logins", "Log every browser out", login::end_all_logins),
        tag.delete(
            "/api/admin/logins/{id}",
            "Log one browser out; `current` is the browser of this request",
            login::end,
        ),
        tag.get("/api/admin/audit", "List audit entries, newest first", audit::list),
    ]
}
