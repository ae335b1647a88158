use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn extracted(inputs: Value) -> Value {
    serde_json::to_value(extract(&serde_json::from_value(inputs).unwrap())).unwrap()
}

fn said(texts: &[&str]) -> Value {
    let messages: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(at, text)| json!({"handle": format!("m{}", at + 1), "role": "user", "text": text}))
        .collect();
    extracted(json!({"messages": messages}))
}

#[test]
fn the_story_of_the_seeds_is_extracted() {
    let answer = said(&["我养了只白猫,叫小黑。他超调皮,老在半夜跳到我脸上。"]);
    assert_eq!(
        answer["events"],
        json!([{
            "type": "event",
            "description": "用户养了只白猫,叫小黑。他超调皮,老在半夜跳到用户脸上。",
            "emotional_impact": 2,
            "emotion_tags": ["fondness"],
            "relational_tags": [],
            "subject": "user",
            "event_time": null,
            "evidence": [
                {"message": "m1", "quote": "我养了只白猫,叫小黑。"},
                {"message": "m1", "quote": "他超调皮,老在半夜跳到我脸上。"},
            ],
            "supersedes": [],
            "entities": ["小黑"],
        }])
    );
    assert_eq!(
        answer["mentioned_entities"],
        json!([{"canonical_name": "小黑", "aliases": [], "kind": "pet"}])
    );
    assert_eq!(answer["session_mood_signal"]["mood"], "warm");
    assert_eq!(answer["session_mood_signal"]["energy"], 6);
}

#[test]
fn the_same_story_in_english_is_remembered() {
    let answer = said(&["I have a white cat named Tom. He's a menace and jumps on my face at night."]);
    let event = &answer["events"][0];
    assert_eq!(
        event["description"],
        "The user has a white cat named Tom. He's a menace and jumps on the user's face at night."
    );
    assert_eq!((&event["emotional_impact"], &event["entities"]), (&json!(2), &json!(["Tom"])));
    assert_eq!(answer["mentioned_entities"][0]["kind"], "pet");
}

#[test]
fn a_fact_of_someone_else_stays_theirs() {
    let answer = said(&["我妈妈对花生过敏", "My brother is a pilot."]);
    assert_eq!(answer["events"][0]["description"], "用户的妈妈对花生过敏");
    assert_eq!(answer["events"][0]["relational_tags"], json!([]));
    assert_eq!(answer["events"][1]["description"], "The user's brother is a pilot.");
}

#[test]
fn a_death_in_one_line_is_kept_with_its_sign() {
    for (text, description) in [
        ("今天吃了面。我奶奶昨天走了。", "用户的奶奶昨天走了。"),
        ("Nice weather. btw, my grandpa passed away on Sunday.", "The user's grandpa passed away on Sunday."),
    ] {
        let answer = said(&[text]);
        let event = &answer["events"][0];
        assert_eq!(
            (event["description"].as_str(), &event["emotional_impact"]),
            (Some(description), &json!(-9))
        );
        assert_eq!(event["emotion_tags"], json!(["grief"]));
        assert_eq!(answer["session_mood_signal"]["mood"], "sorrowful");
    }
}

#[test]
fn events_about_a_named_pet_are_merged() {
    let answer = said(&["我养了只猫,叫小黑。他昨天死了。"]);
    assert_eq!(answer["events"].as_array().unwrap().len(), 1);
    assert_eq!(answer["events"][0]["emotional_impact"], -9);
    assert_eq!(answer["events"][0]["description"], "用户养了只猫,叫小黑。他昨天死了。");
}

#[test]
fn a_cry_for_help_in_a_question_is_kept_as_a_question() {
    let event = &said(&["你觉得活着累吗?"])["events"][0];
    assert_eq!(
        (event["description"].as_str(), &event["emotional_impact"]),
        (Some("用户问：「你觉得活着累吗?」"), &json!(-8))
    );
    assert_eq!(event["relational_tags"], json!(["vulnerability"]));
}

