//! Identifiers: UUIDv7 in code and in the database, strings on the wire, never shown to a model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(formatter)
            }
        }

        impl std::str::FromStr for $name {
            type Err = uuid::Error;
            fn from_str(text: &str) -> Result<Self, uuid::Error> {
                Uuid::parse_str(text).map(Self)
            }
        }
    };
}

identifier!(
    /// A message of the verbatim log (L2).
    MessageId
);
identifier!(
    /// A session: one stretch of talk on one channel.
    SessionId
);
identifier!(
    /// A run that recorded what another program exported.
    ImportId
);
identifier!(
    /// A turn: a burst of the user's messages and the reply to it.
    TurnId
);
identifier!(
    /// A concept node: event, thought, intention or expectation (L3, L4).
    NodeId
);
identifier!(
    /// A person, place, organisation, pet or other named thing (L5).
    EntityId
);
identifier!(
    /// A proposal of extraction that the checks refused.
    RejectedId
);
identifier!(
    /// One run of reflection that stored at least one thought.
    ReflectionId
);
identifier!(
    /// One run of the slow cycle.
    CycleId
);
identifier!(
    /// One act of erasing, and its receipt.
    ErasureId
);
identifier!(
    /// A decision to send a message without being asked, or not to.
    DecisionId
);
