//! Metrics of the program, for Prometheus.

use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::auth::Principal;
use crate::ports::daemons::DaemonState;
use crate::problem::Problem;
use crate::state::App;

const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Methods that are counted by name; a client may send any word.
const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

pub(crate) async fn metrics(State(app): State<App>, _: Principal) -> Result<Response, Problem> {
    let runtime = app.runtime();
    let metrics = runtime.metrics();
    let whole = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let [waiting, failed] = runtime.store().work_counts().await?;
    metrics.set_gauge("sessions_waiting", i64::try_from(waiting).unwrap_or(i64::MAX));
    metrics.set_gauge("sessions_failed", i64::try_from(failed).unwrap_or(i64::MAX));
    let (lines, turns) = runtime.turns().count_turns();
    metrics.set_gauge("lines_waiting", whole(lines));
    metrics.set_gauge("turns_running", whole(turns));
    metrics.set_gauge("vector_index_bytes", whole(runtime.vectors().index_bytes()));
    if let Some(bytes) = resident_bytes() {
        metrics.set_gauge("process_resident_bytes", bytes);
    }
    let daemons = app.parts.daemons.list().await?;
    for state in DaemonState::ALL {
        metrics.set_gauge(
            state.metric_label(),
            whole(daemons.iter().filter(|daemon| daemon.state == state).count()),
        );
    }
    let uptime = app.now().duration_since(app.parts.started_at).as_secs().max(0);
    metrics.set_gauge("uptime_seconds", uptime);
    let text = metrics.to_prometheus_text().map_err(|error| Problem::internal(&error))?;
    Ok(([(CONTENT_TYPE, OPENMETRICS)], text).into_response())
}

/// Memory of the process, if the system reports it in a file.
fn resident_bytes() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<i64>().ok()?.checked_mul(1024)
}

/// Counts each request and the time until its response began.
pub(crate) async fn count(State(app): State<App>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let method = METHODS.iter().find(|method| **method == request.method().as_str()).unwrap_or(&"other");
    let response = next.run(request).await;
    app.runtime().metrics().request(method, response.status().as_u16(), began.elapsed());
    response
}
