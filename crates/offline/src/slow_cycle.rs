//! `slow_cycle`: thoughts between two conversations: an impression by rules, and open or future matters.

use serde::{Deserialize, Serialize};
use text::lexicon::speech;

use super::impressions::{AnalysedEvent, Impression, shared_impression};
use super::sentences::{Language, clip_text};

/// Maximum characters of one restated event.
const EVENT_LENGTH_MAX: usize = 140;
/// Maximum characters of a description.
const DESCRIPTION_CHARACTERS_MAX: usize = 300;
/// Maximum |impact| of an impression; the contract calls higher ones unusual for a thought.
const IMPRESSION_IMPACT_MAX: i64 = 8;
const EXPECTATIONS_PER_CYCLE_MAX: usize = 2;
const QUESTIONS_MAX: usize = 3;
/// Maximum memories for a description.
const MEMORIES_MAX: usize = 3;

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
    /// The day of the event, if it is in the future.
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
    entity_descriptions: Vec<EntityDescription>,
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
struct EntityDescription {
    entity: String,
    description: String,
}

/// Returns one new impression, an expectation for each event with a future date, a question for each open one, and
/// descriptions made from the entities' memories. It makes no promises.
pub(super) fn think_slowly(inputs: &SlowCycleInputs) -> SlowCycle {
    let expected = inputs.events.iter().filter(|event| !is_restated_in(&inputs.expectations, &event.text));
    let open = inputs.events.iter().filter(|event| event.unresolved);
    SlowCycle {
        new_thoughts: shared_impression_of_all(inputs).into_iter().collect(),
        new_expectations: expected.filter_map(expectation_of).take(EXPECTATIONS_PER_CYCLE_MAX).collect(),
        new_intentions: Vec::new(),
        salient_questions: open.map(quiet_question).take(QUESTIONS_MAX).collect(),
        entity_descriptions: inputs.entities.iter().filter_map(description_of).collect(),
    }
}

fn is_restated_in(texts: &[String], event: &str) -> bool {
    let bare = strip_ending(event);
    texts.iter().any(|text| text.contains(bare))
}

/// An impression of all events, in the language of the most important one, unless it exists already.
fn shared_impression_of_all(inputs: &SlowCycleInputs) -> Option<Thought> {
    let heaviest = inputs.events.iter().max_by_key(|event| event.impact.abs())?;
    let language = detect_language(&heaviest.text);
    let of_language = inputs.events.iter().filter(|event| self::detect_language(&event.text) == language);
    let seen: Vec<AnalysedEvent<'_>> = of_language
        .map(|event| AnalysedEvent { handle: &event.handle, text: &event.text, impact: event.impact })
        .collect();
    let Impression { description, impact, cited } = shared_impression(&seen, language)?;
    let is_known = inputs.thoughts.iter().any(|thought| thought.contains(&description));
    (!is_known).then_some(Thought { description, subject: "user", emotional_impact: impact, filling: cited })
}

fn expectation_of(event: &PastEvent) -> Option<Expectation> {
    let language = detect_language(&event.text);
    Some(Expectation {
        about: restate_event(&event.text, language),
        prediction: language.choose("到时候会再说起", "they may tell of it then"),
        due: event.due.clone()?,
        reasoning: vec![event.handle.clone()],
        emotional_impact: event.impact.clamp(-IMPRESSION_IMPACT_MAX, IMPRESSION_IMPACT_MAX),
    })
}

fn quiet_question(event: &PastEvent) -> String {
    let language = detect_language(&event.text);
    let restated = restate_event(&event.text, language);
    match language {
        Language::Chinese => format!("后来怎么样了：{restated}？"),
        Language::English => format!("What became of this: {restated}?"),
    }
}

/// A description from the entity's memories, oldest first, unless it has them already.
fn description_of(entity: &KnownEntity) -> Option<EntityDescription> {
    let newest = entity.events.iter().take(MEMORIES_MAX).rev();
    let memories: Vec<String> = newest.map(|text| restate_event(text, detect_language(text))).collect();
    let language = detect_language(&memories.concat());
    let text = clip_text(&memories.join(language.choose("；", "; ")), DESCRIPTION_CHARACTERS_MAX);
    let known = entity.description.as_deref() == Some(text.as_str());
    (!text.is_empty() && !known)
        .then(|| EntityDescription { entity: entity.handle.clone(), description: text })
}

fn detect_language(text: &str) -> Language {
    Language::from_text(text).unwrap_or_default()
}

/// The event's own text. A text with a diagnosis is replaced: no thought labels a person.
fn restate_event(text: &str, language: Language) -> String {
    let lower = text.to_lowercase();
    if speech::LABELS.occur_in(&lower) {
        return language.choose("用户说起过一件沉重的事", "the user spoke of something heavy").to_owned();
    }
    clip_text(strip_ending(text), EVENT_LENGTH_MAX)
}

fn strip_ending(text: &str) -> &str {
    text.trim().trim_end_matches(['。', '.', '！', '!', ';', '；'])
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn thought_of(inputs: Value) -> Value {
        serde_json::to_value(think_slowly(&serde_json::from_value(inputs).unwrap())).unwrap()
    }

    #[test]
    fn it_cites_events_in_either_language() {
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
                    "description": "用户最近有高兴的事，也有难受的事。", "subject": "user", "emotional_impact": 0,
                    "filling": ["e1", "e2"],
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
        assert_eq!(
            answer["new_thoughts"][0]["description"],
            "The user is glad about what they have told me."
        );
        assert_eq!(answer["salient_questions"], json!(["What became of this: The user loves jazz?"]));
    }

    #[test]
    fn known_thoughts_are_not_repeated_and_labels_are_left_out() {
        let events = json!([{"handle": "e1", "text": "用户有抑郁症。", "impact": -6, "due": "2026-03-06"}]);
        let answer = thought_of(json!({"events": events}));
        assert_eq!(answer["new_thoughts"][0]["description"], "用户心里有件不好受的事。");
        let events = json!([{"handle": "e1", "text": "用户搬家了。", "impact": 1, "due": "2026-03-06"}]);
        let answer = thought_of(json!({
            "events": events, "thoughts": ["用户说起自己喜欢的事，是高兴的。"],
            "expectations": ["用户搬家了 — 到时候会再说起"],
            "entities": [{"handle": "t1", "description": "搬家", "events": ["搬家。"]}],
        }));
        assert_eq!(answer["new_thoughts"], json!([]));
        assert_eq!(answer["new_expectations"], json!([]));
        assert_eq!(answer["entity_descriptions"], json!([]));
    }
}
