//! Forgetting: what goes when the words that it rested on go.

mod withdraw;

pub use withdraw::{Dependents, Support, SupportingQuote, Withdrawn, still_holds};
