//! Corrections: older memories that a sentence replaces, and statements that it withdraws.

use text::lexicon::{names, self_statements, speech};
use text::{CorrectionCue, Utterance, content_terms, correction_cue, denied_value, names_time_ahead};

use super::drafts::Event;
use super::{Message, RuleContext, SentenceWeight};
use crate::rewrite::quote_user;
use crate::sentences::{Clause, Language, split_clauses};

/// Maximum length of a message, in characters, that only withdraws the one before it, such as "no, forget that".
const RETRACTION_LENGTH_MAX: usize = 30;
/// A retraction refers to the memory of which it contains this share and number of content terms. Withdrawing the
/// wrong memory is worse than asking again.
const NAMED_TERM_SHARE_MIN: f64 = 0.6;
const NAMED_TERMS_MIN: usize = 2;
/// Content terms by which descriptions refer to the user.
const USER_TERMS: [&str; 3] = ["user", "用", "户"];

/// True if a message only withdraws the one before it: "scratch that", 当我没说.
pub(super) fn withdraws_statement(text: &str) -> bool {
    correction_cue(text) == Some(CorrectionCue::Retracted) && text.chars().count() <= RETRACTION_LENGTH_MAX
}

/// True if a sentence that withdraws something contains the content words of this memory.
pub(crate) fn is_retraction_of(sentence: &str, older: &str) -> bool {
    let said = content_terms(sentence);
    let mut terms = content_terms(older);
    terms.retain(|term| !USER_TERMS.contains(&term.as_str()));
    let named = terms.iter().filter(|term| said.contains(*term)).count();
    named >= NAMED_TERMS_MIN && named as f64 >= NAMED_TERM_SHARE_MIN * terms.len() as f64
}

/// True if a sentence states a move or a new job of the user and this memory their former home or work, or if it
/// denies a value in the memory. Only an explicit change replaces a memory.
pub(crate) fn is_change_of(sentence: &str, older: &str) -> bool {
    let said = Utterance::new(sentence);
    let about_others =
        names::FAMILY.chinese.occur_in(sentence) || names::ACQUAINTANCE.chinese.occur_in(sentence);
    let own = (sentence.contains('我') && !about_others) || said.says_any(speech::I_AS_SUBJECT);
    let of_user = older.starts_with("用户") && !older.starts_with("用户的")
        || older.to_lowercase().starts_with("the user ");
    let remembered = Utterance::new(older);
    let fields =
        [(self_statements::MOVED, self_statements::HOME), (self_statements::NEW_JOB, self_statements::JOB)];
    denied_value(sentence).is_some_and(|value| older.contains(value))
        || own
            && of_user
            && split_clauses(sentence).iter().any(Clause::is_statement)
            && fields.into_iter().any(|(newer, older)| said.says_any(newer) && remembered.says_any(older))
}

impl RuleContext<'_> {
    /// Replaces a memory by a joke or denial that names it; another joke or denial leaves no memory.
    pub(super) fn retraction(&self, message: &Message, sentence: &str, language: Language) -> Option<Event> {
        let meant = self
            .nodes
            .iter()
            .filter(|node| is_retraction_of(sentence, &node.text))
            .map(|node| node.handle.clone());
        let meant: Vec<String> = if names_time_ahead(sentence) { Vec::new() } else { meant.collect() };
        let mut event = Event::user_event("event", quote_user(sentence, language, false));
        let mut finding = SentenceWeight::default();
        finding.add_tag_if(true, "correction");
        self.strengthen_event(&mut event, message, sentence, finding);
        event.supersedes = meant;
        (!event.supersedes.is_empty()).then_some(event)
    }

    /// Older memories that a sentence changes.
    pub(super) fn superseded_by(&self, sentence: &str) -> Vec<String> {
        let nodes = self.nodes.iter().filter(|node| is_change_of(sentence, &node.text));
        nodes.map(|node| node.handle.clone()).collect()
    }
}