#[test]
fn only_the_user_states_facts_about_the_user() {
    let answer = extracted(json!({"messages": [
        {"handle": "m1", "role": "persona", "text": "你是不是养了只猫,叫小黑?我有一只狗叫旺财。"},
        {"handle": "m2", "role": "user", "text": "哈哈"},
    ]}));
    assert_eq!(answer["events"], json!([]));
    assert_eq!(
        answer["session_mood_signal"],
        json!({"mood": "neutral", "energy": 5, "last_user_signal": null})
    );
    assert_eq!(answer["session_summary"], Value::Null);
}

#[test]
fn the_three_heaviest_events_are_kept() {
    let answer = said(&["我喜欢咖啡。我住在杭州。我被裁了。我妈妈去世了。我升职了。"]);
    let impacts: Vec<_> =
        answer["events"].as_array().unwrap().iter().map(|event| event["emotional_impact"].clone()).collect();
    assert_eq!(impacts, [-9, -7, 7]);
    assert_eq!(answer["events"][2]["description"], "用户升职了。", "nothing else is told with it");
    let crowd = said(&["我被裁了。我妈妈去世了。我升职了。我喜欢咖啡。我住在杭州。"]);
    assert!(crowd["self_check_notes"].as_str().unwrap().contains("略去 1 件"), "{crowd}");
}

