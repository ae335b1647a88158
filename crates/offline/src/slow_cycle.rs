//! `slow_cycle`: what stays in mind between two talks, in the words of the events themselves.

use serde::{Deserialize, Serialize};

use super::lexicon;
use super::sentences::{Language, clipped};

/// Most characters of one restated event.
const LONGEST_EVENT: usize = 140;
/// Most characters of a description.
const LONGEST_DESCRIPTION: usize = 300;
/// The contract's bound beyond which an impact is unusual for a thought.
const MOST_IMPACT: i64 = 8;
const MOST_EXPECTATIONS: usize = 2;
const MOST_QUESTIONS: usize = 3;
/// Most memories that a description is made of.
const MOST_MEMORIES: usize = 3;

#[derive(Deserialize)]
pub(super) struct SlowCycleInputs {
    events: Vec<PastEvent>,
    #[serde(default)]
    thoughts: Vec<String>,
    #[serde(default)]
    expectations: Vec<String>,
    #[serde(default)]
    entities: Vec<KnownEntity>,
}

#[derive(Deserialize)]
struct PastEvent {
    handle: String,
    text: String,
    #[serde(default)]
    impact: i64,
    /// The day, where it is still to come.
    #[serde(default)]
    due: Option<String>,
    #[serde(default)]
    unresolved: bool,
}

