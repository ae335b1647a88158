//! Members of an answer, as a model wrote them. Deserializing one never fails: a value of the wrong type is stored
//! unchanged, so that it can be noted and affects nothing else.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::notes::Notes;

/// A member of an answer. Its schema is that of `T`.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Member<T> {
    /// The answer does not have the member.
    #[default]
    Missing,
    Null,
    /// The member has the expected type.
    Present(T),
    /// The member has another type.
    Wrong(Value),
}

impl<T> Member<T> {
    /// The value, if it has the expected form.
    pub fn get(&self) -> Option<&T> {
        match self {
            Member::Present(value) => Some(value),
            Member::Missing | Member::Null | Member::Wrong(_) => None,
        }
    }

    /// True if the field holds a value of the wrong type.
    pub fn is_wrong(&self) -> bool {
        matches!(self, Member::Wrong(_))
    }
}

impl Member<String> {
    /// A trimmed text; `None` if it is blank.
    pub fn trimmed_text(&self) -> Option<&str> {
        self.get().map(|text| text.trim()).filter(|text| !text.is_empty())
    }

    /// The text in lower case, for comparing with a fixed list of words.
    pub fn lower_case_word(&self) -> Option<String> {
        self.trimmed_text().map(str::to_lowercase)
    }
}

impl<T> From<T> for Member<T> {
    fn from(value: T) -> Self {
        Member::Present(value)
    }
}

impl From<&str> for Member<String> {
    fn from(text: &str) -> Self {
        Member::Present(text.to_owned())
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Member<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(read_member)
    }
}

/// Deserializes a member, except for a list that should be an object: serde would read it as the struct's fields in
/// order.
fn read_member<T: DeserializeOwned>(value: Value) -> Member<T> {
    match value {
        Value::Null => Member::Null,
        Value::Array(_) => Member::Wrong(value),
        value => T::deserialize(&value).map_or(Member::Wrong(value), Member::Present),
    }
}

impl<T: Serialize> Serialize for Member<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Member::Missing | Member::Null => serializer.serialize_unit(),
            Member::Present(value) => value.serialize(serializer),
            Member::Wrong(value) => value.serialize(serializer),
        }
    }
}

impl<T: JsonSchema> JsonSchema for Member<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// A member that should be a list. Its schema is that of a list of `T`.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum List<T> {
    /// The answer does not have the member.
    #[default]
    Missing,
    Null,
    /// The member is a list.
    Items(Vec<Member<T>>),
    /// The member is one item where a list of items was expected.
    Single(T),
    /// The member is neither a list nor an item.
    Wrong(Value),
}

impl<T> List<T> {
    /// The valid items; a single item counts as a list of one. In notes, `what` is the word for an item, `name` that
    /// of the member.
    pub(crate) fn read<'a>(&'a self, what: &str, name: &str, notes: &mut Notes) -> Vec<&'a T> {
        let items = match self {
            List::Missing | List::Null => return Vec::new(),
            List::Single(item) => return vec![item],
            List::Items(items) => items,
            List::Wrong(_) => {
                notes.add(format!("`{name}` is not a list, dropped"));
                return Vec::new();
            }
        };
        for _ in items.iter().filter(|item| item.get().is_none()) {
            notes.add(format!("an item of `{name}` is not {what}, dropped"));
        }
        items.iter().filter_map(Member::get).collect()
    }
}

impl List<String> {
    /// The texts that are not blank, trimmed.
    pub(crate) fn trimmed_texts<'a>(&'a self, name: &str, notes: &mut Notes) -> Vec<&'a str> {
        let texts = self.read("a string", name, notes).into_iter();
        texts.map(|text| text.trim()).filter(|text| !text.is_empty()).collect()
    }
}

impl<T> From<Vec<T>> for List<T> {
    fn from(items: Vec<T>) -> Self {
        List::Items(items.into_iter().map(Member::Present).collect())
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Value::deserialize(deserializer)? {
            Value::Array(items) => List::Items(items.into_iter().map(read_member).collect()),
            value => match read_member(value) {
                Member::Missing | Member::Null => List::Null,
                Member::Present(item) => List::Single(item),
                Member::Wrong(value) => List::Wrong(value),
            },
        })
    }
}

impl<T: Serialize> Serialize for List<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            List::Missing | List::Null => serializer.collect_seq([(); 0]),
            List::Items(items) => serializer.collect_seq(items),
            List::Single(item) => serializer.collect_seq([item]),
            List::Wrong(value) => value.serialize(serializer),
        }
    }
}

impl<T: JsonSchema> JsonSchema for List<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        Vec::<T>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<T>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Clone, Debug, Default, Deserialize, PartialEq)]
    #[serde(default)]
    struct Item {
        name: Member<String>,
        weight: Member<f64>,
        others: List<String>,
    }

    #[test]
    fn an_invalid_member_does_not_affect_the_others() {
        let item: Item =
            serde_json::from_value(json!({"name": 7, "weight": 2, "others": ["a", 1, " b ", ""]})).unwrap();
        let mut notes = Notes::default();
        assert_eq!((item.name.trimmed_text(), item.weight.get()), (None, Some(&2.0)));
        assert!(item.name.is_wrong());
        assert_eq!(item.others.trimmed_texts("others", &mut notes), ["a", "b"]);
        assert_eq!(notes.into_list(), ["an item of `others` is not a string, dropped"]);
    }

    #[test]
    fn a_list_is_no_item_and_one_item_is_a_list_of_one() {
        let listed = |value| serde_json::from_value::<List<Item>>(value).unwrap();
        let mut notes = Notes::default();
        let count = |list: List<Item>, notes: &mut Notes| list.read("an object", "items", notes).len();
        assert_eq!(count(listed(json!([["a", 1], {"name": "b"}, null])), &mut notes), 1);
        assert_eq!(count(listed(json!({"name": "b"})), &mut notes), 1);
        assert_eq!(count(listed(json!(null)), &mut notes), 0);
        assert_eq!(count(listed(json!("b")), &mut notes), 0);
        let dropped = "an item of `items` is not an object, dropped";
        assert_eq!(notes.into_list(), [dropped, dropped, "`items` is not a list, dropped"]);
    }
}
