//! Forgotten text in messages that stay: it does not become a memory again.

use crate::consolidate::evidence_for_quote;
use crate::identifiers::MessageId;
use crate::messages::Message;
use crate::nodes::{Evidence, RejectedQuote, Subject};
use crate::text::{content_terms, content_word_ranges, find_quote, split_sentences};

/// Replaces forgotten text in a transcript. The brackets separate it from an adjacent name: a bare ellipsis would
/// look like a pause after somebody was addressed.
const FORGOTTEN_TEXT_MARK: &str = "[…]";
/// Minimum share of a message's content terms in a sentence that repeats it.
const REPEATED_SHARE: f64 = 0.5;

/// A span of a message that was the evidence of a memory that a person had forgotten. It holds no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ForgottenSpan {
    pub message_id: MessageId,
    /// The first character of the span, counted in characters of the message.
    pub start: u32,
    /// The character after the span.
    pub end: u32,
}

impl ForgottenSpan {
    fn contains(&self, position: u32) -> bool {
        self.start <= position && position < self.end
    }

    /// The span of the same text after its message was edited; `None` if the text is gone. It is searched at its old
    /// position first, then from the beginning.
    pub fn relocate_after_edit(&self, before: &str, after: &str) -> Option<Self> {
        let (start, length) = (self.start as usize, self.end.saturating_sub(self.start) as usize);
        let words: String = before.chars().skip(start).take(length).collect();
        if words.is_empty() {
            return None;
        }
        if after.chars().skip(start).take(length).eq(words.chars()) {
            return Some(*self);
        }
        let (start, end) = find_quote(after, &words)?;
        Some(Self { start: u32::try_from(start).ok()?, end: u32::try_from(end).ok()?, ..*self })
    }
}

/// True if all of this evidence is forgotten: each quote lies within forgotten spans, apart from white space,
/// punctuation and function words around them. A quote that reaches further is evidence of its own.
pub fn is_forgotten(evidence: &[Evidence], spans: &[ForgottenSpan]) -> bool {
    !evidence.is_empty() && evidence.iter().all(|quote| is_quote_forgotten(quote, spans))
}

/// True if the quotes of a refused memory are forgotten. A quote that is not found in any message is not.
pub fn are_quotes_forgotten(quotes: &[RejectedQuote], messages: &[Message], spans: &[ForgottenSpan]) -> bool {
    let locate = |quote: &RejectedQuote| {
        let message = messages.iter().find(|message| Some(message.id) == quote.message_id)?;
        evidence_for_quote(message, &quote.quote, Subject::Shared)
    };
    let located: Option<Vec<Evidence>> = quotes.iter().map(locate).collect();
    located.is_some_and(|evidence| is_forgotten(&evidence, spans))
}

/// True if only gaps and function words remain of a message.
pub fn has_no_content_left(message: &Message) -> bool {
    message.content.contains(FORGOTTEN_TEXT_MARK)
        && content_terms(&message.content.replace(FORGOTTEN_TEXT_MARK, " ")).is_empty()
}

/// The messages with forgotten text replaced by an ellipsis, for extraction and summaries: so no summary, mood or
/// name can be made of it again.
pub fn without_forgotten(messages: Vec<Message>, spans: &[ForgottenSpan]) -> Vec<Message> {
    let without = |message: Message| {
        let own: Vec<&ForgottenSpan> = spans.iter().filter(|span| span.message_id == message.id).collect();
        if own.is_empty() {
            return message;
        }
        let mut content = String::with_capacity(message.content.len());
        for (position, character) in (0_u32..).zip(message.content.chars()) {
            match own.iter().any(|span| span.contains(position)) {
                false => content.push(character),
                true if content.ends_with(FORGOTTEN_TEXT_MARK) => {}
                true => content.push_str(FORGOTTEN_TEXT_MARK),
            }
        }
        Message { content, ..message }
    };
    messages.into_iter().map(without).collect()
}

/// The sentences of a text that repeat this text, each as its first character and the one after its last: where the
/// persona has repeated something that must not come up again.
pub fn sentences_repeating(words: &str, text: &str) -> Vec<(u32, u32)> {
    let terms = content_terms(words);
    let repeats = |sentence: &str| {
        let said = content_terms(sentence);
        let again = terms.intersection(&said).count();
        again > 0 && again as f64 >= REPEATED_SHARE * terms.len() as f64
    };
    let mut found = Vec::new();
    let (mut bytes, mut characters) = (0, 0);
    for sentence in split_sentences(text) {
        let Some(before) = text[bytes..].find(sentence) else { continue };
        let start = characters + text[bytes..bytes + before].chars().count();
        characters = start + sentence.chars().count();
        bytes += before + sentence.len();
        if repeats(sentence)
            && let (Ok(start), Ok(end)) = (u32::try_from(start), u32::try_from(characters))
        {
            found.push((start, end));
        }
    }
    found
}

