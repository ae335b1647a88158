//! What the words that are left still prove.

use std::fmt::Write as _;

use crate::messages::Role;
use crate::nodes::DESCRIPTION_LENGTH_MAX;
use crate::text::{Language, language};

/// A quote that a node rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quoted<'a> {
    /// Who said it.
    pub role: Role,
    /// The words.
    pub quote: &'a str,
}

/// A repeated mention that was merged into a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mentioned<'a> {
    /// The text that was merged away.
    pub description: &'a str,
}

/// The words under a node, in the order in which they were said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proven<'a> {
    /// Its quotes.
    pub quotes: Vec<Quoted<'a>>,
    /// Its repeated mentions, oldest first.
    pub mentions: Vec<Mentioned<'a>>,
}

impl Proven<'_> {
    /// A description that says nothing but this: the newest mention, which was written from words that are left, else
    /// the quotes themselves with their speaker. Empty without either.
    pub fn description(&self) -> String {
        if let Some(mention) = self.mentions.last() {
            return mention.description.to_owned();
        }
        let mut text = String::new();
        for Quoted { role, quote } in &self.quotes {
            if !text.is_empty() {
                text.push(' ');
            }
            // Writing to a string does not fail.
            let _ = match (language(quote), role) {
                (Language::Chinese, Role::User) => write!(text, "用户说:「{quote}」"),
                (Language::Chinese, Role::Persona) => write!(text, "对方说:「{quote}」"),
                (Language::English, Role::User) => write!(text, "The user said: “{quote}”"),
                (Language::English, Role::Persona) => write!(text, "The persona said: “{quote}”"),
            };
        }
        text.chars().take(DESCRIPTION_LENGTH_MAX).collect()
    }
}

/// How often something was said: once where quotes of its own session are left, and once for each mention. Never 0.
pub fn mention_count(has_own_quotes: bool, mentions: usize) -> u32 {
    u32::try_from(mentions).unwrap_or(u32::MAX).saturating_add(u32::from(has_own_quotes)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_speak_for_themselves_with_their_speaker() {
        let quotes = vec![
            Quoted { role: Role::User, quote: "我养了一只猫" },
            Quoted { role: Role::Persona, quote: "I will ask about it on Monday" },
        ];
        let proven = Proven { quotes, mentions: Vec::new() };
        assert_eq!(
            proven.description(),
            "用户说:「我养了一只猫」 The persona said: “I will ask about it on Monday”"
        );
        assert_eq!(Proven::default().description(), "");
    }

    #[test]
    fn a_mention_from_words_that_are_left_says_it_better() {
        let quotes = vec![Quoted { role: Role::User, quote: "chess again" }];
        let mentions = vec![Mentioned { description: "older" }, Mentioned { description: "plays chess" }];
        assert_eq!(Proven { quotes, mentions }.description(), "plays chess");
    }

    #[test]
    fn what_is_there_was_said_at_least_once() {
        assert_eq!(
            [
                mention_count(true, 2),
                mention_count(false, 2),
                mention_count(true, 0),
                mention_count(false, 0)
            ],
            [3, 2, 1, 1]
        );
    }
}
