//! Every time is stored in UTC and stated in the zone of its reader.

use memory::nodes::{EventTime, NodeKind};
use memory::ports::{Extraction, UserStore};
use serde_json::json;
use testkit::Reply;

use crate::workshop::{Workshop, event};
use crate::world::{HOUR, WEB, World, scope};

/// It is 09:00 in UTC and 01:00 of the same day in Los Angeles.
#[tokio::test]
async fn defect_09_days_are_the_users_own_and_moments_are_never_mixed() {
    let mut world = World::new().await;
    world.runtime.ensure_scope_exists(&scope("ann")).await.unwrap();
    world.store.set_user_timezone(&scope("ann").user, Some("America/Los_Angeles".to_owned())).await.unwrap();
    world.talk(WEB, "my sister came by, I was so glad").await;
    let stored = world.messages().await.remove(0);
    assert_eq!(stored.created_at.to_string(), "2026-03-05T09:00:00Z");
    assert_eq!(stored.day.to_string(), "2026-03-05");
    // 22:00 of the same day at home; in UTC it is the 6th.
    world.pass(21 * HOUR).await;
    world.talk(WEB, "what did I tell you today?").await;
    let late = world.messages().await.pop().unwrap();
    assert_eq!(
        (late.created_at.to_string()[..10].to_owned(), late.day.to_string()),
        ("2026-03-06".to_owned(), "2026-03-05".to_owned())
    );
    let request = world.model.requests_for("reply").pop().unwrap();
    assert!(request.system().contains("For them it is Thursday 2026-03-05, 22:"), "{}", request.system());
    assert!(request.user().contains("## Earlier today\nthem: my sister came by"), "{}", request.user());
    // Two hours later it is yesterday in both zones.
    world.pass(2 * HOUR).await;
    world.talk(WEB, "what did I tell you yesterday?").await;
    let request = world.model.requests_for("reply").pop().unwrap();
    assert!(request.user().contains("## Yesterday\nthem: my sister came by"), "{}", request.user());
}

/// The time of an event is computed from its message's time, in the user's zone, whatever the model answers.
#[tokio::test]
async fn an_event_is_dated_by_the_words_in_the_users_zone() {
    let mut world = World::new().await;
    world.runtime.ensure_scope_exists(&scope("ann")).await.unwrap();
    world.store.set_user_timezone(&scope("ann").user, Some("Asia/Shanghai".to_owned())).await.unwrap();
    world.pass(9 * HOUR).await;
    // It is 02:00 on the 6th in Shanghai, still the 5th in UTC.
    world.talk(WEB, "我外婆昨天走了,我很难过").await;
    world.model.next("extraction", Reply::json(json!({
        "events": [{"type": "event", "description": "用户的外婆走了", "emotional_impact": -8, "subject": "user",
            "evidence": [{"message": "m1", "quote": "外婆昨天走了"}], "entities": [],
            "event_time": {"start": "2026-03-20", "end": null}}],
        "mentioned_entities": [], "entity_clarification": null, "session_mood_signal": null,
        "session_summary": null, "self_check_notes": "",
    })));
    world.silence().await;
    let node = world.nodes(NodeKind::Event).await.remove(0);
    let EventTime { start, end } = node.event_time.unwrap();
    assert_eq!(start.to_string(), "2026-03-04T16:00:00Z", "the 5th, in Shanghai");
    assert_eq!(end.unwrap().to_string(), "2026-03-05T15:59:59.999999Z");
    world.pass(48 * HOUR).await;
    world.talk(WEB, "三天前发生了什么").await;
    let request = world.model.requests_for("reply").pop().unwrap();
    let phrase = "用户的外婆走了 · event 2026-03-05 · status=past (3 days ago)";
    assert!(request.user().contains(phrase), "{}", request.user());
}

/// 生日那天: the day of the event that mentions it, for events and for messages.
#[tokio::test]
async fn an_occasion_leads_to_its_day() {
    let workshop = Workshop::new().await;
    let birthday = "前天我过生日,我喜欢这天";
    workshop.mind.extract_with(move |input| {
        Ok(Extraction { events: vec![event(input, "用户过生日", birthday, 5)], ..Extraction::default() })
    });
    workshop.said(birthday).await;
    workshop.consolidate().await;
    let cake = "前天我们去吃了火锅,我喜欢";
    workshop.mind.extract_with(move |input| {
        Ok(Extraction {
            events: vec![event(input, "用户和朋友吃火锅", cake, 3)], ..Extraction::default()
        })
    });
    workshop.said(cake).await;
    workshop.consolidate().await;
    let tea = "上周我买了茶叶,我很喜欢";
    workshop.mind.extract_with(move |input| {
        Ok(Extraction { events: vec![event(input, "用户买了茶叶", tea, 1)], ..Extraction::default() })
    });
    workshop.said(tea).await;
    workshop.consolidate().await;
    let found = workshop.recalled("生日那天去了哪里").await;
    assert!(found.contains(&"用户和朋友吃火锅".to_owned()), "{found:?}");
    assert!(!found.contains(&"用户买了茶叶".to_owned()), "{found:?}");
}
