//! Builds the document from the routes.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::extract::ScopeQuery;
use crate::problem::{OpenAiErrorBody, ProblemBody};
use crate::routes::{Route, Success};

const COMPONENTS_POINTER: &str = "/components/schemas";

fn status_meaning(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        400 => "Malformed request",
        401 => "No valid token",
        403 => "Token lacks the scope, or cross-origin",
        404 => "Not found",
        408 => "Request body timed out",
        409 => "Conflict with current state",
        413 => "Request body too large",
        415 => "Unsupported media type",
        421 => "Host not allowed",
        422 => "Invalid field",
        429 => "Rate limited; see Retry-After",
        500 => "Internal error",
        501 => "Not in this version yet",
        502 => "Language model failed",
        503 => "Temporarily unavailable",
        507 => "Database not writable",
        _ => "See the detail",
    }
}

pub(super) fn document(routes: &[Route]) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = COMPONENTS_POINTER.into();
        settings.meta_schema = None;
    });
    let mut read = settings.clone().for_deserialize().into_generator();
    let mut written = settings.for_serialize().into_generator();
    let mut paths: Map<String, Value> = Map::new();
    for route in routes {
        let operation = operation_of(route, &mut read, &mut written);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        if let Some(methods) = path.as_object_mut() {
            methods.insert(route.method.to_owned(), operation);
        }
    }
    let mut schemas: Map<String, Value> = read.take_definitions(true);
    // A type that is both read and written is described as it is written.
    schemas.extend(written.take_definitions(true));
    let info = json!({
        "title": "EchoVessel", "version": env!("CARGO_PKG_VERSION"),
        "description": "Self-hosted engine for AI personas with long-term memory.",
        "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
    });
    object([
        ("openapi", json!("3.1.0")),
        ("info", info),
        ("servers", json!([{"url": "/"}])),
        ("security", json!([{"token": []}])),
        ("paths", Value::Object(paths)),
        (
            "components",
            object([
                ("schemas", Value::Object(schemas)),
                ("securitySchemes", json!({"token": {"type": "http", "scheme": "bearer"}})),
            ]),
        ),
    ])
}

/// An object with these fields. It moves the values, while `json!` copies them: the document is a megabyte of small
/// ones.
fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn operation_of(route: &Route, read: &mut SchemaGenerator, written: &mut SchemaGenerator) -> Value {
    let mut operation = object([
        ("operationId", Value::String(operation_id(route))),
        ("summary", json!(route.summary)),
        ("tags", json!([route.tag])),
        ("parameters", Value::Array(parameters_of(route, read))),
        ("responses", Value::Object(responses_of(route, written))),
    ]);
    let Some(fields) = operation.as_object_mut() else { return operation };
    if !route.is_guarded() {
        fields.insert("security".to_owned(), json!([]));
    }
    if let Some(body) = route.docs.body {
        let schema = (body.schema)(read);
        let content = object([(body.media, object([("schema", schema.into())]))]);
        let request = object([("required", json!(body.is_required)), ("content", content)]);
        fields.insert("requestBody".to_owned(), request);
    }
    operation
}

fn operation_id(route: &Route) -> String {
    let parts = route.path.split(['/', '-', '.']).filter(|part| !part.is_empty());
    let parts = parts.map(|part| part.trim_matches(['{', '}']).to_owned());
    std::iter::once(route.method.to_owned()).chain(parts).collect::<Vec<_>>().join("_")
}

fn parameters_of(route: &Route, read: &mut SchemaGenerator) -> Vec<Value> {
    let parts = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = |name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string", "minLength": 1}});
    let mut parameters: Vec<Value> = parts.map(in_path).collect();
    let mut queries: Vec<Value> = route.docs.query.iter().map(|query| query(read).to_value()).collect();
    queries.extend(route.docs.is_scoped.then(|| ScopeQuery::json_schema(read).to_value()));
    for schema in queries {
        let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else { continue };
        for (name, schema) in properties {
            let is_required = required.iter().any(|one| one == name);
            let mut schema = without_null(schema.clone());
            let description = schema.as_object_mut().and_then(|fields| fields.remove("description"));
            let mut parameter =
                json!({"name": name, "in": "query", "required": is_required, "schema": schema});
            if let (Some(text), Some(fields)) = (description, parameter.as_object_mut()) {
                fields.insert("description".to_owned(), text);
            }
            parameters.push(parameter);
        }
    }
    parameters
}

/// The schema of a query parameter, which can't be null: a parameter without a value is left out of the address.
fn without_null(mut schema: Value) -> Value {
    let Some(fields) = schema.as_object_mut() else { return schema };
    fields.remove("default");
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|one| one != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            fields.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(any)) = fields.get_mut("anyOf") {
        any.retain(|one| one.get("type") != Some(&json!("null")));
        if let [Value::Object(only)] = any.as_slice() {
            let only = only.clone();
            fields.remove("anyOf");
            fields.extend(only);
        }
    }
    schema
}

fn responses_of(route: &Route, written: &mut SchemaGenerator) -> Map<String, Value> {
    let mut responses = Map::new();
    for Success { status, media, schema } in &route.docs.successes {
        let schema = schema.map_or_else(|| json!({}), |schema| schema(written).to_value());
        let response = responses
            .entry(status.to_string())
            .or_insert_with(|| json!({"description": status_meaning(*status), "content": {}}));
        response["content"][*media] = object([("schema", schema)]);
    }
    let (media, schema) = if route.is_openai() {
        ("application/json", written.subschema_for::<OpenAiErrorBody<'_>>())
    } else {
        ("application/problem+json", written.subschema_for::<ProblemBody<'_>>())
    };
    for status in route.errors() {
        let error = json!({"description": status_meaning(status), "content": {media: {"schema": schema}}});
        responses.entry(status.to_string()).or_insert(error);
    }
    responses
}
