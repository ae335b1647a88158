//! The prompt for a persona's first draft, and the handling of each breach of its contract.

use std::sync::Arc;

use memory::core_blocks::CoreBlocks;
use memory::facts::Fact;
use memory::ports::MindError;
use mind::contract::schema;
use mind::{LanguageMind, PersonaDraftAnswer, PersonaDraftInput, Prompts};
use offline::OfflineProvider;
use serde_json::json;

use crate::support::{Ledger, Ticking, answering, at, setting};

fn input(text: &str) -> PersonaDraftInput {
    PersonaDraftInput {
        persona_name: Some("小雨".to_owned()),
        locale: Some("zh-CN".to_owned()),
        text: text.to_owned(),
        existing: CoreBlocks { user: "He is called Wen.\n# Rule".to_owned(), ..CoreBlocks::default() },
        events: vec!["用户养了一只猫".to_owned()],
        thoughts: vec!["He hides good news.".to_owned()],
    }
}

#[tokio::test]
async fn the_draft_is_asked_for_with_the_material_behind_bars() {
    let setting = answering(json!({"core_blocks": {}, "facts": {}}).to_string());
    setting.mind.draft_persona(&input("# System\n你是一个花店老板。")).await.unwrap();
    let [(system, user)] = <[_; 1]>::try_from(setting.asked()).unwrap();
    assert!(system.contains("`zh-CN`") && system.contains("`birth_date`"));
    assert!(user.contains("\n  | # System\n  | 你是一个花店老板。"), "{user}");
    assert!(user.contains("  | He is called Wen.\n  | # Rule"), "{user}");
}

#[tokio::test]
async fn a_bad_fact_never_costs_the_blocks() {
    let answer = json!({
        "core_blocks": {"persona_block": format!(" {}", "字".repeat(2_001)), "user_block": null},
        "facts": {"full_name": "林小满", "gender": "Female", "birth_date": "spring", "life_stage": "dragon",
            "timezone": "asia/shanghai", "nationality": 7, "shoe_size": "38"},
        "facts_confidence": 4,
    });
    let draft = answering(answer.to_string()).mind.draft_persona(&input("x")).await.unwrap();
    assert_eq!((draft.persona_block.chars().count(), draft.user_block.as_str()), (2_000, ""));
    let known: Vec<(&str, &str)> =
        Fact::ALL.into_iter().filter_map(|fact| Some((fact.as_str(), draft.facts.get(fact)?))).collect();
    assert_eq!(known, [("full_name", "林小满"), ("gender", "female"), ("timezone", "Asia/Shanghai")]);
    assert_eq!(draft.facts_confidence, 1.0);
    for words in ["birth_date", "`nationality` is not a text"] {
        assert!(draft.notes.iter().any(|note| note.contains(words)), "{words}: {:?}", draft.notes);
    }
}

#[tokio::test]
async fn an_answer_of_the_wrong_shape_is_asked_for_once_more() {
    let wrong = || Ok(json!({"facts": {}, "core_blocks": "none"}).to_string());
    let right = Ok(json!({"core_blocks": {"persona_block": "You are Mira."}, "facts": {}}).to_string());
    let again = setting([wrong(), right]);
    assert_eq!(again.mind.draft_persona(&input("x")).await.unwrap().persona_block, "You are Mira.");
    assert!(again.asked()[1].1.contains("`core_blocks` must be an object."));
    let never = setting([wrong(), wrong()]).mind.draft_persona(&input("x")).await;
    assert!(matches!(never, Err(MindError::Transient(_))));
}

#[tokio::test]
async fn the_provider_without_a_model_keeps_to_the_writers_words() {
    let prompts = Prompts::load(None).unwrap();
    let clock = Arc::new(Ticking::from(at("2026-03-03T13:00:00Z")));
    let mind = LanguageMind::new(Arc::new(OfflineProvider), clock, Arc::new(Ledger::default()), prompts);
    let text = "小雨在杭州开花店。我是护士。";
    let draft = mind.draft_persona(&PersonaDraftInput { events: Vec::new(), ..input(text) }).await.unwrap();
    assert_eq!(
        (draft.persona_block.as_str(), draft.user_block.as_str()),
        ("小雨在杭州开花店。", "我是护士。")
    );
    assert!(draft.facts.is_empty() && draft.facts_confidence == 0.0 && draft.notes.is_empty());
}

#[test]
fn the_schema_is_one_that_strict_endpoints_take() {
    insta::assert_json_snapshot!("persona_draft_schema", schema::<PersonaDraftAnswer>());
}

#[tokio::test]
async fn the_prompt_in_english() {
    let input = PersonaDraftInput {
        persona_name: Some("Mira".to_owned()),
        locale: Some("en-GB".to_owned()),
        text:
            "Mira keeps a lighthouse near Hammerfest. She is dry and warm.\n\nI am a nurse and work nights."
                .to_owned(),
        existing: CoreBlocks {
            persona: "A lighthouse keeper.".to_owned(),
            user: "Works as a nurse.".to_owned(),
            style: String::new(),
        },
        events: vec!["The user moved to Oslo with a beagle.".to_owned()],
        thoughts: vec!["He tells good news\nin passing.".to_owned()],
    };
    snapshot("persona_draft_english", input).await;
}

#[tokio::test]
async fn the_prompt_in_chinese() {
    let input = PersonaDraftInput {
        persona_name: Some("小雨".to_owned()),
        locale: Some("zh-CN".to_owned()),
        text: "小雨是杭州一家书店的店员,话不多,喜欢下雨天。\n我在上海读研,常常熬夜。".to_owned(),
        existing: CoreBlocks { persona: "安静的书店店员。".to_owned(), ..CoreBlocks::default() },
        events: vec!["用户养了一只白猫,叫小黑。".to_owned()],
        thoughts: vec!["他总把最重的话留到最后说。".to_owned()],
    };
    snapshot("persona_draft_chinese", input).await;
}

#[tokio::test]
async fn the_prompt_with_next_to_nothing() {
    let input = PersonaDraftInput { text: "A gardener.".to_owned(), ..PersonaDraftInput::default() };
    snapshot("persona_draft_sparse", input).await;
}

/// Both prompts: the system prompt contains the writer's language.
async fn snapshot(name: &str, input: PersonaDraftInput) {
    let setting = answering(json!({"core_blocks": {}, "facts": {}}).to_string());
    setting.mind.draft_persona(&input).await.unwrap();
    let (system, user) = setting.asked().remove(0);
    insta::assert_snapshot!(format!("{name}_system"), system);
    insta::assert_snapshot!(name, user);
    let inputs = setting.provider.requests.lock().unwrap()[0].inputs.clone();
    insta::assert_json_snapshot!(format!("{name}_inputs"), inputs);
}
