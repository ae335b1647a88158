//! The versions that a client without version vectors has seen of each document.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest as _, Sha256};

use crate::names::DocumentName;
use crate::version_vector::VersionVector;

/// The version of each document that a client has: the one it pulled last, or its own later push. Documents are
/// identified by a digest of their names, so that an erased name is not stored here.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct ClientBase(BTreeMap<String, VersionVector>);

impl ClientBase {
    /// Changes of this document that the client has seen; empty if it never had it.
    pub fn for_name(&self, name: &DocumentName) -> VersionVector {
        self.0.get(&document_key(name)).cloned().unwrap_or_default()
    }

    /// True if the client ever had this document.
    pub fn has_document(&self, name: &DocumentName) -> bool {
        self.0.contains_key(&document_key(name))
    }

    /// Notes that the client has this version instead of the former one.
    pub fn replace_seen(&mut self, name: &DocumentName, seen: VersionVector) {
        self.0.insert(document_key(name), seen);
    }

    /// Notes that the client knows of the document's erasure.
    pub(crate) fn remove(&mut self, name: &DocumentName) {
        self.0.remove(&document_key(name));
    }

    /// Notes that the client has seen this version in addition to the one that it has.
    pub fn add_seen(&mut self, name: &DocumentName, seen: &VersionVector) {
        self.0.entry(document_key(name)).or_default().join(seen);
    }
}

/// The first 16 bytes of the digest of a name, in hexadecimal.
fn document_key(name: &DocumentName) -> String {
    hex::encode(&Sha256::digest(name.to_string())[..16])
}

impl<'de> Deserialize<'de> for ClientBase {
    /// Deserializes a base. Homes of an older version stored one set of counters for all documents here. That says
    /// nothing about any single document and is dropped, so that the client's next edit is compared rather than
    /// trusted.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = BTreeMap::<String, serde_json::Value>::deserialize(deserializer)?;
        let read = |(key, value)| Some((key, serde_json::from_value(value).ok()?));
        Ok(Self(entries.into_iter().filter_map(read).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_is_kept_for_each_document_and_holds_no_name() {
        let name = |stem| DocumentName::parse("significant", stem).unwrap();
        let (dog, cat) = (name("2026-07-01_dog"), name("2026-07-01_cat"));
        let mut base = ClientBase::default();
        base.replace_seen(&dog, VersionVector::default().with_change(&"a".parse().unwrap(), 4));
        let json = serde_json::to_string(&base).unwrap();
        assert!(!json.contains("dog"), "{json}");
        let read: ClientBase = serde_json::from_str(&json).unwrap();
        assert_eq!(read, base);
        assert!(read.has_document(&dog) && !read.has_document(&cat) && read.for_name(&cat).is_empty());
    }

    #[test]
    fn counters_of_older_homes_are_read_as_no_base() {
        let read: ClientBase = serde_json::from_str(r#"{"laptop": 7}"#).unwrap();
        assert_eq!(read, ClientBase::default());
    }
}
