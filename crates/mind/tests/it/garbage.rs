//! No answer of a model, however broken, does more than fail.

use std::time::{Duration, Instant};

use hub::ports::Summariser;
use memory::ports::Mind;
use mind::PersonaDraftInput;
use mind::answer::{ANSWER_LENGTH_MAX, read};
use proptest::prelude::*;

use crate::support::{extraction_input, reflection_input, roll_up_input, setting, slow_cycle_input};

const REQUIRED: [&str; 2] = ["events", "self_check_notes"];

const GOOD: &str = r#"{"events": [{"type": "event", "description": "他说“好”", "emotional_impact": -4,
 "evidence": [{"message": "m1", "quote": "I moved"}], "event_time": {"start": "2026-03-01", "end": null},
 "relational_tags": ["unresolved"], "supersedes": ["k1"]}], "mentioned_entities": [{"canonical_name": "Oslo"}],
 "session_mood_signal": {"mood": "calm", "energy": 5}, "self_check_notes": "\u6ca1\u6709 \ud83d\ude00"}"#;

/// Pieces of JSON, and of the errors that models make in it.
fn piece() -> impl Strategy<Value = String> {
    let fixed = [
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"",
        "'",
        "“",
        "”",
        "\\",
        "\\u",
        "\\ud83d",
        "null",
        "None",
        "True",
        "1e999",
        "-",
        "+3",
        "0x1",
        "//",
        "/*",
        "*/",
        "\n",
        " ",
        "```json",
        "```",
        "</think>",
        "\"events\"",
        "events",
        "\"emotional_impact\"",
        "\"thoughts\"",
        "\"new_thoughts\"",
        "\"core_blocks\"",
        "\"persona_block\"",
        "\"facts\"",
        "\"bullets\"",
        "[via:",
        "\"due\"",
        "\"reasoning\"",
        "\u{feff}",
        "\u{0}",
        "😀",
        "好",
        "\"evidence\"",
        "m1",
        "e1",
    ];
    prop_oneof![
        8 => proptest::sample::select(fixed.to_vec()).prop_map(str::to_owned),
        1 => "\\PC{0,6}",
        1 => any::<i32>().prop_map(|number| number.to_string()),
    ]
}

fn ask_all(answer: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let answers = || setting([Ok(answer.to_owned()), Ok(answer.to_owned())]);
    runtime.block_on(async {
        let _ = answers().mind.extract(extraction_input()).await;
        let _ = answers().mind.reflect(reflection_input()).await;
        let _ = answers().mind.think_slowly(slow_cycle_input()).await;
        let _ = answers().mind.draft_persona(&PersonaDraftInput::default()).await;
        let _ = answers().mind.summarise(roll_up_input()).await;
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_survived(text in "\\PC{0,200}") {
        let _ = read(&text, &REQUIRED);
    }

    #[test]
    fn any_heap_of_pieces_is_survived(pieces in proptest::collection::vec(piece(), 0..60)) {
        let text = pieces.concat();
        let _ = read(&text, &REQUIRED);
        let _ = read(&format!("{{\"events\": {text}"), &REQUIRED);
    }

    #[test]
    fn every_prefix_of_a_good_answer_keeps_its_bounds(end in 0usize..700) {
        let text: String = GOOD.chars().take(end).collect();
        if let Ok(answer) = read(&text, &REQUIRED) {
            let strict = serde_json::from_str::<serde_json::Value>(&text).is_ok();
            prop_assert!(answer.whole == strict || answer.members.contains_key("self_check_notes"));
        }
    }
}

proptest! {
    // Each case requests five answers, with their prompts.
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_answer_cut_and_bitten_is_survived(
        start in 0usize..60,
        bites in proptest::collection::vec((0usize..600, piece()), 0..8),
        end in 0usize..700,
    ) {
        let mut characters: Vec<String> = GOOD.chars().map(String::from).collect();
        for (place, piece) in bites {
            let place = place % characters.len();
            characters[place] = piece;
        }
        characters.truncate(end);
        let text: String = characters.into_iter().skip(start).collect();
        ask_all(&text);
    }

    #[test]
    fn any_answer_of_each_contract_is_survived(
        main in proptest::sample::select(vec!["events", "thoughts", "new_thoughts", "core_blocks", "bullets"]),
        pieces in proptest::collection::vec(piece(), 0..40),
    ) {
        ask_all(&format!("{{\"{main}\": {}", pieces.concat()));
    }
}

#[test]
fn hostile_texts_take_time_in_proportion_to_their_length() {
    let length = ANSWER_LENGTH_MAX - 64;
    let began = Instant::now();
    for unit in [
        "[",
        "{",
        "{\"a\":",
        "[[],",
        "\"",
        "{\"events\":\"",
        "\\",
        "{'",
        "“",
        "/*",
        "//\n",
        "{\"a\" ",
        "\" \n",
        "\",  ",
        "{\"events\":[{},",
        "{x} ",
        "[1] ",
        "```",
    ] {
        let text = unit.repeat(length / unit.len());
        let _ = read(&text, &REQUIRED);
        let _ = read(&format!("{{\"events\": \"{text}"), &REQUIRED);
        let _ = read(&format!("{{\"events\": [{text}"), &REQUIRED);
    }
    // Quadratic work on half a megabyte would take hours; linear work takes about a second.
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
}

#[test]
fn an_endless_answer_is_refused_unread() {
    let text = format!("{{\"events\": []}}{}", " ".repeat(ANSWER_LENGTH_MAX));
    assert!(read(&text, &REQUIRED).unwrap_err().0.contains("longer than"));
}

#[test]
fn brackets_in_prose_do_not_use_up_the_tries() {
    let text = format!("{} {{\"events\": []}}", "As [m1] and [m2] say, ".repeat(200));
    assert!(read(&text, &REQUIRED).is_ok());
}

#[test]
fn of_several_objects_the_last_whole_one_counts() {
    let text =
        r#"For example {"events": [1]} but really {"events": [1, 2], "self_check_notes": ""} {"events": [3"#;
    let answer = read(text, &REQUIRED).unwrap();
    assert_eq!(answer.members["events"].as_array().unwrap().len(), 2);
}
