//! The reply's prompt: what the persona has before its eyes when it answers.
//!
//! [`mod@render`] lays out the sections in their fixed order, leaves empty ones away, and cuts what does not fit the
//! [`ReplyBudget`] in the order of [`budget`]'s table. The L1 blocks, the persona's facts, the clock, the mood,
//! the style rules and the last message of the burst are never cut.

mod budget;
mod context;
mod input;
mod render;
mod sections;
mod corrected;
mod stream;

pub use budget::ReplyBudget;
pub use input::{Passage, PassageLine, PersonaFacts, ReplyInput, UncertainPair};
pub use render::{RenderedReply, render};
pub use stream::ReplyStream;

pub(crate) use context::{SystemContext, UserContext};
