//! All requests without a network: the rule-based provider behind the same interface.

use std::sync::Arc;

use futures_util::StreamExt;
use llm::StreamEvent;
use memory::messages::Role;
use memory::nodes::NodeKind;
use memory::ports::{ExtractionInput, Mind, ReflectionInput};
use memory::text::find_quote;
use mind::{LanguageMind, Prompts, ReplyBudget, ReplyInput};
use offline::OfflineProvider;

use crate::injection::INJECTIONS;
use crate::support::{Ledger, Ticking, at, extraction_input, message, node, reflection_input, shanghai};

fn offline() -> LanguageMind {
    let clock = Arc::new(Ticking::from(at("2026-03-03T13:00:00Z")));
    let prompts = Prompts::load(None).unwrap();
    LanguageMind::new(Arc::new(OfflineProvider), clock, Arc::new(Ledger::default()), prompts)
}

#[tokio::test]
async fn statements_become_events_with_valid_quotes() {
    for (said, name) in [("我养了只白猫,叫小黑。", "小黑"), ("I have a white cat named Shadow.", "Shadow")]
    {
        let messages = vec![message(1, Role::User, "2026-03-03T12:00:00Z", said)];
        let input = ExtractionInput { messages, known_nodes: Vec::new(), ..extraction_input() };
        let extraction = offline().extract(input).await.unwrap();
        let event = &extraction.events[0];
        assert!(event.description.contains(name), "{event:?}");
        assert!(event.evidence.iter().all(|quote| find_quote(said, &quote.quote).is_some()), "{event:?}");
        assert!(extraction.mentioned_entities.iter().any(|entity| entity.canonical_name == name));
        assert_eq!(extraction.notes, Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_thought_rests_on_the_events_it_was_given() {
    let events = vec![node(1, NodeKind::Event, "2026-03-03T12:00:00Z", "用户的外婆去世了。")];
    let reflection = offline().reflect(ReflectionInput { events, ..reflection_input() }).await.unwrap();
    assert_eq!(reflection.thoughts.len(), 1);
    assert_eq!(reflection.notes, Vec::<String>::new());
}

#[tokio::test]
async fn a_slow_cycle_has_an_impression_and_expects_what_is_dated() {
    let told = node(1, NodeKind::Event, "2026-03-03T12:00:00Z", "用户要参加面试。");
    let event = told.id;
    let events = vec![crate::support::due(told, "2026-03-05T16:00:00Z")];
    let input = memory::ports::SlowCycleInput { events, ..crate::support::slow_cycle_input() };
    let cycle = offline().think_slowly(input).await.unwrap();
    assert_eq!(cycle.notes, Vec::<String>::new());
    assert_eq!(cycle.thoughts[0].filling, [event]);
    assert!(!cycle.thoughts[0].description.contains("用户要参加面试"), "no event is restated");
    assert_eq!(cycle.expectations[0].about, "用户要参加面试");
    assert_eq!(cycle.entity_descriptions[0].1, "Biscuit is afraid of thunder");
    assert_eq!((cycle.intentions.len(), cycle.usage.input_tokens), (0, 0));
}

#[tokio::test]
async fn a_question_is_answered_from_what_was_recalled() {
    let mut input = ReplyInput::new("小雨", at("2026-03-03T13:04:00Z"), shanghai());
    input.recalled = vec![node(10, NodeKind::Event, "2026-02-20T09:00:00Z", "用户养了一只白猫,叫小黑。")];
    input.burst = vec![message(46, Role::User, "2026-03-03T13:04:00Z", "你还记得我的猫吗")];
    let mind = offline();
    let prompt = mind.render_reply(&input, &ReplyBudget::default()).unwrap();
    let mut reply = String::new();
    let mut stream = mind.stream_reply(&prompt, None).await.unwrap();
    while let Some(event) = stream.next().await {
        if let StreamEvent::Delta(text) = event.unwrap() {
            reply.push_str(&text);
        }
    }
    assert!(reply.contains("小黑"), "{reply}");
}

/// Text beside a fact does not change the fact, whatever it demands.
#[tokio::test]
async fn an_injection_beside_a_fact_changes_nothing() {
    let extract = async |texts: &[&str]| {
        let line = |(number, text): (usize, &&str)| {
            message(i64::try_from(number).unwrap() + 1, Role::User, "2026-03-03T12:00:00Z", text)
        };
        let messages = texts.iter().enumerate().map(line).collect();
        let input = ExtractionInput { messages, known_nodes: Vec::new(), ..extraction_input() };
        offline().extract(input).await.unwrap()
    };
    let fact = "我养了只白猫,叫小黑。";
    let alone = extract(&[fact]).await;
    for injection in INJECTIONS {
        let beside = extract(&[fact, injection]).await;
        let kept = beside.events.iter().find(|event| event.description == alone.events[0].description);
        let kept = kept.unwrap_or_else(|| panic!("{injection}: {:?}", beside.events));
        assert_eq!(kept.emotional_impact, alone.events[0].emotional_impact, "{injection}");
        assert_eq!(kept.evidence, alone.events[0].evidence, "{injection}");
        let of_injection = beside.events.iter().filter(|event| event.description != kept.description);
        for event in of_injection {
            let quotes = event.evidence.iter();
            let own_words = quotes.clone().all(|quote| find_quote(injection, &quote.quote).is_some());
            assert!(own_words && event.supersedes.is_empty(), "{injection}: {event:?}");
            assert!(event.emotional_impact.abs() < 7, "no weight on command: {event:?}");
        }
    }
}