#[derive(Deserialize)]
struct KnownEntity {
    handle: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    events: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct SlowCycle {
    new_thoughts: Vec<Thought>,
    new_expectations: Vec<Expectation>,
    new_intentions: Vec<Thought>,
    salient_questions: Vec<String>,
    entity_descriptions: Vec<Description>,
}

#[derive(Serialize)]
struct Thought {
    description: String,
    subject: &'static str,
    emotional_impact: i64,
    filling: Vec<String>,
}

#[derive(Serialize)]
struct Expectation {
    about: String,
    prediction: &'static str,
    due: String,
    reasoning: Vec<String>,
    emotional_impact: i64,
}

#[derive(Serialize)]
struct Description {
    entity: String,
    description: String,
}

/// One thought about the heaviest event that no thought tells yet, an expectation for each event that is dated ahead, a
/// question for each that was left open, and descriptions out of the entities' own memories. It promises nothing.
pub(super) fn think(inputs: &SlowCycleInputs) -> SlowCycle {
    let untold = inputs.events.iter().filter(|event| !told(&inputs.thoughts, &event.text));
    let heaviest = untold.max_by_key(|event| event.impact.abs());
    let expected = inputs.events.iter().filter(|event| !told(&inputs.expectations, &event.text));
    let open = inputs.events.iter().filter(|event| event.unresolved);
    SlowCycle {
        new_thoughts: heaviest.map(thought).into_iter().collect(),
        new_expectations: expected.filter_map(expectation).take(MOST_EXPECTATIONS).collect(),
        new_intentions: Vec::new(),
        salient_questions: open.map(question).take(MOST_QUESTIONS).collect(),
        entity_descriptions: inputs.entities.iter().filter_map(description).collect(),
    }
}

fn told(texts: &[String], event: &str) -> bool {
    let bare = bare(event);
    texts.iter().any(|text| text.contains(bare))
}

fn thought(event: &PastEvent) -> Thought {
    let language = language(&event.text);
    let restated = restated(&event.text, language);
    Thought {
        description: match language {
            Language::Chinese => format!("我还惦记着：{restated}。"),
            Language::English => format!("I keep thinking of this: {restated}."),
        },
        subject: "persona",
        emotional_impact: event.impact.clamp(-MOST_IMPACT, MOST_IMPACT),
        filling: vec![event.handle.clone()],
    }
}

fn expectation(event: &PastEvent) -> Option<Expectation> {
    let language = language(&event.text);
    Some(Expectation {
        about: restated(&event.text, language),
        prediction: language.pick("到时候会再说起", "they may tell of it then"),
        due: event.due.clone()?,
        reasoning: vec![event.handle.clone()],
        emotional_impact: event.impact.clamp(-MOST_IMPACT, MOST_IMPACT),
    })
}

fn question(event: &PastEvent) -> String {
    let language = language(&event.text);
    let restated = restated(&event.text, language);
    match language {
        Language::Chinese => format!("后来怎么样了：{restated}？"),
        Language::English => format!("What became of this: {restated}?"),
    }
}

/// The entity's memories, oldest first, unless they are told already.
fn description(entity: &KnownEntity) -> Option<Description> {
    let newest = entity.events.iter().take(MOST_MEMORIES).rev();
    let memories: Vec<String> = newest.map(|text| restated(text, language(text))).collect();
    let language = language(&memories.concat());
    let text = clipped(&memories.join(language.pick("；", "; ")), LONGEST_DESCRIPTION);
    let known = entity.description.as_deref() == Some(text.as_str());
    (!text.is_empty() && !known).then(|| Description { entity: entity.handle.clone(), description: text })
}

fn language(text: &str) -> Language {
    Language::of(text).unwrap_or(Language::English)
}

/// The event's own words, unless they name a condition: nothing here carries a label.
fn restated(text: &str, language: Language) -> String {
    let lower = text.to_lowercase();
    if lexicon::LABELS.iter().any(|label| lower.contains(label)) {
        return language.pick("用户说起过一件沉重的事", "the user spoke of something heavy").to_owned();
    }
    clipped(bare(text), LONGEST_EVENT)
}

fn bare(text: &str) -> &str {
    text.trim().trim_end_matches(['。', '.', '！', '!', ';', '；'])
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn thought_of(inputs: Value) -> Value {
        serde_json::to_value(think(&serde_json::from_value(inputs).unwrap())).unwrap()
    }

    #[test]
    fn it_restates_what_it_cites_in_either_language() {
        let answer = thought_of(json!({
            "events": [
                {"handle": "e1", "text": "用户养了只猫,叫小黑。", "impact": 2},
                {"handle": "e2", "text": "用户周五有面试。", "impact": -3, "due": "2026-03-06", "unresolved": true},
            ],
            "entities": [{"handle": "t1", "events": ["小黑半夜跳到脸上。", "用户养了只猫,叫小黑。"]}],
        }));
        assert_eq!(
            answer,
            json!({
                "new_thoughts": [{
                    "description": "我还惦记着：用户周五有面试。", "subject": "persona", "emotional_impact": -3,
                    "filling": ["e2"],
                }],
                "new_expectations": [{
                    "about": "用户周五有面试", "prediction": "到时候会再说起", "due": "2026-03-06",
                    "reasoning": ["e2"], "emotional_impact": -3,
                }],
                "new_intentions": [],
                "salient_questions": ["后来怎么样了：用户周五有面试？"],
                "entity_descriptions": [
                    {"entity": "t1", "description": "用户养了只猫,叫小黑；小黑半夜跳到脸上"},
                ],
            })
        );
        let answer = thought_of(json!({"events": [
            {"handle": "e1", "text": "The user loves jazz.", "impact": 2, "unresolved": true},
        ]}));
        assert_eq!(answer["new_thoughts"][0]["description"], "I keep thinking of this: The user loves jazz.");
        assert_eq!(answer["salient_questions"], json!(["What became of this: The user loves jazz?"]));
    }

    #[test]
    fn what_is_told_already_is_not_told_again_and_labels_are_left_out() {
        let events = json!([{"handle": "e1", "text": "用户有抑郁症。", "impact": -6, "due": "2026-03-06"}]);
        let answer = thought_of(json!({"events": events}));
        assert_eq!(answer["new_thoughts"][0]["description"], "我还惦记着：用户说起过一件沉重的事。");
        let events = json!([{"handle": "e1", "text": "用户搬家了。", "impact": 1, "due": "2026-03-06"}]);
        let answer = thought_of(json!({
            "events": events, "thoughts": ["我还惦记着：用户搬家了。"],
            "expectations": ["用户搬家了 — 到时候会再说起"],
            "entities": [{"handle": "t1", "description": "搬家", "events": ["搬家。"]}],
        }));
        assert_eq!(answer["new_thoughts"], json!([]));
        assert_eq!(answer["new_expectations"], json!([]));
        assert_eq!(answer["entity_descriptions"], json!([]));
    }
}
