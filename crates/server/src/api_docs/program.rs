//! The program itself: state, settings, tokens.

use super::operation::{Operation, operation};
use crate::admin::{audit, tokens};
use crate::auth::login;
use crate::cursor::PageQuery;

const TAG: &str = "program";

const STATE: &str = "{persona: {id: text, display_name: text, voice_enabled: bool, has_voice_id: bool, \
    has_avatar: bool}, onboarding_required: bool, memory_counts: {core_blocks: int, messages: int, events: int, \
    thoughts: int}, channels: [@Channel], llm: {provider: text, model: text|null, offline: bool, notice: text|null}, \
    embedding: {provider: text|null, model: text|null, words_only: bool}}";
const STATUS: &str = "{pid: int, version: text, url: text, started_at: time, uptime_seconds: int, persona_id: text, \
    sessions: {waiting: int, failed: int}, spending: {today_usd: num, daily_cap_usd: num|null, paused: bool, \
    notice: text|null}, llm: {provider: text, model: text|null, offline: bool, notice: text|null}, \
    embedding: {provider: text|null, model: text|null, words_only: bool}, vectors: {model: text, rows: int, \
    with_vector: int, chunks: int, chunks_with_vector: int, serving_meanwhile: text|null, failure: text|null}|null, stopping: bool}";
const CONFIG: &str = "{llm?: object, persona?: object, memory?: object, consolidate?: object, \
    system?: <text|int|null>, channels?: object, settings: <{value: any, default: any, live: bool, pending?: any}>}";
const CHANGED: &str = "{updated_fields: [text], reload_triggered: bool, reloaded: [text], restart_required: [text], \
    overridden_by_environment: [text]}";
const TOKEN: &str = "{name: text, prefix: text, scopes: [text], user_id: text|null, created_at: time, \
    last_used_at: time|null, token: text}";
const TOKENS: &str = "{tokens: [{name: text, prefix: text, scopes: [text], user_id: text|null, created_at: time, \
    last_used_at: time|null}], next_cursor: text|null}";
const ACTS: &str = "{items: [{id: text, at: time, token: text, act: text, object: text, status: int}], \
    next_cursor: text|null}";

pub(super) fn operations() -> Vec<Operation> {
    let on = |method, path, summary| operation(TAG, method, path, summary);
    vec![
        on("get", "/health", "The program answers").answers_shape(200, "{ok: bool}"),
        on("get", "/ready", "The program can do its work")
            .answers_shape(200, "{ok: bool}")
            .answers_shape(503, "{ok: bool}"),
        on("get", "/metrics", "Counters for Prometheus")
            .answers_media("application/openmetrics-text; version=1.0.0; charset=utf-8"),
        on("get", "/api/state", "What a page shows first").in_scope().answers_shape(200, STATE),
        on("get", "/api/openapi.json", "This document").answers_shape(200, "object"),
        on("get", "/api/docs", "This document for people").answers_media("text/html; charset=utf-8"),
        on("get", "/api/docs/style.css", "Its looks").answers_media("text/css; charset=utf-8"),
        on("get", "/api/admin/status", "How the program stands").answers_shape(200, STATUS),
        on("post", "/api/admin/stop", "Ends the program in good order").answers_shape(202, "{ok: bool}"),
        on("post", "/api/admin/login-code", "A one-time link to the page").answers::<login::NewLink>(),
        on("get", "/api/admin/config", "All settings").answers_shape(200, CONFIG).refuses(&[500]),
        on("patch", "/api/admin/config", "Changes settings, in the file and for the running program")
            .takes_shape("object")
            .answers_shape(200, CHANGED)
            .refuses(&[500]),
        on("post", "/api/admin/reload", "Reads the settings anew")
            .answers_shape(200, "{ok: bool, reloaded: [text], restart_required: [text]}")
            .refuses(&[422, 500]),
        on("get", "/api/admin/tokens", "Named tokens, by name")
            .asks::<PageQuery>()
            .answers_shape(200, TOKENS),
        on("post", "/api/admin/tokens", "Makes a named token; it is shown once")
            .takes::<tokens::NewTokenRequest>()
            .answers_shape(201, TOKEN)
            .refuses(&[409]),
        on("delete", "/api/admin/tokens/{name}", "Ends a token")
            .answers_shape(200, "{deleted: bool, name: text}"),
        on("get", "/api/admin/audit", "Acts of administration, newest first")
            .asks::<audit::AuditQuery>()
            .answers_shape(200, ACTS),
    ]
}
