//! Checks arguments against a tool's schema, and reports all errors at once.

use serde_json::{Map, Value};

/// Errors in the arguments; empty if there are none.
pub(super) fn argument_errors(schema: &Map<String, Value>, arguments: &Map<String, Value>) -> Vec<String> {
    let mut problems = Vec::new();
    check_object(schema, arguments, "", &mut problems);
    problems
}

fn check(schema: &Value, value: &Value, path: &str, problems: &mut Vec<String>) {
    let Value::Object(schema) = schema else { return };
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        if !words.contains(value) {
            let words: Vec<String> =
                words.iter().map(|word| word.as_str().map_or(word.to_string(), str::to_owned)).collect();
            problems.push(format!("{path}: it must be one of {}", words.join(", ")));
        }
        return;
    }
    match (schema.get("type").and_then(Value::as_str), value) {
        (Some("string"), Value::String(text)) => check_text(schema, text, path, problems),
        (Some("integer"), Value::Number(number)) if number.is_i64() || number.is_u64() => {
            check_number(schema, value, path, problems);
        }
        (Some("number"), Value::Number(_)) => check_number(schema, value, path, problems),
        (Some("boolean"), Value::Bool(_)) | (None, _) => {}
        (Some("array"), Value::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                let path = format!("{path}[{index}]");
                schema.get("items").into_iter().for_each(|schema| check(schema, item, &path, problems));
            }
        }
        (Some("object"), Value::Object(object)) => check_object(schema, object, path, problems),
        (Some(kind), _) => problems.push(format!("{path}: it must be {}", indefinite_article(kind))),
    }
}

fn check_object(
    schema: &Map<String, Value>,
    object: &Map<String, Value>,
    path: &str,
    problems: &mut Vec<String>,
) {
    let inner = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
        let name = name.as_str().unwrap_or_default();
        if !object.contains_key(name) {
            problems.push(format!("{}: it is required", inner(name)));
        }
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, schema) in properties.into_iter().flatten() {
        if let Some(value) = object.get(name) {
            check(schema, value, &inner(name), problems);
        }
    }
}

fn check_text(schema: &Map<String, Value>, text: &str, path: &str, problems: &mut Vec<String>) {
    let length = text.chars().count() as u64;
    if schema.get("minLength").and_then(Value::as_u64).is_some_and(|least| length < least) {
        problems.push(format!("{path}: it must not be empty"));
    }
}

fn check_number(schema: &Map<String, Value>, value: &Value, path: &str, problems: &mut Vec<String>) {
    let Some(number) = value.as_f64() else { return };
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    if bound("minimum").is_some_and(|least| number < least)
        || bound("maximum").is_some_and(|most| number > most)
    {
        let range = match (bound("minimum"), bound("maximum")) {
            (Some(least), Some(most)) => format!("from {least} to {most}"),
            (Some(least), None) => format!("at least {least}"),
            (None, most) => format!("at most {}", most.unwrap_or_default()),
        };
        problems.push(format!("{path}: it must be {range}"));
    }
}

fn indefinite_article(kind: &str) -> &str {
    match kind {
        "string" => "a text",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "an object",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check_against(schema: Value, arguments: Value) -> Vec<String> {
        let (Value::Object(schema), Value::Object(arguments)) = (schema, arguments) else {
            return Vec::new();
        };
        argument_errors(&schema, &arguments)
    }

    #[test]
    fn every_invalid_argument_is_reported_with_its_path() {
        let schema = json!({
            "required": ["category", "content"],
            "properties": {
                "category": {"enum": ["self", "user"]},
                "content": {"type": "string", "minLength": 1},
                "limit": {"type": "integer", "minimum": 1, "maximum": 50},
                "nodes": {"type": "array", "items": {"type": "object", "required": ["label"]}},
            },
        });
        let arguments = json!({"category": "me", "limit": 0, "nodes": [{"label": "a"}, {}]});
        assert_eq!(
            check_against(schema.clone(), arguments),
            [
                "content: it is required",
                "category: it must be one of self, user",
                "limit: it must be from 1 to 50",
                "nodes[1].label: it is required",
            ]
        );
        let wrong = json!({"category": "self", "content": "", "limit": 1.5, "nodes": 3});
        assert_eq!(
            check_against(schema.clone(), wrong),
            ["content: it must not be empty", "limit: it must be a whole number", "nodes: it must be a list",]
        );
        assert!(check_against(schema, json!({"category": "self", "content": "x", "unknown": 1})).is_empty());
    }
}
