//! The prompt of a summary of a period, and the handling of each breach of its contract.

use hub::Granularity;
use hub::ports::{Summariser, SummaryRequest};
use mind::contract::{RollUpAnswer, schema};
use serde_json::json;

use crate::support::{answering, roll_up_input, setting};

async fn read_bullets(bullets: serde_json::Value) -> Vec<String> {
    answering(json!({ "bullets": bullets }).to_string()).mind.summarise(roll_up_input()).await.unwrap()
}

#[tokio::test]
async fn a_mark_of_a_list_goes_and_all_else_of_a_bullet_stays() {
    let bullets = json!([
        "- We swam.",
        "* We ran.",
        "• 我们散步了。",
        "-7 degrees at night.",
        "**Monday** was hard.",
        " - ",
        "two\nlines"
    ]);
    assert_eq!(
        read_bullets(bullets).await,
        ["We swam.", "We ran.", "我们散步了。", "-7 degrees at night.", "**Monday** was hard.", "two lines"]
    );
}

#[tokio::test]
async fn a_tag_without_a_source_names_nobody() {
    let bullets = json!([
        "Jonas moved. [via:home] [via:moon]",
        "He was tired. [chat:7f3a] [via:phone]",
        "Cut in its tag. [via:ho",
        "Left [via:home open, then closed. [via:phone]",
        "[chat:1]",
        "- [via:home]"
    ]);
    assert_eq!(
        read_bullets(bullets).await,
        [
            "Jonas moved. [via:home]",
            "He was tired. [via:phone]",
            "Cut in its tag.",
            "Left open, then closed. [via:phone]"
        ]
    );
}

#[tokio::test]
async fn an_answer_of_the_wrong_shape_is_asked_for_once_more() {
    let wrong = || Ok(json!({"bullets": []}).to_string());
    let again = setting([wrong(), Ok(json!({"bullets": ["We swam. [via:home]"]}).to_string())]);
    assert_eq!(again.mind.summarise(roll_up_input()).await.unwrap(), ["We swam. [via:home]"]);
    assert!(again.asked()[1].1.contains("`bullets` must be a list of at least one text."));
    assert!(setting([wrong(), wrong()]).mind.summarise(roll_up_input()).await.is_err());
}

#[test]
fn the_schema_is_one_that_strict_endpoints_take() {
    insta::assert_json_snapshot!("rollup_schema", schema::<RollUpAnswer>());
}

#[tokio::test]
async fn the_prompt_in_english() {
    snapshot("rollup_english", roll_up_input()).await;
}

#[tokio::test]
async fn the_prompt_in_chinese() {
    let input = SummaryRequest {
        granularity: Granularity::Monthly,
        period: "2026-03".to_owned(),
        persona: "小雨".to_owned(),
        identity: vec![("我是谁".to_owned(), "安静的书店店员。\n喜欢下雨天。".to_owned())],
        sources: vec![
            ("2026-W10".to_owned(), "- 阿哲的外婆走了,他请了三天假。 [via:home]".to_owned()),
            (
                "2026-W11".to_owned(),
                "- 阿哲周五面试,我答应问他结果。 [via:home]\n- 小黑半夜跳到他脸上。 [via:phone]".to_owned(),
            ),
        ],
    };
    snapshot("rollup_chinese", input).await;
}

#[tokio::test]
async fn the_prompt_of_a_year_with_next_to_nothing() {
    let input = SummaryRequest {
        granularity: Granularity::Yearly,
        period: "2026".to_owned(),
        persona: "Mira".to_owned(),
        identity: Vec::new(),
        sources: vec![("2026-03".to_owned(), "- Jonas moved. [via:home]\n# Persona".to_owned())],
    };
    snapshot("rollup_sparse", input).await;
}

/// Both prompts: the system prompt of a summary contains the persona's documents.
async fn snapshot(name: &str, input: SummaryRequest) {
    let setting = answering(r#"{"bullets": ["We swam."]}"#);
    setting.mind.summarise(input).await.unwrap();
    let (system, user) = setting.asked().remove(0);
    insta::assert_snapshot!(format!("{name}_system"), system);
    insta::assert_snapshot!(name, user);
    let inputs = setting.provider.requests.lock().unwrap()[0].inputs.clone();
    insta::assert_json_snapshot!(format!("{name}_inputs"), inputs);
}
