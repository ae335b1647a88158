//! Who writes changes, and how much of each one's changes is known.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use memory::access::{INSTANCE_LENGTH_MAX, is_plain};
use serde::{Deserialize, Serialize};

/// Highest index that a change can have. A peer that sends a higher one is refused.
const INDEX_MAX: u64 = 1 << 52;

/// One home between two restores: the instance's name and a random incarnation, `name~0123456789abcdef` as text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Actor {
    name: String,
    incarnation: String,
}

/// A text that names no actor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an actor; an actor is NAME~INCARNATION, 16 hexadecimal digits after the sign")]
pub struct InvalidActor(String);

impl Actor {
    /// An actor of an instance.
    ///
    /// # Errors
    /// If the name is longer than 64 characters or needs quoting.
    pub fn new(name: &str, incarnation: u64) -> Result<Self, InvalidActor> {
        format!("{name}~{incarnation:016x}").parse()
    }

    /// The instance's name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl FromStr for Actor {
    type Err = InvalidActor;

    fn from_str(text: &str) -> Result<Self, InvalidActor> {
        let invalid = || InvalidActor(text.chars().take(100).collect());
        let (name, incarnation) = text.split_once('~').ok_or_else(invalid)?;
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if !is_plain(name, INSTANCE_LENGTH_MAX) || incarnation.len() != 16 || !incarnation.bytes().all(is_hex)
        {
            return Err(invalid());
        }
        Ok(Self { name: name.to_owned(), incarnation: incarnation.to_owned() })
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}~{}", self.name, self.incarnation)
    }
}

impl TryFrom<String> for Actor {
    type Error = InvalidActor;
    fn try_from(text: String) -> Result<Self, InvalidActor> {
        text.parse()
    }
}

impl From<Actor> for String {
    fn from(actor: Actor) -> String {
        actor.to_string()
    }
}

/// The highest index that is known of each actor; 0 of those that are not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VersionVector(BTreeMap<Actor, u64>);

impl VersionVector {
    /// The highest known index of an actor.
    pub fn of(&self, actor: &Actor) -> u64 {
        self.0.get(actor).copied().unwrap_or_default()
    }

    /// Whether a change is covered.
    pub fn has_seen(&self, actor: &Actor, index: u64) -> bool {
        self.of(actor) >= index
    }

    /// Notes a change.
    pub fn raise(&mut self, actor: &Actor, index: u64) {
        if index > self.of(actor) {
            self.0.insert(actor.clone(), index);
        }
    }

    /// Notes all that the other has seen.
    pub fn join(&mut self, other: &Self) {
        other.0.iter().for_each(|(actor, index)| self.raise(actor, *index));
    }

    /// Whether all that the other has seen is covered.
    pub fn covers(&self, other: &Self) -> bool {
        other.0.iter().all(|(actor, index)| self.has_seen(actor, *index))
    }

    /// Actors and their indexes, in the order of the actors.
    pub fn iter(&self) -> impl Iterator<Item = (&Actor, u64)> {
        self.0.iter().map(|(actor, index)| (actor, *index))
    }

    /// Whether every index can be one of a change.
    pub fn is_plausible(&self) -> bool {
        self.0.values().all(|index| (1..=INDEX_MAX).contains(index))
    }
}

impl FromIterator<(Actor, u64)> for VersionVector {
    fn from_iter<T: IntoIterator<Item = (Actor, u64)>>(entries: T) -> Self {
        Self(entries.into_iter().collect())
    }
}
