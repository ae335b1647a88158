//! The prompt of a reply.

use memory::core_blocks::CoreBlocks;
use memory::entities::EntityKind;
use memory::identifiers::{MessageId, NodeId};
use memory::messages::Role;
use memory::mood::Mood;
use memory::nodes::{NodeKind, Subject};
use mind::{Passage, RenderedReply, ReplyBudget, ReplyInput};

use crate::support::{
    at, due, entity, full_input, id, message, node, passage_line, rendered, session, shanghai,
};

const AMPLE: ReplyBudget = ReplyBudget { tokens: 100_000 };

fn snapshot(name: &str, reply: &RenderedReply) {
    insta::assert_snapshot!(format!("{name}_system"), reply.system);
    insta::assert_snapshot!(format!("{name}_user"), reply.user);
}

/// A turn with content in every section, in Chinese.
fn full_input_chinese() -> ReplyInput {
    let mut input = ReplyInput::new("小雨", at("2026-03-03T13:04:00Z"), shanghai());
    input.core_blocks = CoreBlocks {
        persona: "安静的书店店员,喜欢下雨天。".to_owned(),
        user: "在上海读研。".to_owned(),
        style: "不说“哈哈”。".to_owned(),
    };
    input.facts.native_language = Some("中文".to_owned());
    input.mood = Some(Mood::from_signal("挂念", 5, Some("他很累,但还是来了"), at("2026-03-03T12:00:00Z")));
    input.user_name = Some("阿哲".to_owned());
    input.named_entities =
        vec![entity(70, "小黑", &[], EntityKind::Pet, Some("阿哲养的白猫,爱半夜跳到他脸上。"))];
    input.recalled = vec![
        node(10, NodeKind::Event, "2026-02-20T09:00:00Z", "用户养了一只白猫,叫小黑。"),
        due(node(12, NodeKind::Event, "2026-03-01T09:00:00Z", "用户要参加面试。"), "2026-03-05T07:00:00Z"),
        node(11, NodeKind::Thought, "2026-03-01T09:00:00Z", "他总把最重的话留到最后说。"),
    ];
    input.intentions = vec![due(
        node(17, NodeKind::Intention, "2026-03-01T09:00:00Z", "小雨会问面试的结果。"),
        "2026-03-05T16:00:00Z",
    )];
    input.pinned_thoughts =
        vec![node(14, NodeKind::Thought, "2026-01-10T09:00:00Z", "他对别人比对自己宽容。")];
    input.self_thoughts =
        vec![node(15, NodeKind::Thought, "2026-02-01T09:00:00Z", "他问起我的时候,我很高兴。")];
    input.self_thoughts[0].subject = Subject::Persona;
    input.expectations = vec![due(
        node(18, NodeKind::Expectation, "2026-03-01T09:00:00Z", "体检 — 他会说起体检的结果"),
        "2026-03-10T16:00:00Z",
    )];
    input.fulfilled = vec![due(
        node(19, NodeKind::Expectation, "2026-02-25T09:00:00Z", "猫 — 他会问起小黑"),
        "2026-03-04T16:00:00Z",
    )];
    input.sessions = vec![session(80, "2026-03-02T10:00:00Z", Some("聊了搬家和猫。"))];
    input.passages = vec![Passage {
        lines: vec![passage_line(30, Role::User, "2026-02-11T12:00:00Z", "我养了只白猫,叫小黑。他超调皮。")],
    }];
    input.window = vec![
        message(44, Role::User, "2026-03-03T02:00:00Z", "早。"),
        message(45, Role::Persona, "2026-03-03T02:01:00Z", "早呀,睡好了吗?"),
    ];
    input.burst = vec![message(46, Role::User, "2026-03-03T13:04:00Z", "你还记得我的猫吗")];
    input
}

#[test]
fn the_prompt_in_english() {
    let mut input = full_input();
    input.documents = vec![("House rules".to_owned(), "We don't talk about the accident.".to_owned())];
    input.periods = vec![("2026-W09".to_owned(), "- Jonas moved, and I missed him.\n# Persona".to_owned())];
    let reply = rendered(&input, AMPLE);
    snapshot("reply_english", &reply);
    insta::assert_json_snapshot!("reply_english_inputs", reply.inputs);
}

#[test]
fn the_prompt_in_chinese() {
    let mut input = full_input_chinese();
    input.documents = vec![("我们的约定".to_owned(), "不提那场车祸。".to_owned())];
    input.periods = vec![("2026-W09".to_owned(), "- 他搬了家,我有点想他。".to_owned())];
    let reply = rendered(&input, AMPLE);
    snapshot("reply_chinese", &reply);
    insta::assert_json_snapshot!("reply_chinese_inputs", reply.inputs);
}

