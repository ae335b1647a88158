//! Values of which neither side had seen the other.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::row::{Field, RowKey};

/// One field with two concurrent values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FieldConflict {
    /// Its name.
    pub field: String,
    /// The value that is shown.
    pub kept: Field,
    /// The other one.
    pub lost: Field,
}

/// A conflict that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictRecord {
    /// Its number on this machine.
    pub id: i64,
    /// The row.
    pub row: RowKey,
    /// The field.
    pub field: String,
    /// The text that is shown.
    pub shown: String,
    /// The text that is not.
    pub other: String,
    /// When this machine noticed it.
    pub opened_at: Timestamp,
}
