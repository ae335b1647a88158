//! What the memory knows of text: words in every script, quotes, sentences, tokens.

mod terms;
mod segment;
mod stem;
mod names;
mod variants;
mod function_words;
mod borders;
mod quote;
mod replies;
mod statements;
mod sentences;
mod tokens;
mod times;
mod time_words;

pub use borders::at_word_borders;
pub(crate) use function_words::is_function_word;
pub use quote::find_quote;
pub use replies::is_bare_reply;
pub(crate) use replies::{asks, is_bare_denial, offers_choice};
pub use segment::fold;
pub(crate) use segment::is_unspaced;
pub use sentences::{Language, language, split_sentences};
pub(crate) use statements::{Stated, stated};
pub use terms::{QueryTerm, content_terms, index_terms, query_terms};
pub(crate) use time_words::{asks_when, tells_when};
pub use times::{TimePhrase, moments, named_times, time_phrases};
pub use tokens::estimate_tokens;
