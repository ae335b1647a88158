//! The input schema of a tool in a form that every client understands: no references, no `null`, enumerations as
//! such.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The schema of a tool's input, with the arguments that every tool has; and true if the input needs `instanceId`,
/// which the connection provides if a call does not.
pub(super) fn input_schema<Input: JsonSchema>() -> (Map<String, Value>, bool) {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<Input>().to_value();
    simplify_schema(&mut schema);
    let Value::Object(mut schema) = schema else { return (Map::new(), false) };
    for key in ["$schema", "title", "description"] {
        schema.remove(key);
    }
    schema.insert("type".to_owned(), json!("object"));
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        properties.insert(
            "persona_id".to_owned(),
            json!({"type": "string", "description": "The persona; the configured one by default"}),
        );
        properties.insert(
            "user_id".to_owned(),
            json!({"type": "string", "description": "The user; `self`, the owner, by default"}),
        );
    }
    let mut needs_instance = false;
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        needs_instance = required.iter().any(|name| name == "instanceId");
        required.retain(|name| name != "instanceId");
    }
    if needs_instance {
        let about = "The instance that acts; the connection's own by default. A connection bound to an instance can't name \
                     another";
        schema["properties"]["instanceId"]["description"] = json!(about);
    }
    (schema, needs_instance)
}

fn simplify_schema(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(simplify_schema),
        Value::Object(object) => {
            object.values_mut().for_each(simplify_schema);
            flatten_null(object);
            flatten_constants(object);
            object.remove("format");
            if object.get("default").is_some_and(Value::is_null) {
                object.remove("default");
            }
        }
        _ => {}
    }
}

/// Makes properties that may be `null` optional.
fn flatten_null(object: &mut Map<String, Value>) {
    if let Some(types) = object.get("type").and_then(Value::as_array) {
        let mut types = types.clone();
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(values) = object.get_mut("enum").and_then(Value::as_array_mut) {
        values.retain(|value| !value.is_null());
    }
    if let Some(choices) = object.get("anyOf").and_then(Value::as_array) {
        let mut choices = choices.clone();
        choices.retain(|choice| choice.get("type").is_none_or(|kind| kind != "null"));
        if let [Value::Object(only)] = choices.as_slice() {
            let only = only.clone();
            object.remove("anyOf");
            for (key, value) in only {
                object.entry(key).or_insert(value);
            }
        }
    }
}

/// Merges constants with explanations into one enumeration.
fn flatten_constants(object: &mut Map<String, Value>) {
    let Some(choices) = object.get("oneOf").and_then(Value::as_array) else { return };
    let mut words = Vec::new();
    for choice in choices {
        match (choice.get("const"), choice.get("enum").and_then(Value::as_array)) {
            (Some(word), _) => words.push(word.clone()),
            (None, Some(several)) => words.extend(several.iter().cloned()),
            (None, None) => return,
        }
    }
    object.remove("oneOf");
    object.insert("type".to_owned(), json!("string"));
    object.insert("enum".to_owned(), Value::Array(words));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema matters")]
    struct Example {
        category: hub::Category,
        granularity: Option<hub::Granularity>,
        limit: Option<u32>,
        #[serde(rename = "instanceId")]
        instance: hub::InstanceId,
    }

    #[test]
    fn the_schema_is_plain() {
        let (schema, needs_instance) = input_schema::<Example>();
        assert!(needs_instance);
        let schema = Value::Object(schema);
        let categories = json!(["self", "user", "relationship", "custom"]);
        assert_eq!(schema["properties"]["category"]["enum"], categories, "{schema:#}");
        assert_eq!(schema["properties"]["granularity"]["type"], "string", "{schema:#}");
        assert_eq!(schema["properties"]["limit"]["type"], "integer");
        assert_eq!(schema["required"], json!(["category"]));
        let text = schema.to_string();
        assert!(!text.contains("$ref") && !text.contains("null"), "{text}");
    }
}
