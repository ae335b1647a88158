//! Bare assent: a question of the persona is not a fact about the user. A bare yes only proves what it answers, so
//! the question is added as evidence, and the event must not say more than the question did.

use super::merge::count_negations;
use crate::messages::{Message, Role};
use crate::nodes::Evidence;
use crate::text::{self, Utterance, is_bare_denial, is_bare_reply, offers_choice, split_sentences};

/// Minimum share of a description's content words that the answered question must contain. A description may rephrase
/// the question, so not all are required; with fewer than half it means something else.
const ANSWERED_SHARE_MIN: f64 = 0.5;
/// Words that occur in every description of the user, and so carry no information.
const USER_WORDS: &[&str] = &["用", "户", "user"];

/// The question that a bare yes or no answers, as additional evidence; `None` if some quote is more than that.
///
/// # Errors
///
/// Why the yes is no evidence, for the model and for a person.
pub(super) fn answered_question(
    description: &str,
    evidence: &[Evidence],
    messages: &[Message],
) -> Result<Option<Evidence>, String> {
    if evidence.is_empty() || evidence.iter().any(|quote| !is_bare_reply(&quote.quote)) {
        return Ok(None);
    }
    let mut reason = "a yes or no is not evidence by itself: quote the message that states it".to_owned();
    for reply in evidence {
        match question_of(description, reply, messages) {
            Ok(question) => return Ok(Some(question)),
            Err(other) => reason = other,
        }
    }
    Err(reason)
}

fn question_of(description: &str, reply: &Evidence, messages: &[Message]) -> Result<Evidence, String> {
    let at = messages.iter().position(|message| message.id == reply.message_id);
    let at = at.filter(|at| messages.get(*at).is_some_and(|message| is_bare_reply(&message.content)));
    let Some(at) = at else {
        return Err("the message says more than yes or no: quote the words that state the fact".to_owned());
    };
    let before = messages.get(..at).unwrap_or_default();
    let asked = before.last().filter(|message| message.role == Role::Persona);
    let question =
        asked.and_then(|message| split_sentences(&message.content).pop().map(|last| (message, last)));
    let Some((message, question)) = question.filter(|(_, last)| Utterance::new(last).is_question()) else {
        return Err("this yes or no answers no question, so it states nothing".to_owned());
    };
    if offers_choice(question) {
        return Err("the question offered a choice, which a yes or no does not answer".to_owned());
    }
    if is_bare_denial(&reply.quote) && count_negations(description) == 0 {
        return Err("the answer was no, but the description says yes".to_owned());
    }
    if answered_share(description, question) < ANSWERED_SHARE_MIN {
        return Err("the description differs from the question that was answered: use its words".to_owned());
    }
    let (start, end) = text::find_quote(&message.content, question).unwrap_or_default();
    let place = |position: usize| u32::try_from(position).unwrap_or(u32::MAX);
    let quote: String = message.content.chars().skip(start).take(end - start).collect();
    Ok(Evidence { message_id: message.id, quote, start: place(start), end: place(end) })
}

/// Share of the description's content words that are in the question.
fn answered_share(description: &str, question: &str) -> f64 {
    let mut words = text::content_terms(description);
    words.retain(|word| !USER_WORDS.contains(&word.as_str()));
    let asked: std::collections::BTreeSet<String> =
        text::index_terms(question).split(' ').map(str::to_owned).collect();
    let answered = words.iter().filter(|word| asked.contains(*word)).count();
    if words.is_empty() { 0.0 } else { answered as f64 / words.len() as f64 }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{persona_says, user_says};
    use super::*;

    fn quote_message(message: &Message) -> Evidence {
        let end = u32::try_from(message.content.chars().count()).unwrap();
        Evidence { message_id: message.id, quote: message.content.clone(), start: 0, end }
    }

    fn evidence_of_answer(
        question: &str,
        reply: &str,
        description: &str,
    ) -> Result<Option<Evidence>, String> {
        let messages = [persona_says(question), user_says(reply)];
        answered_question(description, &[quote_message(&messages[1])], &messages)
    }

    #[test]
    fn a_yes_proves_its_question_and_quotes_it() {
        let question = evidence_of_answer("真好呀。你是不是养了狗?", "嗯", "用户养了狗").unwrap().unwrap();
        assert_eq!((question.quote.as_str(), question.start), ("你是不是养了狗?", 4));
        assert!(
            evidence_of_answer("Did you quit your job?", "Yes, I did.", "The user quit their job")
                .unwrap()
                .is_some()
        );
        assert!(evidence_of_answer("你抽烟吗?", "不", "用户不抽烟").unwrap().is_some());
    }

    #[test]
    fn a_yes_proves_nothing_else() {
        for (question, reply, description) in [
            ("你是不是养了狗?", "嗯", "用户在北京有一家公司"),
            ("你养的是猫还是狗?", "嗯", "用户养了狗"),
            ("今天天气真好。", "嗯", "用户喜欢好天气"),
            ("你养了狗吗?我先去忙了。", "嗯", "用户养了狗"),
            ("你抽烟吗?", "不", "用户抽烟"),
            ("Do you have a dog?", "No", "The user has a dog"),
        ] {
            assert!(evidence_of_answer(question, reply, description).is_err(), "{question} {reply}");
        }
    }

    #[test]
    fn words_that_say_it_need_no_question() {
        let said = user_says("我养了狗");
        assert_eq!(
            answered_question("用户养了狗", &[quote_message(&said)], std::slice::from_ref(&said)),
            Ok(None)
        );
    }
}
