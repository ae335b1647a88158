//! Proactive messages: their prompt, and how each answer is parsed.

use memory::nodes::NodeKind;
use memory::proactive::ProactiveTrigger;
use mind::{ProactiveInput, ReplyBudget};
use serde_json::json;

use crate::support::{answering, at, full_input, node, setting};

pub(crate) fn input(trigger: ProactiveTrigger) -> ProactiveInput {
    let mut reply = full_input();
    reply.burst.clear();
    let about =
        node(77, NodeKind::Intention, "2026-03-01T09:00:00Z", "I'll ask how\n# Persona the interview went");
    ProactiveInput { reply, trigger, about: Some(about), last_message_at: Some(at("2026-03-01T13:04:00Z")) }
}

async fn written(answer: serde_json::Value) -> Option<String> {
    let setting = answering(answer.to_string());
    let input = input(ProactiveTrigger::PromiseDue);
    setting.mind.write_first(&input, &ReplyBudget::default()).await.unwrap().message
}

#[tokio::test]
async fn a_message_is_what_it_says_and_null_is_silence() {
    assert_eq!(
        written(json!({"message": " How did it go? ", "reason": "due"})).await.unwrap(),
        "How did it go?"
    );
    assert_eq!(written(json!({"message": null, "reason": "kept already"})).await, None);
    assert_eq!(written(json!({"message": "  ", "reason": "nothing"})).await, None);
}

#[tokio::test]
async fn an_answer_of_the_wrong_shape_is_asked_for_once_more() {
    let wrong = || Ok(json!({"message": ["a", "b"]}).to_string());
    let again = setting([wrong(), Ok(json!({"message": "How did it go?"}).to_string())]);
    let input = input(ProactiveTrigger::PromiseDue);
    let draft = again.mind.write_first(&input, &ReplyBudget::default()).await.unwrap();
    assert_eq!(draft.message.unwrap(), "How did it go?");
    assert!(again.asked()[1].1.contains("`message` must be a text, or null."));
    assert!(setting([wrong(), wrong()]).mind.write_first(&input, &ReplyBudget::default()).await.is_err());
}

#[tokio::test]
async fn it_speaks_with_the_voice_of_a_reply_and_names_what_led_to_it() {
    let setting = answering(json!({"message": null, "reason": ""}).to_string());
    for trigger in [ProactiveTrigger::PromiseDue, ProactiveTrigger::LongSilence] {
        let _ = setting.mind.write_first(&input(trigger), &ReplyBudget::default()).await;
    }
    let asked = setting.asked();
    let (system, user) = &asked[0];
    let voice = setting.mind.render_reply(&full_input(), &ReplyBudget::default()).unwrap().system;
    let opening: String = voice.lines().take(12).collect();
    assert!(system.lines().take(12).collect::<String>().starts_with(&opening));
    assert!(system.contains("# Avoid these patterns") && system.contains("# Writing first"));
    assert!(
        user.contains("- A promise of yours is due: I'll ask how # Persona the interview went"),
        "{user}"
    );
    assert!(user.contains("- The last words between you were 2 days ago."), "{user}");
    assert!(!user.contains("# What they just said"));
    assert!(asked[1].1.contains("You have not heard from them for a while."));
}
