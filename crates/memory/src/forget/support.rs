//! The rule for memories that lose evidence, used by editing, regenerating, deleting and erasing.

use std::fmt::Write as _;

use super::lost_words::has_removed_words;
use crate::messages::Role;
use crate::nodes::{DESCRIPTION_LENGTH_MAX, Subject};
use crate::text::{Language, is_bare_reply};

/// Why evidence was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossReason {
    /// The message was edited, or another reply replaced it, so the old text was not meant.
    Edited,
    /// A person had the message forgotten: none of its text may remain.
    Forgotten,
}

/// A quote that a memory depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SupportingQuote<'a> {
    pub speaker: Role,
    pub quote: &'a str,
    /// Index terms of the whole message ([`crate::text::index_terms`]) before its loss.
    pub terms: &'a str,
    /// True if the quoted text has not been erased.
    pub is_left: bool,
    /// True if its session will be extracted again, so that its content will be found again.
    pub becomes_memory_again: bool,
}

/// A repeated mention that was merged into a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SupportingMention<'a> {
    /// The text that was merged away.
    pub description: &'a str,
    /// True if its evidence still exists.
    pub is_left: bool,
}

/// Evidence of a memory that has lost some of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Support<'a> {
    pub subject: Subject,
    pub description: &'a str,
    /// Quotes of the node, in chronological order.
    pub quotes: Vec<SupportingQuote<'a>>,
    /// The node's repeated mentions, oldest first.
    pub mentions: Vec<SupportingMention<'a>>,
    /// True if a person approved the memory, or wrote its text.
    pub word_of_person: bool,
    /// True if the memory was derived from other memories, whose fate it shares.
    pub cites: bool,
    /// True if an earlier loss of evidence has reduced its description to what the remaining quotes say.
    pub is_reduced: bool,
    /// Index terms of the removed texts of its session.
    pub gone: Vec<&'a str>,
    /// Index terms of the remaining texts of its session.
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
    /// Decides about a memory that lost evidence. It is removed if the remaining quotes do not support it
    /// ([`quotes_prove`]), or if it has no quotes and contains words that only lost texts had ([`has_removed_words`]).
    /// A supported memory with such words is reduced to its remaining evidence, or removed if extraction will find
    /// that again. A person's approval outweighs edited messages, never forgotten ones.
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
        has_removed_words(text, &gone, &left)
    }

    /// The text reduced to what its evidence supported before.
    fn text_before_loss(&self) -> String {
        describe_support(&self.quotes, &self.mentions)
    }
}

/// True if quotes support a memory about this subject: one is by the required speaker, and a bare yes or no of the
/// user needs the question that it answers.
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

/// Number of times that a statement was made: once in its own session if quotes of it are left, and once for each
/// later mention. At least 1.
pub fn mention_count(has_own_quotes: bool, mentions: usize) -> u32 {
    u32::try_from(mentions).unwrap_or(u32::MAX).saturating_add(u32::from(has_own_quotes)).max(1)
}

/// A description with nothing but the remaining evidence: the newest mention whose evidence still exists, else the
/// quotes with their speakers. Empty if there is neither.
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