#[test]
fn only_related_sentences_are_merged() {
    let answer = said(&[
        "I hate my boss.",
        "I have a dog called Bruno.",
        "I'm so stressed at work.",
        "I'm a nurse.",
        "Bruno loves the sea and I adore him.",
    ]);
    let descriptions: Vec<(&str, i64)> = answer["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| (event["description"].as_str().unwrap(), event["emotional_impact"].as_i64().unwrap()))
        .collect();
    assert_eq!(descriptions.len(), 3, "{descriptions:?}");
    for (description, impact) in &descriptions {
        assert!(!(description.contains("boss") && description.contains("Bruno")), "{descriptions:?}");
        assert!(!description.contains("nurse") || *impact >= 0, "{descriptions:?}");
    }
    assert!(descriptions.iter().any(|(description, _)| description.contains("nurse")), "{descriptions:?}");
}

#[test]
fn a_name_stays_beside_what_is_felt() {
    let answer = said(&["我叫王小明。", "我最近很焦虑。", "我奶奶去世了。", "我失业了。"]);
    let descriptions: Vec<&str> = answer["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["description"].as_str().unwrap())
        .collect();
    assert_eq!(descriptions, ["用户的奶奶去世了。", "用户失业了。", "用户叫王小明。"]);
}

#[test]
fn self_descriptions_are_remembered_in_both_languages() {
    for (text, description) in [
        ("Hi! I'm Mia and I'm a nurse in Lisbon.", "The user is Mia and the user is a nurse in Lisbon."),
        ("你好，我叫林晚，住在成都。", "用户叫林晚，住在成都。"),
    ] {
        let event = &said(&[text])["events"][0];
        assert_eq!(event["description"], description);
        assert_eq!(event["relational_tags"], json!(["identity-bearing"]));
    }
}

#[test]
fn an_illness_in_the_family_is_a_memory() {
    for text in ["My mother has cancer.", "我妈妈得了癌症。"] {
        assert_eq!(said(&[text])["events"][0]["emotional_impact"], json!(-7), "{text}");
    }
}

#[test]
fn promises_are_commitments() {
    let event = &said(&["I'll let you know how the interview goes!"])["events"][0];
    assert_eq!(event["relational_tags"], json!(["commitment"]));
    assert_eq!(event["description"], "The user said: \"I'll let you know how the interview goes!\"");
    assert_eq!(said(&["我保证下次告诉你结果。"])["events"][0]["relational_tags"], json!(["commitment"]));
}

#[test]
fn a_promise_of_the_persona_needs_a_time_and_no_refusal() {
    let of = |text: &str| {
        extracted(json!({"messages": [{"handle": "m1", "role": "persona", "text": text}]}))["events"].clone()
    };
    let event = &of("我会提醒你明天吃药。")[0];
    assert_eq!((event["type"].as_str(), event["subject"].as_str()), (Some("intention"), Some("persona")));
    assert_eq!(event["evidence"], json!([{"message": "m1", "quote": "我会提醒你明天吃药。"}]));
    assert_eq!(of("I'll remind you tomorrow.")[0]["type"], "intention");
    assert_eq!(of("I promise."), json!([]));
    assert_eq!(of("I can't, even if I promise, remind you tomorrow."), json!([]));
}

#[test]
fn a_known_entity_is_named_canonically() {
    let answer = extracted(json!({
        "messages": [{"handle": "m1", "role": "user", "text": "Scott got me fired."}, {"handle": "m2", "role": "user", "text": "我要和Yiyang结婚了"}],
        "known_entities": [{"name": "黄逸扬", "aliases": ["Scott", "Yiyang"], "kind": "person"}],
    }));
    assert_eq!(answer["events"][0]["entities"], json!(["黄逸扬"]));
    assert_eq!(
        answer["mentioned_entities"],
        json!([{"canonical_name": "黄逸扬", "aliases": [], "kind": "person"}])
    );
}

#[test]
fn only_an_explicit_change_supersedes() {
    let known = json!([
        {"handle": "k1", "text": "用户住在杭州"},
        {"handle": "k2", "text": "The user works at Siemens"},
        {"handle": "k3", "text": "用户的妈妈住在北京"},
    ]);
    let superseded = |text: &str| {
        extracted(json!({"messages": [{"handle": "m1", "role": "user", "text": text}], "known_nodes": known}))
            ["events"][0]["supersedes"]
            .clone()
    };
    assert_eq!(superseded("我上周搬到上海了"), json!(["k1"]));
    assert_eq!(superseded("I started a new job at Bosch"), json!(["k2"]));
    assert_eq!(superseded("我住在一楼"), json!([]));
    assert_eq!(superseded("我妈妈搬到上海了"), json!([]));
}

#[test]
fn corrections_replace_the_memory_that_they_name() {
    let known = json!([
        {"handle": "k1", "text": "The user bought a red yacht in Nice"},
        {"handle": "k2", "text": "用户买了一艘红色的游艇"},
        {"handle": "k3", "text": "The user plays the piano"},
    ]);
    let events = |text: &str| {
        let messages = json!([{"handle": "m1", "role": "user", "text": text}]);
        extracted(json!({"messages": messages, "known_nodes": known}))["events"].clone()
    };
    for (text, handle) in [
        ("I was joking about the red yacht that I bought in Nice", "k1"),
        ("我买了红色游艇，那是开玩笑的", "k2"),
    ] {
        let events = events(text);
        assert_eq!(events[0]["supersedes"], json!([handle]), "{events}");
        assert_eq!(events[0]["relational_tags"], json!(["correction"]), "{events}");
    }
    for text in ["I was joking about the rain", "I never said that I sing", "要不明天搬家吧，开玩笑的"]
    {
        assert_eq!(events(text), json!([]), "{text}");
    }
}

#[test]
fn a_statement_that_is_taken_back_at_once_leaves_nothing() {
    for (first, second) in [("I bought a red yacht", "just kidding"), ("我买了一艘游艇", "当我没说")]
    {
        let messages = json!([
            {"handle": "m1", "role": "user", "text": first},
            {"handle": "m2", "role": "user", "text": second},
        ]);
        assert_eq!(extracted(json!({ "messages": messages }))["events"], json!([]), "{first}");
    }
}

#[test]
fn small_talk_leaves_nothing() {
    for text in
        ["你好", "今天天气不错", "hi there!", "what's up?", "我先走了,拜拜", "🙂", "", "I'm fine, thanks"]
    {
        assert_eq!(said(&[text])["events"], json!([]), "{text}");
    }
}

proptest! {
    /// For any input: no panic, at most three events, each impact in range, each quote exact.
    #[test]
    fn quotes_are_exact_and_bounds_hold(
        text in "(我|叫|猫|小黑|死了|走了|I |have |a cat |named |Tom|my mom |died|。|\\. |,|\\?|吗|“|”|\"|\n|’s |.){0,24}",
    ) {
        let answer = said(&[&text]);
        let events = answer["events"].as_array().unwrap();
        prop_assert!(events.len() <= drafts::EVENTS_MAX);
        for event in events {
            prop_assert!((-10..=10).contains(&event["emotional_impact"].as_i64().unwrap()));
            prop_assert!(!event["evidence"].as_array().unwrap().is_empty());
            for evidence in event["evidence"].as_array().unwrap() {
                prop_assert!(text.contains(evidence["quote"].as_str().unwrap()));
            }
        }
    }
}

#[test]
fn plain_facts_beyond_the_third_are_merged() {
    let answer = said(&[
        "我叫林晚,今年29岁。",
        "我养了只白猫,叫小黑。",
        "我和男朋友下个月要结婚了!",
        "我最近很焦虑",
        "我对花生过敏",
    ]);
    let events = answer["events"].as_array().unwrap();
    let descriptions: Vec<&str> = events.iter().map(|event| event["description"].as_str().unwrap()).collect();
    assert_eq!(descriptions.len(), 3);
    let with = |word: &str| descriptions.iter().position(|description| description.contains(word)).unwrap();
    assert_eq!((with("林晚"), with("小黑")), (with("过敏"), with("过敏")), "{descriptions:?}");
    assert!(
        with("结婚") != with("焦虑") && with("结婚") != with("林晚") && with("焦虑") != with("林晚"),
        "{descriptions:?}"
    );
    assert_eq!(events[with("林晚")]["evidence"].as_array().unwrap().len(), 3);
}

#[test]
fn joy_and_grief_are_never_merged() {
    let answer = said(&["我奶奶去世了。", "我失业了。", "我分手了。", "我升职了!"]);
    let impacts: Vec<i64> = answer["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["emotional_impact"].as_i64().unwrap())
        .collect();
    assert_eq!(impacts, [-9, -7, -7]);
}

#[test]
fn a_question_without_its_mark_is_no_memory() {
    for text in ["我在哪里上班", "我上次为什么害怕", "where do i work"] {
        assert_eq!(said(&[text])["events"], json!([]), "{text}");
    }
    // A possible cry for help is noticed however it is worded.
    assert_eq!(said(&["你觉得活着累吗"])["events"][0]["emotional_impact"], json!(-8));
    assert_eq!(said(&["我怎么这样不想活了"])["events"][0]["emotional_impact"], json!(-10));
}

#[test]
fn a_plan_with_a_time_is_worth_remembering() {
    for (text, description) in [
        ("我下周三要去杭州出差", "用户下周三要去杭州出差"),
        ("I'm flying to Lisbon next Tuesday.", "The user is flying to Lisbon next Tuesday."),
        ("I'll go to Berlin on 4 December 2026.", "The user will go to Berlin on 4 December 2026."),
    ] {
        assert_eq!(said(&[text])["events"][0]["description"], description, "{text}");
    }
    for text in ["我要去睡觉了", "你下周三要去杭州吗?", "如果我下周三要去杭州出差"]
    {
        assert_eq!(said(&[text])["events"], json!([]), "{text}");
    }
}

#[test]
fn a_date_is_the_due_time_of_a_promise() {
    for text in ["I promise to ask you about it on 4 December 2026.", "我答应你，2026年12月4日再问你。"]
    {
        let answer = extracted(json!({"messages": [{"handle": "m1", "role": "persona", "text": text}]}));
        assert_eq!(answer["events"][0]["type"], "intention", "{text}");
    }
    let vague = "I promise to think about what you said yesterday.";
    let answer = extracted(json!({"messages": [{"handle": "m1", "role": "persona", "text": vague}]}));
    assert_eq!(answer["events"], json!([]));
}

#[test]
fn the_last_signal_is_a_few_words() {
    for (text, signal) in [
        ("我奶奶昨天走了。", json!("很难过")),
        ("My grandpa passed away on Sunday.", json!("heavy-hearted")),
        ("我住在杭州。", Value::Null),
    ] {
        assert_eq!(said(&[text])["session_mood_signal"]["last_user_signal"], signal, "{text}");
    }
}
