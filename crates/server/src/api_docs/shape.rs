//! Schemas in a line, for answers that handlers put together from several sources: `{ok: bool, turn_id?: id|null}`.
//!
//! A type is `bool`, `int`, `num`, `text`, `id`, `time`, `any`, `object`, `binary`, a word in quotes, `@Name` (a type of
//! the document), `[type]`, `{field: type}`, `<type>` (fields of any name); `|` parts alternatives, `?` marks a field that
//! may be missing.

use serde_json::{Map, Value, json};

/// The schema of a shape; an unreadable one gives `null`, which a test looks for.
pub(super) fn schema(shape: &str) -> Value {
    let mut reader = Reader { rest: shape.trim() };
    let found = reader.alternatives();
    if reader.rest.trim().is_empty() { found.unwrap_or(Value::Null) } else { Value::Null }
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn alternatives(&mut self) -> Option<Value> {
        let mut found = vec![self.one()?];
        while self.take('|') {
            found.push(self.one()?);
        }
        if found.len() == 1 {
            return found.pop();
        }
        let words: Option<Vec<&Value>> = found.iter().map(|one| one.get("const")).collect();
        Some(match words {
            Some(words) => json!({"type": "string", "enum": words}),
            None => json!({"anyOf": found}),
        })
    }

    fn one(&mut self) -> Option<Value> {
        if self.take('{') {
            return self.object();
        }
        if self.take('[') {
            let items = self.alternatives()?;
            return self.take(']').then(|| json!({"type": "array", "items": items}));
        }
        if self.take('<') {
            let values = self.alternatives()?;
            return self.take('>').then(|| json!({"type": "object", "additionalProperties": values}));
        }
        if self.take('\'') {
            let word = self.word()?;
            return self.take('\'').then(|| json!({"const": word}));
        }
        if self.take('@') {
            let name = self.word()?;
            return Some(json!({"$ref": format!("#/components/schemas/{name}")}));
        }
        Some(match self.word()?.as_str() {
            "bool" => json!({"type": "boolean"}),
            "int" => json!({"type": "integer"}),
            "num" => json!({"type": "number"}),
            "text" => json!({"type": "string"}),
            "id" => json!({"type": "string", "format": "uuid"}),
            "time" => json!({"type": "string", "format": "date-time"}),
            "null" => json!({"type": "null"}),
            "object" => json!({"type": "object"}),
            "binary" => json!({"type": "string", "contentMediaType": "application/octet-stream"}),
            "any" => json!({}),
            _ => return None,
        })
    }

    fn object(&mut self) -> Option<Value> {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        while !self.take('}') {
            let name = self.word()?;
            if !self.take('?') {
                required.push(name.clone());
            }
            if !self.take(':') {
                return None;
            }
            properties.insert(name, self.alternatives()?);
            self.take(',');
        }
        Some(json!({"type": "object", "properties": properties, "required": required}))
    }

    fn word(&mut self) -> Option<String> {
        self.rest = self.rest.trim_start();
        let is_part = |letter: char| letter.is_alphanumeric() || "_.".contains(letter);
        let end = self.rest.find(|letter| !is_part(letter)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(word.to_owned()).filter(|word| !word.is_empty())
    }

    fn take(&mut self, mark: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(mark) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_read_as_it_is_meant() {
        assert_eq!(
            schema("{ok: bool, items: [{id: id, at?: time|null}], by: 'owner'|'slow', node: @Node}"),
            json!({"type": "object", "required": ["ok", "items", "by", "node"], "properties": {
                "ok": {"type": "boolean"},
                "items": {"type": "array", "items": {"type": "object", "required": ["id"], "properties": {
                    "id": {"type": "string", "format": "uuid"},
                    "at": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]},
                }}},
                "by": {"type": "string", "enum": ["owner", "slow"]},
                "node": {"$ref": "#/components/schemas/Node"},
            }})
        );
        assert_eq!(
            schema("<[int]>"),
            json!({"type": "object", "additionalProperties": {"type": "array", "items": {"type": "integer"}}})
        );
        for broken in ["", "{", "<int", "{ok}", "[int", "{ok: maybe}", "int int", "{ok: }"] {
            assert_eq!(schema(broken), Value::Null, "{broken}");
        }
    }
}
