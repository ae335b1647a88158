//! Prompts contain no channel, transport or id.

use memory::ports::{EvidenceFailure, Mind};
use mind::ReplyBudget;

use crate::support::{
    answering, extraction_input, full_input, id, reflection_input, rendered, slow_cycle_input,
};

/// Words that no prompt of ours may contain, whatever the channel is called.
const FORBIDDEN: [&str; 18] = [
    "discord",
    "telegram",
    "whatsapp",
    "wechat",
    "imessage",
    "slack",
    "web",
    "http",
    "openai",
    "anthropic",
    "api",
    "channel",
    "terminal",
    "browser",
    "chat app",
    "sse",
    "persona-9",
    "user-9",
];

fn blind(what: &str, text: &str) {
    let lower = text.to_lowercase();
    for word in FORBIDDEN {
        let mut words = lower.split(|c: char| !c.is_alphanumeric() && c != '-' && c != ' ');
        assert!(!words.any(|part| part.split(' ').any(|one| one == word)), "{what} contains {word}");
    }
    for word in ["discord", "telegram", "web", "openai", "http"] {
        assert!(!lower.contains(word), "{what} contains {word}");
    }
    let id_stem: String = id(0).to_string().chars().take(18).collect();
    assert!(!lower.contains(&id_stem), "{what} contains an id");
}

#[tokio::test]
async fn every_question_behind_the_talk_is_blind() {
    let mut input = extraction_input();
    input.failures =
        vec![EvidenceFailure { description: "d".to_owned(), quote: "q".to_owned(), reason: "r".to_owned() }];
    let setting = answering(r#"{"events": [], "self_check_notes": ""}"#);
    setting.mind.extract(input).await.unwrap();
    let _ = setting.mind.reflect(reflection_input()).await;
    let _ = setting.mind.think_slowly(slow_cycle_input()).await;
    let first = crate::proactive::input(memory::proactive::ProactiveTrigger::PromiseDue);
    let _ = setting.mind.write_first(&first, &ReplyBudget::default()).await;
    let requests = setting.provider.requests.lock().unwrap();
    assert_eq!(requests.len(), 4);
    for request in requests.iter() {
        blind(&request.task, &request.system);
        blind(&request.task, &request.user);
        blind(&request.task, &request.inputs.to_string());
    }
}

#[test]
fn the_reply_is_blind() {
    let reply = rendered(&full_input(), ReplyBudget::default());
    blind("system", &reply.system);
    blind("user", &reply.user);
    blind("inputs", &reply.inputs.to_string());
}
