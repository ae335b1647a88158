//! `persona_draft`: sorts the writer's own sentences by whom they are about. Nothing is added and no fact is guessed.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use text::lexicon::persona_draft;

use super::sentences::{Language, sentences_with_words};

/// Maximum characters of a draft's blocks.
const PERSONA_BLOCK_LENGTH: usize = 2_000;
const USER_BLOCK_LENGTH: usize = 3_000;
const STYLE_BLOCK_LENGTH: usize = 1_000;
/// Words by which writers refer to themselves.
const FIRST_PERSON_EN: [&str; 11] =
    ["i", "i'm", "i've", "i'd", "i'll", "my", "me", "mine", "myself", "we", "our"];

#[derive(Deserialize)]
pub(super) struct DraftInputs {
    #[serde(default)]
    text: String,
    #[serde(default)]
    persona_name: Option<String>,
    #[serde(default)]
    events: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct Draft {
    core_blocks: Blocks,
    facts: Map<String, Value>,
    facts_confidence: f64,
}

#[derive(Serialize)]
struct Blocks {
    persona_block: String,
    user_block: String,
    style_block: String,
}

/// Drafts a persona: statements of writers about themselves go to the user's block, everything else to the persona's.
pub(super) fn draft(inputs: &DraftInputs) -> Draft {
    let own = |sentence: &&str| is_about_the_writer(sentence);
    let (of_writer, of_persona): (Vec<&str>, Vec<&str>) =
        sentences_with_words(&inputs.text).into_iter().partition(own);
    let language = Language::from_text(&inputs.text).unwrap_or_default();
    let (of_style, of_persona): (Vec<&str>, Vec<&str>) =
        of_persona.into_iter().partition(|sentence| is_about_speech(sentence));
    let named = inputs
        .persona_name
        .as_deref()
        .map(str::trim)
        .filter(|name| !name.is_empty() && !persona_draft::PRONOUNS.contains(&name.to_lowercase()));
    let introduction = named
        .filter(|name| !inputs.text.contains(name))
        .map(|name| language.choose(format!("你叫{name}。"), format!("You are {name}.")));
    let of_persona = introduction.as_deref().into_iter().chain(of_persona).collect::<Vec<_>>();
    let of_writer =
        of_writer.into_iter().chain(inputs.events.iter().map(|event| event.trim())).collect::<Vec<_>>();
    Draft {
        core_blocks: Blocks {
            persona_block: join_sentences(&of_persona, language, PERSONA_BLOCK_LENGTH),
            user_block: join_sentences(&of_writer, language, USER_BLOCK_LENGTH),
            style_block: join_sentences(&of_style, language, STYLE_BLOCK_LENGTH),
        },
        facts: Map::new(),
        facts_confidence: 0.0,
    }
}

/// Joins as many whole sentences as fit.
fn join_sentences(sentences: &[&str], language: Language, length: usize) -> String {
    let between = language.choose("", " ");
    let mut text = String::new();
    for sentence in sentences {
        if text.chars().count() + sentence.chars().count() + between.len() > length {
            break;
        }
        if !text.is_empty() {
            text.push_str(between);
        }
        text.push_str(sentence);
    }
    text
}

fn is_about_the_writer(sentence: &str) -> bool {
    // "你是我的朋友" is about the persona, though it mentions the writer.
    let addressed = sentence.starts_with(['你', '您']);
    let chinese = sentence.contains('我') && !addressed;
    let words = text::spaced_words(sentence);
    let begins_with_you = ["you", "you're", "your"].iter().any(|you| words.starts_with(&format!(" {you} ")));
    chinese || (!begins_with_you && FIRST_PERSON_EN.iter().any(|word| words.contains(&format!(" {word} "))))
}

/// True if a sentence is about the persona's way of speaking.
fn is_about_speech(sentence: &str) -> bool {
    let words = text::spaced_words(sentence);
    persona_draft::SPEECH.chinese.occur_in(sentence)
        || persona_draft::SPEECH.english.iter().any(|word| words.contains(&format!(" {word} ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn draft_from(text: &str, name: Option<&str>) -> Value {
        let inputs = serde_json::from_value(json!({"text": text, "persona_name": name})).unwrap();
        serde_json::to_value(draft(&inputs)).unwrap()
    }

    #[test]
    fn the_writers_sentences_are_sorted_by_whom_they_are_about() {
        let english = draft_from(
            "Mira is a florist in Lisbon. She loves rain. I'm Wen, a night nurse. You are patient with me.",
            Some("Mira"),
        );
        assert_eq!(
            english["core_blocks"],
            json!({"persona_block": "Mira is a florist in Lisbon. She loves rain. You are patient with me.",
                "user_block": "I'm Wen, a night nurse.", "style_block": ""})
        );
        let chinese = draft_from("你是小雨,一个花店老板。我是护士,常上夜班。她喜欢下雨天。", Some("小雨"));
        assert_eq!(
            chinese["core_blocks"],
            json!({"persona_block": "你是小雨,一个花店老板。她喜欢下雨天。", "user_block": "我是护士,常上夜班。",
                "style_block": ""})
        );
        let spoken = draft_from("Mira is a florist. She speaks in short, dry sentences.", Some("Mira"));
        assert_eq!(
            spoken["core_blocks"],
            json!({"persona_block": "Mira is a florist.", "user_block": "",
                "style_block": "She speaks in short, dry sentences."})
        );
    }

    #[test]
    fn nothing_is_invented() {
        let draft = draft_from("我养了一只猫。", Some("阿月"));
        assert_eq!(
            draft["core_blocks"],
            json!({"persona_block": "你叫阿月。", "user_block": "我养了一只猫。", "style_block": ""})
        );
        assert_eq!((&draft["facts"], &draft["facts_confidence"]), (&json!({}), &json!(0.0)));
        assert_eq!(
            draft_from("", None)["core_blocks"],
            json!({"persona_block": "", "user_block": "", "style_block": ""})
        );
    }

    #[test]
    fn a_pronoun_is_no_name() {
        for pronoun in ["她", "她 ", "She", "TA"] {
            let draft = draft_from("一个花店老板,喜欢下雨天。", Some(pronoun));
            assert_eq!(draft["core_blocks"]["persona_block"], "一个花店老板,喜欢下雨天。", "{pronoun}");
        }
    }

    #[test]
    fn whole_sentences_are_kept_within_the_bounds() {
        let draft = draft_from(&"She sells flowers by the river. ".repeat(100), None);
        let block = draft["core_blocks"]["persona_block"].as_str().unwrap();
        assert!(block.chars().count() <= PERSONA_BLOCK_LENGTH && block.ends_with("river."));
    }
}
