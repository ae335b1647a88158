//! Text in every script: folding, words and stems, sentences, quotes, questions, named times, estimated tokens.
//!
//! Pure functions and static word lists; no I/O, and no clock but the one passed in. This crate knows nothing of
//! messages and memories.

pub mod lexicon;
mod utterance;
mod terms;
mod grams;
mod segment;
mod stem;
mod names;
mod folded_names;
mod variants;
mod function_words;
mod borders;
mod quote;
mod questions;
mod replies;
mod correcting;
mod statements;
mod values;
mod sentences;
mod tokens;
mod times;
mod time_words;

pub use borders::at_word_borders;
pub use correcting::{CorrectionCue, correction_cue, denied_value};
pub use folded_names::{fold_name, is_named_in_text};
pub use function_words::{is_function_word, is_other_language};
pub use grams::{QueryGram, index_grams, query_grams};
pub use questions::ends_in_question;
pub use quote::find_quote;
pub use replies::{is_bare_denial, is_bare_reply, offers_choice};
pub use segment::{fold, is_han, is_unspaced};
pub use sentences::{Language, is_end_mark, split_sentences};
pub use statements::{Statement, statement_by_persona, statement_by_user};
pub use terms::{
    Phrase, QueryTerm, border_terms, content_terms, content_word_ranges, index_terms, query_terms,
};
pub use time_words::{asks_for_time, names_time_ahead, tells_when};
pub use times::{TimePhrase, named_times, names_due_time, time_phrases, to_moments};
pub use tokens::estimate_tokens;
pub use utterance::{Utterance, spaced_words};
pub use values::{CommonValue, Values, common_value, contradicts, given_names, puts_in_doubt};
