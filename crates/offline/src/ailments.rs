//! Questions such as "What is wrong with my dog?": the answer may use the dog's name instead of the word "dog".

use super::entities::{mentions_name, named_things};
use super::reply_inputs::ReplyInputs;
use super::sentences::{seems_to_ask, sentences_with_words, split_clauses};
use text::Utterance;
use text::lexicon::{life, names, self_statements};

/// A question about the ailment of a relative, friend or pet.
pub(super) struct AilmentQuestion {
    /// The words for whom the question is about, such as "dog".
    subjects: Vec<&'static str>,
    /// Names of these in the recalled memories, such as "Biscuit".
    names: Vec<String>,
    /// True if only one ailment is remembered, which is then meant even without a name that links it.
    is_only_one: bool,
}

impl AilmentQuestion {
    /// Returns the question in a text about the ailment of a relative, a friend or a pet.
    pub(super) fn from_text(text: &str, inputs: &ReplyInputs) -> Option<Self> {
        let subjects =
            if Utterance::new(text).says_any(life::ASKS_AILMENT) { subjects_in(text) } else { Vec::new() };
        if subjects.is_empty() {
            return None;
        }
        let memories = inputs.memories.iter().map(|memory| memory.description.as_str());
        let said = inputs.passages.iter().chain(&inputs.recent).map(|passage| passage.text.as_str());
        let sources: Vec<&str> = memories.chain(said).filter(|source| source.trim() != text).collect();
        let linked = sources
            .iter()
            .flat_map(|source| sentences_with_words(source))
            .filter(|sentence| subjects_in(sentence).iter().any(|subject| subjects.contains(subject)));
        let names = linked.flat_map(|sentence| named_things(sentence, &split_clauses(sentence)));
        let names: Vec<String> = names.map(|named| named.name).collect();
        let is_about_another = |source: &str| {
            let about = subjects_in(source);
            !about.is_empty() && !about.iter().any(|subject| subjects.contains(subject))
        };
        let ailment_statement =
            sources.into_iter().filter(|source| states_ailment(source) && !is_about_another(source));
        let mut ailing: Vec<&str> = ailment_statement.collect();
        ailing.dedup();
        let is_only_one = match ailing.as_slice() {
            [] => false,
            [first, others @ ..] => others.iter().all(|other| other.contains(first) || first.contains(other)),
        };
        Some(Self { subjects, names, is_only_one })
    }

    /// True if a text answers the question.
    pub(super) fn is_answered_by(&self, source: &str) -> bool {
        if !states_ailment(source) {
            return false;
        }
        let about = subjects_in(source);
        about.iter().any(|subject| self.subjects.contains(subject))
            || self.names.iter().any(|name| mentions_name(source, name))
            || (self.is_only_one && about.is_empty())
    }
}

fn subjects_in(text: &str) -> Vec<&'static str> {
    let spelled = text::spaced_words(text);
    let someone = [names::FAMILY, names::ACQUAINTANCE, names::PET];
    let chinese =
        someone.into_iter().flat_map(|words| words.chinese.iter()).filter(|word| text.contains(word));
    let english = someone
        .into_iter()
        .flat_map(|words| words.english.iter())
        .filter(|word| spelled.contains(&format!(" {word} ")) || spelled.contains(&format!(" {word}'s ")));
    chinese.chain(english).collect()
}

fn states_ailment(text: &str) -> bool {
    let ailing = [life::HARDSHIP, life::ILLNESS, life::LOW, self_statements::HEALTH, life::AILMENT];
    let stating =
        sentences_with_words(text).into_iter().filter(|sentence| !seems_to_ask(sentence)).collect::<Vec<_>>();
    stating.iter().any(|sentence| {
        let stated = split_clauses(sentence);
        stated
            .iter()
            .any(|clause| clause.is_statement() && ailing.into_iter().any(|words| clause.says_any(words)))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::reply::reply;

    fn reply_to_inputs(inputs: Value) -> String {
        reply(&serde_json::from_value(inputs).unwrap())
    }

    #[test]
    fn an_ailment_is_found_under_the_name() {
        let ailment_statement = "Biscuit was diagnosed with arthritis last Tuesday";
        let passages = json!([{"speaker": "user", "text": "My dog is called Biscuit."}, {"speaker": "user", "text": ailment_statement}]);
        for nothing_found in [false, true] {
            let answer = reply_to_inputs(json!({
                "user_text": "What is wrong with my dog?", "passages": passages, "nothing_found": nothing_found,
            }));
            assert!(answer.contains(ailment_statement) && !answer.contains("not sure"), "{answer}");
            assert!(!answer.contains("is called"), "only the ailment answers: {answer}");
        }
        let alone = reply_to_inputs(json!({
            "user_text": "What is wrong with my dog?", "recent": [{"speaker": "user", "text": ailment_statement}],
        }));
        assert!(alone.contains(ailment_statement), "{alone}");
        let beside = reply_to_inputs(json!({
            "user_text": "What is wrong with my dog?",
            "recent": [{"speaker": "user", "text": "I am so scared, my father died today."}, {"speaker": "user", "text": ailment_statement}],
        }));
        assert!(
            beside.contains(ailment_statement) && !beside.contains("father"),
            "what ails another does not count: {beside}"
        );
        let chinese = reply_to_inputs(json!({
            "user_text": "我的狗怎么了?", "memories": [{"description": "用户养了一只狗,叫豆豆。", "kind": "event"},
                {"description": "豆豆确诊了关节炎。", "kind": "event"}],
        }));
        assert!(chinese.contains("关节炎") && !chinese.contains("养了"), "{chinese}");
    }

    #[test]
    fn anothers_ailment_is_no_answer() {
        let answer = reply_to_inputs(json!({
            "user_text": "What is wrong with my dog?",
            "passages": [{"speaker": "user", "text": "My mother was diagnosed with cancer in May."}],
        }));
        assert!(
            !answer.contains("I remember: on") && !answer.starts_with("I remember: you said"),
            "{answer}"
        );
        let car = reply_to_inputs(json!({
            "user_text": "What is wrong with my car?",
            "passages": [{"speaker": "user", "text": "Biscuit was diagnosed with arthritis last Tuesday"}],
        }));
        assert!(!car.starts_with("I remember"), "{car}");
    }
}
