//! `reflection`: an impression of past events by rules, with the events that it cites.

use serde::{Deserialize, Serialize};

use super::impressions::{AnalysedEvent, Impression, shared_impression};
use super::sentences::Language;

#[derive(Deserialize)]
pub(super) struct ReflectionInputs {
    events: Vec<PastEvent>,
}

#[derive(Deserialize)]
struct PastEvent {
    handle: String,
    text: String,
    #[serde(default)]
    impact: i64,
}

#[derive(Serialize)]
pub(super) struct Reflection {
    thoughts: Vec<Thought>,
}

#[derive(Serialize)]
struct Thought {
    description: String,
    subject: &'static str,
    emotional_impact: i64,
    filling: Vec<String>,
}

/// One thought for each language of the events.
pub(super) fn reflect(inputs: &ReflectionInputs) -> Reflection {
    let languages = [Language::Chinese, Language::English];
    let thoughts =
        languages.into_iter().filter_map(|language| thought_about(&inputs.events, language)).collect();
    Reflection { thoughts }
}

fn thought_about(events: &[PastEvent], language: Language) -> Option<Thought> {
    let seen: Vec<AnalysedEvent<'_>> = events
        .iter()
        .filter(|event| Language::from_text(&event.text).unwrap_or_default() == language)
        .map(|event| AnalysedEvent { handle: &event.handle, text: &event.text, impact: event.impact })
        .collect();
    let Impression { description, impact, cited } = shared_impression(&seen, language)?;
    Some(Thought { description, subject: "user", emotional_impact: impact, filling: cited })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn reflect_on(events: Value) -> Value {
        let inputs = serde_json::from_value(json!({"events": events})).unwrap();
        serde_json::to_value(reflect(&inputs)).unwrap()["thoughts"].clone()
    }

    #[test]
    fn a_thought_says_what_the_events_have_in_common_and_cites_the_heaviest() {
        let thoughts = reflect_on(json!([
            {"handle": "e1", "text": "用户喜欢咖啡。", "impact": 2, "when": "昨天"},
            {"handle": "e2", "text": "用户住在杭州", "impact": 0},
            {"handle": "e3", "text": "用户的奶奶走了。", "impact": -9},
            {"handle": "e4", "text": "用户养了只猫,叫小黑", "impact": 2},
        ]));
        assert_eq!(
            thoughts,
            json!([{
                "description": "用户最近有高兴的事，也有难受的事。",
                "subject": "user",
                "emotional_impact": -1,
                "filling": ["e1", "e3", "e4"],
            }])
        );
    }

    #[test]
    fn each_language_gets_its_own_thought() {
        let thoughts = reflect_on(json!([
            {"handle": "e1", "text": "The user loves jazz.", "impact": 2},
            {"handle": "e2", "text": "用户住在杭州", "impact": 0},
        ]));
        assert_eq!(thoughts[0]["filling"], json!(["e2"]));
        assert_eq!(thoughts[1]["description"], "The user is glad about what they have told me.");
    }

    #[test]
    fn a_thought_carries_no_labels_and_no_events_make_no_thought() {
        let thoughts = reflect_on(json!([{"handle": "e1", "text": "The user has depression", "impact": -6}]));
        assert_eq!(thoughts[0]["description"], "Something is weighing on the user.");
        assert_eq!(reflect_on(json!([])), json!([]));
    }
}
