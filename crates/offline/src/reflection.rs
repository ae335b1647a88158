//! `reflection`: restating what happened, with the events it rests on, and nothing more.

use serde::{Deserialize, Serialize};

use super::lexicon;
use super::sentences::{Language, clipped};

/// Most events that one thought restates.
const MOST_EVENTS: usize = 3;
/// Most characters of one restated event; three of them stay below the contract's soft cap of 500.
const LONGEST_EVENT: usize = 140;
/// The contract's bound beyond which an impact is unusual for a thought.
const MOST_IMPACT: i64 = 8;

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

/// One thought for each language that the events are in, of its heaviest events in their own order.
pub(super) fn reflect(inputs: &ReflectionInputs) -> Reflection {
    let languages = [Language::Chinese, Language::English];
    let thoughts = languages.into_iter().filter_map(|language| thought(&inputs.events, language)).collect();
    Reflection { thoughts }
}

fn thought(events: &[PastEvent], language: Language) -> Option<Thought> {
    let mut chosen: Vec<(usize, &PastEvent)> = events
        .iter()
        .enumerate()
        .filter(|(_, event)| Language::of(&event.text).unwrap_or(Language::English) == language)
        .collect();
    chosen.sort_by_key(|(_, event)| std::cmp::Reverse(event.impact.abs()));
    chosen.truncate(MOST_EVENTS);
    let heaviest = chosen.first()?.1.impact;
    chosen.sort_by_key(|(at, _)| *at);
    let told: Vec<String> = chosen.iter().map(|(_, event)| restated(event, language)).collect();
    let description = match language {
        Language::Chinese => format!("一直放在心上的是：{}。", told.join("；")),
        Language::English => format!("What stays with me: {}.", told.join("; ")),
    };
    Some(Thought {
        description,
        subject: "user",
        emotional_impact: heaviest.clamp(-MOST_IMPACT, MOST_IMPACT),
        filling: chosen.into_iter().map(|(_, event)| event.handle.clone()).collect(),
    })
}

/// The event's own words, unless they name a condition: a thought carries no labels.
fn restated(event: &PastEvent, language: Language) -> String {
    let lower = event.text.to_lowercase();
    if lexicon::LABELS.iter().any(|label| lower.contains(label)) {
        return language.pick("用户说起过一件沉重的事", "the user spoke of something heavy").to_owned();
    }
    let bare = event.text.trim().trim_end_matches(['。', '.', '！', '!', ';', '；']);
    clipped(bare, LONGEST_EVENT)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn reflected(events: Value) -> Value {
        let inputs = serde_json::from_value(json!({"events": events})).unwrap();
        serde_json::to_value(reflect(&inputs)).unwrap()["thoughts"].clone()
    }

    #[test]
    fn a_thought_restates_the_heaviest_events_and_cites_them() {
        let thoughts = reflected(json!([
            {"handle": "e1", "text": "用户喜欢咖啡。", "impact": 2, "when": "昨天"},
            {"handle": "e2", "text": "用户住在杭州", "impact": 0},
            {"handle": "e3", "text": "用户的奶奶走了。", "impact": -9},
            {"handle": "e4", "text": "用户养了只猫,叫小黑", "impact": 2},
        ]));
        assert_eq!(
            thoughts,
            json!([{
                "description": "一直放在心上的是：用户喜欢咖啡；用户的奶奶走了；用户养了只猫,叫小黑。",
                "subject": "user",
                "emotional_impact": -8,
                "filling": ["e1", "e3", "e4"],
            }])
        );
    }

    #[test]
    fn each_language_gets_its_own_thought() {
        let thoughts = reflected(json!([
            {"handle": "e1", "text": "The user loves jazz.", "impact": 2},
            {"handle": "e2", "text": "用户住在杭州", "impact": 0},
        ]));
        assert_eq!(thoughts[0]["filling"], json!(["e2"]));
        assert_eq!(thoughts[1]["description"], "What stays with me: The user loves jazz.");
    }

    #[test]
    fn a_thought_carries_no_labels_and_no_events_make_no_thought() {
        let thoughts = reflected(json!([{"handle": "e1", "text": "The user has depression", "impact": -6}]));
        assert_eq!(thoughts[0]["description"], "What stays with me: the user spoke of something heavy.");
        assert_eq!(reflected(json!([])), json!([]));
    }
}