fn is_quote_forgotten(quote: &Evidence, spans: &[ForgottenSpan]) -> bool {
    let here: Vec<&ForgottenSpan> = spans.iter().filter(|span| span.message_id == quote.message_id).collect();
    let characters = quote.quote.char_indices().zip(quote.start..quote.end);
    let (forgotten, left): (Vec<_>, Vec<_>) =
        characters.partition(|&(_, position)| here.iter().any(|span| span.contains(position)));
    // The terms are those of the whole quote: the remaining part alone may read as other words.
    let words = content_word_ranges(&quote.quote);
    !forgotten.is_empty() && !left.iter().any(|((at, _), _)| words.iter().any(|word| word.contains(at)))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use jiff::civil::date;
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use crate::identifiers::SessionId;
    use crate::messages::Role;
    use crate::scope::{PersonaId, Scope, UserId};

    const MESSAGE: MessageId = MessageId(Uuid::from_u128(1));

    fn span(start: u32, end: u32) -> ForgottenSpan {
        ForgottenSpan { message_id: MESSAGE, start, end }
    }

    fn message(said: &str) -> Message {
        Message {
            id: MESSAGE,
            seq: 1,
            scope: Scope::new(PersonaId::new("p").unwrap(), UserId::new("u").unwrap()),
            session_id: SessionId(Uuid::nil()),
            turn_id: None,
            channel_id: "c".to_owned(),
            role: Role::User,
            speaker: None,
            model: None,
            content: said.to_owned(),
            token_count: 1,
            day: date(2026, 1, 1),
            created_at: Timestamp::UNIX_EPOCH,
            incomplete: false,
        }
    }

    fn quote(message: &str, start: u32, end: u32) -> Evidence {
        let words = message.chars().skip(start as usize).take((end - start) as usize).collect();
        Evidence { message_id: MESSAGE, quote: words, start, end }
    }

    #[test]
    fn words_that_lie_in_what_is_forgotten_prove_nothing_again() {
        let said = "我养了一只猫,叫小黑。我搬到了杭州";
        let forgotten = [span(0, 10)];
        assert!(is_forgotten(&[quote(said, 3, 6)], &forgotten));
        assert!(is_forgotten(&[quote(said, 0, 11)], &forgotten), "a full stop more is nothing more");
        assert!(!is_forgotten(&[quote(said, 11, 17)], &forgotten), "other words of the message");
        assert!(!is_forgotten(&[quote(said, 0, 17)], &forgotten), "more words than those");
        assert!(!is_forgotten(&[quote(said, 0, 6), quote(said, 11, 17)], &forgotten));
        assert!(!is_forgotten(&[], &forgotten));
    }

    #[test]
    fn a_word_of_which_only_a_part_is_forgotten_is_left() {
        let said = "猫 az";
        assert!(is_forgotten(&[quote(said, 0, 4)], &[span(0, 1)]), "az is a function word");
        assert!(is_forgotten(&[quote(said, 0, 4)], &[span(0, 3)]), "its z alone is none");
        assert!(!is_forgotten(&[quote("猫 azure", 0, 7)], &[span(0, 4)]));
    }

    #[test]
    fn a_bare_yes_that_nobody_forgot_is_not_forgotten() {
        assert!(!is_forgotten(&[quote("嗯", 0, 1)], &[]));
        let other = ForgottenSpan { message_id: MessageId(Uuid::from_u128(2)), ..span(0, 9) };
        assert!(!is_forgotten(&[quote("yes", 0, 3)], &[other]));
    }

    #[test]
    fn a_place_follows_its_words_through_an_edit() {
        let before = "I have a dog. I live in Bonn";
        assert_eq!(span(0, 12).relocate_after_edit(before, "I have a dog. I live in Ulm"), Some(span(0, 12)));
        assert_eq!(span(0, 12).relocate_after_edit(before, "Well, I have a dog."), Some(span(6, 18)));
        assert_eq!(span(0, 12).relocate_after_edit(before, "I have a cat. I live in Bonn"), None);
        assert_eq!(span(9, 9).relocate_after_edit(before, before), None);
    }

    proptest! {
        /// Forgetting more never brings anything back. The result is the message without its forgotten characters,
        /// with one gap for each stretch.
        #[test]
        fn forgetting_more_never_brings_back(
            said in "[a-z猫狗小黑 ,。]{1,24}",
            one in (0_u32..24, 0_u32..24),
            other in (0_u32..24, 0_u32..24),
            quoted in (0_u32..24, 1_u32..24),
        ) {
            let span = |(start, length): (u32, u32)| span(start, start + length);
            let length = u32::try_from(said.chars().count()).unwrap_or(u32::MAX);
            let start = quoted.0.min(length - 1);
            let evidence = [quote(&said, start, (start + quoted.1).min(length))];
            let (less, more) = ([span(one)], [span(one), span(other)]);
            prop_assert!(!is_forgotten(&evidence, &less) || is_forgotten(&evidence, &more));
            for spans in [&less[..], &more] {
                let is_left = |position: u32| !spans.iter().any(|span| span.contains(position));
                let (mut left, mut gaps) = (String::new(), 0);
                for (position, character) in (0_u32..).zip(said.chars()) {
                    match is_left(position) {
                        true => left.push(character),
                        false if position == 0 || is_left(position - 1) => gaps += 1,
                        false => {}
                    }
                }
                let shown = without_forgotten(vec![message(&said)], spans).remove(0).content;
                prop_assert_eq!(shown.matches(FORGOTTEN_TEXT_MARK).count(), gaps);
                prop_assert_eq!(shown.replace(FORGOTTEN_TEXT_MARK, ""), left);
            }
        }

        /// An edit that changes nothing leaves every span in place.
        #[test]
        fn an_unchanged_message_keeps_its_places(said in "\\PC{1,20}", start in 0_u32..20, length in 1_u32..20) {
            let moved = span(start, start + length).relocate_after_edit(&said, &said);
            let inside = start < u32::try_from(said.chars().count()).unwrap_or(0);
            prop_assert_eq!(moved.is_some(), inside);
        }
    }
}
