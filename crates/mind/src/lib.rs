//! Every question asked of a language model: prompts, contracts, parsing, repair.
//!
//! [`LanguageMind`] asks in three ways. As a [`memory::ports::Mind`] it is asked what is worth remembering of a
//! session, what it replaces, what to make of recent events and what to think of between talks; for a turn it renders the reply's prompt
//! ([`LanguageMind::render_reply`]) and streams the reply ([`LanguageMind::stream_reply`]).
//!
//! What holds for each question:
//! - the model never sees an id, a channel or the name of a transport: ids become handles (`m1`, `k1`, `e1`) that
//!   are minted for one call and mapped back; a handle that was not minted is dropped, never looked up;
//! - what somebody else wrote is data: it never starts a line of a prompt, so it can't pose as one of ours;
//! - an answer is read item by item: what breaks the contract is refused, clamped or dropped with a note, and
//!   costs nothing else;
//! - the ledger is told of every call, failed and abandoned ones included.

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
