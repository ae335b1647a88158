//! From operations to the document.

use memory::forget::ForgetSummary;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::operation::{Operation, Source};
use super::shape;

const COMPONENTS: &str = "/components/schemas";

/// What a status means here, for people.
fn meaning(status: u16) -> &'static str {
    match status {
        200 => "Done",
        201 => "Made",
        202 => "Taken; it goes on",
        303 => "Logged in",
        400 => "The request can't be meant so",
        401 => "No valid token",
        403 => "The token is not good for this, or a page of another origin asked",
        404 => "There is no such thing",
        408 => "The body did not arrive in time",
        409 => "It stands otherwise than the request supposes",
        413 => "The body is too large",
        415 => "The body is of another type",
        421 => "The server is not known by this name",
        422 => "A field does not fit",
        429 => "Too much at once; see Retry-After",
        500 => "EchoVessel failed at this",
        501 => "This version does not have it yet",
        502 => "The language model failed",
        503 => "Not now; try again",
        507 => "The database can't be written",
        _ => "See the detail",
    }
}

/// The whole document.
pub(super) fn document(operations: &[Operation]) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = COMPONENTS.into();
        settings.meta_schema = None;
    });
    let mut read = settings.clone().for_deserialize().into_generator();
    let mut written = settings.for_serialize().into_generator();
    let mut paths: Map<String, Value> = Map::new();
    for operation in operations {
        let described = described(operation, &mut read, &mut written);
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        if let Some(methods) = path.as_object_mut() {
            methods.insert(operation.method.to_owned(), described);
        }
    }
    // Shapes name it.
    written.subschema_for::<ForgetSummary>();
    let mut schemas: Map<String, Value> = read.take_definitions(true);
    // Where a type is both read and written, it is described as it is written.
    schemas.extend(written.take_definitions(true));
    schemas.insert("Problem".to_owned(), problem());
    schemas.insert("OpenAiError".to_owned(), openai_error());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "EchoVessel", "version": env!("CARGO_PKG_VERSION"),
            "description": "A self-hosted engine for digital personas that remember for years.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    })
}

fn problem() -> Value {
    let mut schema = shape::schema("{type: text, title: text, status: int, detail: text, code: text}");
    let description = "RFC 9457. `code` is stable; `detail` is a sentence for a person.";
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("description".to_owned(), json!(description));
    }
    schema
}

fn openai_error() -> Value {
    shape::schema("{error: {message: text, type: text, code: text|null, param: text|null}}")
}

fn described(operation: &Operation, read: &mut SchemaGenerator, written: &mut SchemaGenerator) -> Value {
    let mut described = json!({
        "operationId": operation_id(operation), "summary": operation.summary, "tags": [operation.tag],
        "parameters": parameters(operation, read), "responses": responses(operation, written),
    });
    let Some(fields) = described.as_object_mut() else { return described };
    if !operation.is_guarded() {
        fields.insert("security".to_owned(), json!([]));
    }
    if let Some((media, source, required)) = operation.body {
        let schema = schema_of(source, read);
        let body = json!({"required": required, "content": {media: {"schema": schema}}});
        fields.insert("requestBody".to_owned(), body);
    }
    described
}

fn operation_id(operation: &Operation) -> String {
    let parts = operation.path.split(['/', '-', '.']).filter(|part| !part.is_empty());
    let parts = parts.map(|part| part.trim_matches(['{', '}']).to_owned());
    std::iter::once(operation.method.to_owned()).chain(parts).collect::<Vec<_>>().join("_")
}

fn parameters(operation: &Operation, read: &mut SchemaGenerator) -> Vec<Value> {
    let parts = operation.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = |name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string", "minLength": 1}});
    let mut parameters: Vec<Value> = parts.map(in_path).collect();
    for query in &operation.query {
        let schema = query(read).to_value();
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

/// A query has no null: what is not there is left out.
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

fn responses(operation: &Operation, written: &mut SchemaGenerator) -> Map<String, Value> {
    let mut responses = Map::new();
    for answer in &operation.answers {
        let mut response = json!({"description": meaning(answer.status)});
        if let Some(fields) = response.as_object_mut().filter(|_| !answer.media.is_empty()) {
            let schema = schema_of(answer.source, written);
            let media = responses
                .get(&answer.status.to_string())
                .and_then(|known: &Value| known.get("content"))
                .and_then(Value::as_object)
                .cloned();
            let mut content = media.unwrap_or_default();
            content.insert(answer.media.to_owned(), json!({"schema": schema}));
            fields.insert("content".to_owned(), Value::Object(content));
        }
        responses.insert(answer.status.to_string(), response);
    }
    let is_openai = operation.path.starts_with("/v1/");
    let (media, name) =
        if is_openai { ("application/json", "OpenAiError") } else { ("application/problem+json", "Problem") };
    let schema = json!({"$ref": format!("#/components/schemas/{name}")});
    for status in operation.all_refusals() {
        let refusal = json!({"description": meaning(status), "content": {media: {"schema": schema}}});
        responses.entry(status.to_string()).or_insert(refusal);
    }
    responses
}

fn schema_of(source: Source, generator: &mut SchemaGenerator) -> Value {
    match source {
        Source::Type(schema) => schema(generator).to_value(),
        Source::Shape(text) => shape::schema(text),
        Source::Opaque => json!({}),
    }
}
