//! What becomes of a memory that loses words: the one rule behind editing, regenerating, deleting and erasing.

use std::fmt::Write as _;

use super::lost_words::holds_lost_words;
use crate::messages::Role;
use crate::nodes::{DESCRIPTION_LENGTH_MAX, Subject};
use crate::text::{Language, is_bare_reply};

/// Why words are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossReason {
    /// The message was edited, or another reply replaced it: it was not meant.
    Edited,
    /// A person had the message forgotten: none of its words may remain.
    Forgotten,
}

/// A quote that a memory depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SupportingQuote<'a> {
    pub speaker: Role,
    pub quote: &'a str,
    /// Index terms of the whole message ([`crate::text::index_terms`]), as they were.
    pub terms: &'a str,
    /// True if the quoted words have not been erased.
    pub is_left: bool,
    /// True if its session becomes memory again, so that what it proves will be found again.
    pub becomes_memory_again: bool,
}

/// A repeated mention that was merged into a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SupportingMention<'a> {
    /// The text that was merged away.
    pub description: &'a str,
    /// True if the words that it was written from are still there.
    pub is_left: bool,
}

/// Support of a memory when parts of its evidence are lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Support<'a> {
    pub subject: Subject,
    pub description: &'a str,
    /// Quotes of the node, in the order in which they were said.
    pub quotes: Vec<SupportingQuote<'a>>,
    /// The node's repeated mentions, oldest first.
    pub mentions: Vec<SupportingMention<'a>>,
    /// True if a person has vouched for it: approved it, or written its text.
    pub word_of_person: bool,
    /// True if the memory was concluded from other memories, and is decided with them.
    pub cites: bool,
    /// True if an earlier loss of evidence has reduced its description to what the remaining quotes say.
    pub is_reduced: bool,
    /// Index terms of what goes of the session that it was written from.
    pub gone: Vec<&'a str>,
    /// Index terms of what stays of that session.
    pub left: Vec<&'a str>,
}

/// The decision about a memory that lost evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SupportDecision {
    /// The node stays as it is.
    Keep,
    /// The node stays, with this text.
    Rewrite(String),
    Remove,
}

impl Support<'_> {
    /// The rule. A memory goes when the quotes that are left do not prove it ([`quotes_prove`]), or when it has none and holds
    /// words that only the lost ones said ([`holds_lost_words`]). One that is proven but holds such words says what is
    /// left of it, or goes if that will be found again. A person's word outweighs what was unsaid, never what was
    /// forgotten.
    pub fn decide_after_loss(&self, loss: LossReason) -> SupportDecision {
        let vouched = self.word_of_person && loss == LossReason::Edited;
        if vouched || (self.quotes.is_empty() && self.cites) {
            return SupportDecision::Keep;
        }
        let loses_words = self.loses_words(self.description);
        if self.quotes.is_empty() {
            return if loses_words { SupportDecision::Remove } else { SupportDecision::Keep };
        }
        let left: Vec<SupportingQuote<'_>> = self.quotes.iter().filter(|q| q.is_left).copied().collect();
        let holds = if self.word_of_person { !left.is_empty() } else { quotes_prove(self.subject, &left) };
        if left.len() < self.quotes.len() && !holds {
            return SupportDecision::Remove;
        }
        let says_less = loses_words || (self.is_reduced && self.description == self.text_before_loss());
        if !says_less {
            return SupportDecision::Keep;
        }
        if loss == LossReason::Edited && left.iter().all(|quote| quote.becomes_memory_again) {
            return SupportDecision::Remove;
        }
        let mentions: Vec<SupportingMention<'_>> =
            self.mentions.iter().filter(|m| m.is_left).copied().collect();
        let says = describe_support(&left, &mentions);
        if says == self.description { SupportDecision::Keep } else { SupportDecision::Rewrite(says) }
    }

    /// True if the text contains words that no remaining message supports, only erased ones: messages of its own session, or
    /// messages of other sessions that it quotes.
    fn loses_words(&self, text: &str) -> bool {
        let quoted = |is_left: bool| {
            self.quotes.iter().filter(move |quote| quote.is_left == is_left).map(|quote| quote.terms)
        };
        let gone: Vec<&str> = self.gone.iter().copied().chain(quoted(false)).collect();
        let left: Vec<&str> = self.left.iter().copied().chain(quoted(true)).collect();
        holds_lost_words(text, &gone, &left)
    }

    /// The text reduced to what its evidence supported before.
    fn text_before_loss(&self) -> String {
        describe_support(&self.quotes, &self.mentions)
    }
}

/// True if quotes prove a memory about this subject: one of the speaker whom it requires, and a bare yes or no of the user
/// is none without the question that it answers.
pub fn quotes_prove(subject: Subject, quotes: &[SupportingQuote<'_>]) -> bool {
    let by = |speaker| quotes.iter().any(move |quote| quote.speaker == speaker);
    match subject {
        Subject::Persona => by(Role::Persona),
        Subject::Shared => quotes.iter().any(|quote| quote.speaker != Role::Other),
        Subject::User => {
            let own_words =
                |quote: &SupportingQuote<'_>| quote.speaker == Role::User && !is_bare_reply(quote.quote);
            quotes.iter().any(own_words) || (by(Role::User) && by(Role::Persona))
        }
    }
}

/// Number of times that something was said: once in its own session if quotes of it are left, and once for each later mention. At least 1.
pub fn mention_count(has_own_quotes: bool, mentions: usize) -> u32 {
    u32::try_from(mentions).unwrap_or(u32::MAX).saturating_add(u32::from(has_own_quotes)).max(1)
}

/// A description that says nothing but this: the newest mention, which was written from words that are left, else the
/// quotes themselves with their speaker. Empty without either.
fn describe_support(quotes: &[SupportingQuote<'_>], mentions: &[SupportingMention<'_>]) -> String {
    if let Some(mention) = mentions.last() {
        return mention.description.to_owned();
    }
    let mut text = String::new();
    for SupportingQuote { speaker, quote, .. } in quotes {
        if !text.is_empty() {
            text.push(' ');
        }
        // Writing to a string does not fail.
        let _ = match (Language::from_text(quote).unwrap_or_default(), speaker) {
            (Language::Chinese, Role::User) => write!(text, "用户说:「{quote}」"),
            (Language::Chinese, Role::Persona) => write!(text, "对方说:「{quote}」"),
            (Language::English, Role::User) => write!(text, "The user said: “{quote}”"),
            (Language::English, Role::Persona) => write!(text, "The persona said: “{quote}”"),
            (Language::Chinese, Role::Other) => write!(text, "别人说:「{quote}」"),
            (Language::English, Role::Other) => write!(text, "Somebody else said: “{quote}”"),
        };
    }
    text.chars().take(DESCRIPTION_LENGTH_MAX).collect()
}

#[cfg(test)]
mod tests;
