//! Names of fields in JSON and CSV files of unknown format, as mapped by a person.

use std::collections::BTreeMap;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The meaning of a message's field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FieldKind {
    /// The text of the message.
    Text,
    /// The speaker of the message.
    From,
    /// Role of the speaker: `user`, `assistant` or the like.
    Role,
    /// Time of the message.
    Time,
    /// The conversation that the message belongs to.
    Conversation,
    /// The id of the message.
    Id,
    /// The language model that wrote the message.
    Model,
}

impl FieldKind {
    const ALL: [(Self, &'static str); 7] = [
        (Self::Text, "text"),
        (Self::From, "from"),
        (Self::Role, "role"),
        (Self::Time, "time"),
        (Self::Conversation, "conversation"),
        (Self::Id, "id"),
        (Self::Model, "model"),
    ];
}

/// Names of a file's fields, by their meaning. In JSON a name may be a path: `message.text`. Case is ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct FieldNames(BTreeMap<FieldKind, String>);

/// The error for an invalid field name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a field mapping: use text=NAME, from=NAME, role=NAME, time=NAME, conversation=NAME, \
        id=NAME or model=NAME"
)]
pub struct InvalidFieldName(String);

impl FieldNames {
    /// Parses arguments such as `text=NAME`. A later name of a field replaces an earlier one.
    ///
    /// # Errors
    ///
    /// If an argument has another form.
    pub fn parse<'a>(named: impl IntoIterator<Item = &'a str>) -> Result<Self, InvalidFieldName> {
        let mut names = Self::default();
        for named in named {
            let (kind, name) = named.split_once('=').ok_or_else(|| InvalidFieldName(named.to_owned()))?;
            let kind = kind.trim().parse().map_err(|()| InvalidFieldName(named.to_owned()))?;
            if name.trim().is_empty() {
                return Err(InvalidFieldName(named.to_owned()));
            }
            names.0.insert(kind, name.trim().to_owned());
        }
        Ok(names)
    }

    /// True if no field is named.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn for_kind(&self, kind: FieldKind) -> Option<&str> {
        self.0.get(&kind).map(String::as_str)
    }
}

impl FromStr for FieldKind {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|(_, known)| *known == word).map(|(kind, _)| kind).ok_or(())
    }
}
