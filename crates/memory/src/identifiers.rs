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
    /// Id of a message in the verbatim log (L2).
    MessageId
);
identifier!(
    /// Id of a session: a period of conversation on one channel.
    SessionId
);
identifier!(
    /// Id of an import run.
    ImportId
);
identifier!(
    /// Id of a turn: consecutive messages of the user, and the reply to them.
    TurnId
);
identifier!(
    /// Id of a node: event, thought, intention or expectation (L3, L4).
    NodeId
);
identifier!(
    /// Id of a person, place, organisation, pet or other named thing (L5).
    EntityId
);
identifier!(
    /// Id of an extracted proposal that the checks refused.
    RejectedId
);
identifier!(
    /// Id of a reflection that stored at least one thought.
    ReflectionId
);
identifier!(
    /// Id of a run of the slow cycle.
    CycleId
);
identifier!(
    /// Id of an erasure and its receipt.
    ErasureId
);
identifier!(
    /// Id of a decision about a proactive message.
    DecisionId
);
