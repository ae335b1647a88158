//! When reflections run, what their thoughts depend on, and when they don't run.

use memory::identifiers::NodeId;
use memory::nodes::{Node, NodeKind};
use memory::ports::{ConsolidationStore, Extraction, MindError, NodeStore, Reflection, SessionStore};
use memory::sessions::SessionStatus;

use crate::workshop::{Workshop, event, thought};
use crate::world::HOUR;

const LATER: std::time::Duration = std::time::Duration::from_secs(60);

/// Each reflection has one thought about the newest event.
fn thinks(workshop: &Workshop) {
    workshop.mind.reflect_with(|input| Ok(thought("她很在乎这件事", &[input.events.last().unwrap()])));
}

/// A session of one event; returns whether a reflection ran.
async fn lived(workshop: &Workshop, text: &str, impact: i8) -> bool {
    let before = workshop.mind.reflections().len();
    workshop.remember(text, impact).await;
    workshop.mind.reflections().len() > before
}

#[tokio::test]
async fn a_shock_is_reflected_on_at_once_and_the_timer_waits_for_a_day() {
    let workshop = Workshop::new().await;
    thinks(&workshop);
    assert!(lived(&workshop, "我养了一只白猫,很可爱", 3).await, "there never was one");
    workshop.pass(HOUR).await;
    assert!(!lived(&workshop, "我今天做了红烧肉,很香", 7).await, "no shock, and the last one is fresh");
    workshop.pass(HOUR).await;
    assert!(lived(&workshop, "我爸爸走了,我好难过", -8).await, "a shock");
    workshop.pass(24 * HOUR - LATER).await;
    assert!(!lived(&workshop, "我换了一家公司上班", 3).await, "not yet a day");
    workshop.pass(2 * LATER).await;
    assert!(lived(&workshop, "我学会了骑自行车", 3).await, "a day and a minute");
    assert_eq!(workshop.nodes(NodeKind::Thought).await.len(), 3);
}

#[tokio::test]
async fn shocks_that_keep_coming_make_three_runs_a_day() {
    let workshop = Workshop::new().await;
    thinks(&workshop);
    let texts = ["我爸爸走了", "我妈妈走了", "我失业了,天塌了", "我们离婚了", "我的狗死了"];
    let mut reflected = Vec::new();
    for text in texts {
        reflected.push(lived(&workshop, text, -9).await);
        workshop.pass(HOUR).await;
    }
    assert_eq!(reflected, [true, true, true, false, false]);
    workshop.pass(20 * HOUR).await;
    assert!(lived(&workshop, "我好想死啊", -10).await, "the first of the three is more than a day old");
    assert!(!lived(&workshop, "我撑不住了", -10).await, "the second is not");
}

#[tokio::test]
async fn a_run_that_stored_nothing_and_a_summary_do_not_count() {
    let workshop = Workshop::new().await;
    workshop.mind.reflect_with(|_| Ok(Reflection::default()));
    for text in ["我爸爸走了", "我妈妈走了", "我失业了,天塌了", "我们离婚了", "我的狗死了"]
    {
        assert!(lived(&workshop, text, -9).await, "{text}");
    }
    workshop.mind.extract_with(|input| {
        let text = input.messages[0].content.clone();
        Ok(Extraction {
            events: vec![event(input, &text, &text, -9)],
            summary: Some("说了难过的事".to_owned()),
            ..Extraction::default()
        })
    });
    for count in 6..10 {
        workshop.said("我叫小明,我好难过").await;
        workshop.consolidate().await;
        assert_eq!(workshop.mind.reflections().len(), count);
    }
    assert_eq!(workshop.store.last_reflection(&workshop.scope).await.unwrap(), None);
    assert_eq!(workshop.store.summarised_sessions(&workshop.scope, 10).await.unwrap().len(), 4);
}

#[tokio::test]
async fn without_events_nobody_is_asked() {
    let workshop = Workshop::new().await;
    workshop
        .mind
        .extract_with(|_| Ok(Extraction { summary: Some("没什么".to_owned()), ..Extraction::default() }));
    let session = workshop.said("我叫小明").await;
    workshop.consolidate().await;
    let session = workshop.now_stands(&session).await;
    assert_eq!(
        (session.status, session.reflected, session.extracted_events),
        (SessionStatus::Closed, true, 0)
    );
    assert_eq!((workshop.mind.extractions().len(), workshop.mind.reflections().len()), (1, 0));
}

#[tokio::test]
async fn a_thought_cites_events_that_it_was_shown_or_is_none() {
    let workshop = Workshop::new().await;
    let mut invented: Option<Node> = None;
    workshop.mind.reflect_with(move |input| {
        let known = input.events.last().unwrap().clone();
        let foreign = invented.get_or_insert_with(|| Node { id: nobody(), ..known.clone() });
        let mut thoughts = thought("凭空而来", &[foreign]).thoughts;
        thoughts.extend(thought("一半有据", &[foreign, &known]).thoughts);
        thoughts.extend(thought("  ", &[&known]).thoughts);
        thoughts.extend(thought("有据", &[&known]).thoughts);
        thoughts.extend(thought("太多了", &[&known]).thoughts);
        Ok(Reflection { thoughts, notes: Vec::new() })
    });
    let event = workshop.remember("我养了一只白猫,很可爱", 3).await;
    let thoughts = workshop.nodes(NodeKind::Thought).await;
    let descriptions: Vec<_> = thoughts.iter().map(|thought| thought.description.as_str()).collect();
    assert_eq!(descriptions, ["一半有据", "有据"]);
    for thought in thoughts {
        assert_eq!(workshop.store.node(thought.id).await.unwrap().unwrap().filling, [event.id]);
    }
}

#[tokio::test]
async fn it_reads_the_last_day_and_the_shock_that_was_held_up() {
    let workshop = Workshop::new().await;
    thinks(&workshop);
    workshop.remember("我养了一只白猫,很可爱", 3).await;
    workshop.mind.reflect_next(Err(MindError::Permanent("wrong key".to_owned())));
    let shock = workshop.remember("我爸爸走了,我好难过", -9).await;
    let failed = workshop.sessions().await.pop().unwrap();
    assert_eq!((failed.status, failed.extracted), (SessionStatus::Failed, true));
    workshop.pass(48 * HOUR).await;
    let recent = workshop.remember("我学会了骑自行车", 3).await;
    let read = workshop.mind.reflections().pop().unwrap().events;
    assert_eq!(read.iter().map(|event| event.id).collect::<Vec<_>>(), [recent.id], "the last 24 hours");
    workshop.store.retry_session(failed.id).await.unwrap();
    workshop.consolidate().await;
    let read = workshop.mind.reflections().pop().unwrap().events;
    assert_eq!(read.iter().map(|event| event.id).collect::<Vec<_>>(), [shock.id, recent.id], "and its own");
    assert_eq!(workshop.now_stands(&failed).await.status, SessionStatus::Closed);
}

fn nobody() -> NodeId {
    "00000000-0000-7000-8000-000000000007".parse().unwrap()
}
