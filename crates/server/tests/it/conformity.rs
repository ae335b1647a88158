//! Every response of every test matches the OpenAPI document.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use axum::http::Method;
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::home::Answer;

type Validators = HashMap<(String, String, u16), Arc<Validator>>;
static VALIDATORS: LazyLock<Mutex<Validators>> = LazyLock::new(Mutex::default);

/// The described path that matches a path; the one with fewer variable parts first.
pub(crate) fn described(path: &str) -> Option<&'static str> {
    let path = path.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path.split('/').collect();
    let fits = |known: &&String| {
        let known: Vec<&str> = known.split('/').collect();
        known.len() == parts.len()
            && known.iter().zip(&parts).all(|(known, part)| known.starts_with('{') || known == part)
    };
    let paths = server::openapi()["paths"].as_object().unwrap();
    paths.keys().filter(fits).min_by_key(|known| known.matches('{').count()).map(String::as_str)
}

#[track_caller]
pub(crate) fn check(method: &Method, path: &str, answer: &Answer) {
    let Some(known) = described(path) else { return };
    let method = method.as_str().to_lowercase();
    let operation = &server::openapi()["paths"][known][&method];
    // An unknown method, and one that every path without it refuses.
    if operation.is_null() {
        return;
    }
    let status = answer.status.as_u16();
    let response = &operation["responses"][status.to_string()];
    assert!(!response.is_null(), "{method} {known} does not say that it answers {status}: {}", answer.text);
    let media = answer.header("content-type").unwrap_or_default();
    let essence = media.split(';').next().unwrap_or_default();
    let content = response["content"].as_object().cloned().unwrap_or_default();
    let same = |known: &str| {
        known.split(';').next() == Some(essence) || (known == "image/*" && essence.starts_with("image/"))
    };
    let schema = content.iter().find(|(media, _)| same(media)).map(|(_, content)| content["schema"].clone());
    let schema =
        schema.unwrap_or_else(|| panic!("{method} {known} {status} does not say that it is {media}"));
    if !essence.ends_with("json") {
        return;
    }
    let key = (method.clone(), known.to_owned(), status);
    let ready = VALIDATORS.lock().unwrap().get(&key).cloned();
    let validator = ready.unwrap_or_else(|| validator(schema));
    let body: Value = serde_json::from_str(&answer.text).expect("JSON");
    if let Err(error) = validator.validate(&body) {
        panic!("{method} {known} {status}: {error} at {}: {}", error.instance_path, answer.text);
    }
    VALIDATORS.lock().unwrap().insert(key, validator);
}

/// Checks the data of a server event against the schema of its name.
#[track_caller]
pub(crate) fn check_event(name: &str, data: &Value) {
    let schema = &server::openapi()["components"]["schemas"]["EventStream"]["properties"][name];
    assert!(!schema.is_null(), "no schema of the event {name}");
    if let Err(error) = validator(schema.clone()).validate(data) {
        panic!("{name}: {error} at {}: {data}", error.instance_path);
    }
}

/// The schema includes only the components that it refers to. With all of them, creating the validator took longer
/// than a test.
fn validator(schema: Value) -> Arc<Validator> {
    let all = &server::openapi()["components"]["schemas"];
    let mut components = serde_json::Map::new();
    let mut wanted = Vec::new();
    collect_references(&schema, &mut wanted);
    while let Some(name) = wanted.pop() {
        if !components.contains_key(name) {
            collect_references(&all[name], &mut wanted);
            components.insert(name.to_owned(), all[name].clone());
        }
    }
    let whole = json!({"components": {"schemas": components}, "allOf": [schema]});
    Arc::new(
        jsonschema::draft202012::options().should_validate_formats(true).build(&whole).expect("a schema"),
    )
}

/// Names of the components that a schema refers to directly.
fn collect_references<'a>(schema: &'a Value, names: &mut Vec<&'a str>) {
    match schema {
        Value::Object(fields) => {
            let name = fields.get("$ref").and_then(Value::as_str);
            names.extend(name.and_then(|name| name.strip_prefix("#/components/schemas/")));
            fields.values().for_each(|value| collect_references(value, names));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, names)),
        _ => {}
    }
}
