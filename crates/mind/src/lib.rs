//! All requests to a language model: prompts, contracts, parsing, repair.
//!
//! [`LanguageMind`] has three uses. As a [`memory::ports::Mind`] it is asked what is worth remembering of a session,
//! what that replaces, what to conclude from recent events and what to think of between sessions; for a turn it
//! renders the reply's prompt ([`LanguageMind::render_reply`]) and streams the reply
//! ([`LanguageMind::stream_reply`]).
//!
//! Rules for every request:
//! - the model never sees an id, a channel or the name of a transport: ids become handles (`m1`, `k1`, `e1`) that are
//!   valid for one call and mapped back; an unknown handle is dropped, never looked up;
//! - text of other authors is data: it never starts a line of a prompt, so that it can't imitate one of ours;
//! - an answer is parsed item by item: an item that violates the contract is refused, clamped or dropped with a note,
//!   without affecting the others;
//! - every call is reported to the ledger, including failed and abandoned ones.

mod extraction;
mod parsed;
mod language_mind;
mod reconciliation;
mod reflection;
mod rollup;
mod relations;
mod slow_cycle;
mod persona_draft;
mod proactive;
pub mod reply;

pub mod answer;
pub mod contract;
mod handles;

mod calendar;
mod prompts;
mod prompt_samples;
mod quoted;
mod vocabulary;

mod observer;

pub use language_mind::LanguageMind;
pub use llm::{LlmError, StreamEvent, Usage};
pub use observer::{CallInFlight, CallObserver, OUTCOME_OK as CALL_OK, Purpose};
pub use persona_draft::{PersonaDraft, PersonaDraftAnswer, PersonaDraftInput};
pub use proactive::{ProactiveDraft, ProactiveError, ProactiveInput};
pub use prompts::{PromptError, PromptName, Prompts};
pub use reply::{
    Passage, PassageLine, PersonaFacts, RenderedReply, ReplyBudget, ReplyInput, ReplyStream, UncertainPair,
};