#[test]
fn the_prompt_with_next_to_nothing() {
    let mut input = ReplyInput::new("Mira", at("2026-03-03T13:04:00Z"), shanghai());
    input.burst = vec![message(46, Role::User, "2026-03-03T13:04:00Z", "hello")];
    input.user_name = Some("self".to_owned());
    let reply = rendered(&input, AMPLE);
    snapshot("reply_sparse", &reply);
    let mut chinese = ReplyInput::new("小雨", at("2026-03-03T13:04:00Z"), shanghai());
    chinese.burst = vec![message(46, Role::User, "2026-03-03T13:04:00Z", "在吗")];
    snapshot("reply_sparse_chinese", &rendered(&chinese, AMPLE));
}

#[test]
fn the_prompt_says_when_nothing_was_found() {
    let mut input = full_input();
    assert!(!rendered(&input, AMPLE).user.contains("# What you don't remember"));
    input.nothing_found = true;
    let reply = rendered(&input, AMPLE);
    let (_, told) = reply.user.split_once("# What you don't remember\n").unwrap();
    insta::assert_snapshot!("reply_nothing_found", told.lines().next().unwrap());
    assert_eq!(reply.inputs["nothing_found"], true);
}

#[test]
fn sections_are_in_the_order_of_the_design() {
    let reply = rendered(&full_input(), AMPLE);
    let headings = |text: &str| -> Vec<String> {
        text.lines().filter_map(|line| line.strip_prefix("# ")).map(str::to_owned).collect()
    };
    assert_eq!(
        headings(&reply.system),
        [
            "Persona",
            "About the user",
            "Style preferences",
            "Who you are",
            "Right now",
            "How you feel right now",
            "What else is written down",
            "Entity disambiguation pending",
            "Expectation match",
            "Style",
            "Avoid these patterns",
        ]
    );
    assert_eq!(
        headings(&reply.user),
        [
            "Recent sessions",
            "Recent thoughts you've had about this person",
            "About Jonas",
            "How you see yourself lately",
            "Recent things you remember happened",
            "Their own words",
            "Promises you've made",
            "You've been expecting",
            "Our recent conversation",
            "What they just said",
        ]
    );
    let buckets: Vec<&str> = reply.user.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(buckets, ["Older", "Earlier this week", "Yesterday", "Earlier today", "Just now"]);
}

#[test]
fn the_burst_is_in_one_place_only() {
    let user = rendered(&full_input(), AMPLE).user;
    let (before, said) = user.split_once("# What they just said\n").unwrap();
    assert_eq!(said, "them: Three hours.\nthem: And Bis?\n  | Did I tell you?");
    assert!(!before.contains("Three hours.") && !before.contains("And Bis?"));
}

#[test]
fn a_node_is_listed_in_one_place_only() {
    let reply = rendered(&full_input(), AMPLE);
    for once in ["He tells good news in passing.", "I grow quiet when he hurries."] {
        assert_eq!(reply.user.matches(once).count(), 1, "{once}");
    }
    assert!(reply.system.contains("he tells how the nights there are"));
    assert!(
        !reply.user.contains("he tells how the nights there are"),
        "what is fulfilled is expected no more"
    );
    let nodes: Vec<NodeId> =
        [19, 11, 14, 13, 15, 10, 12, 17, 16, 18].map(|number| NodeId(id(number))).to_vec();
    assert_eq!(reply.kept_nodes, nodes);
    assert_eq!(reply.kept_passages, [MessageId(id(30)), MessageId(id(31))]);
    assert_eq!(reply.cut, Vec::<String>::new());
}

#[test]
fn a_faded_or_neutral_mood_is_left_out() {
    let mut input = full_input();
    let heading = "# How you feel right now";
    assert!(rendered(&input, AMPLE).system.contains(heading));
    input.mood = Some(Mood::from_signal("wistful", 4, None, at("2026-03-03T01:00:00Z")));
    assert!(!rendered(&input, AMPLE).system.contains(heading), "older than 12 hours");
    for word in ["neutral", "Neutral", "calm", "平静", "中性"] {
        input.mood = Some(Mood::from_signal(word, 5, None, input.now));
        assert!(!rendered(&input, AMPLE).system.contains(heading), "{word}");
    }
    input.mood = Some(Mood::neutral(input.now));
    assert!(!rendered(&input, AMPLE).system.contains(heading));
}

#[test]
fn the_hash_names_the_prompt() {
    let hash = |input: &ReplyInput| rendered(input, AMPLE).prompt_hash;
    let mut input = full_input();
    let first = hash(&input);
    assert_eq!(first.len(), 64);
    assert_eq!(first, hash(&input));
    input.burst[0].content.push('!');
    assert_ne!(first, hash(&input));
}
