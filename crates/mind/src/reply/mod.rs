//! The reply's prompt.
//!
//! [`mod@render`] lays out the sections in their fixed order, omits empty ones, and cuts what does not fit the
//! [`ReplyBudget`] in the order of the table in [`budget`]. Core blocks (L1), the persona's facts, the time, the
//! mood, the style rules and the last message are never cut.

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
