//! The slow cycle: when it runs, what it may write, and what it never changes.

use jiff::SignedDuration;
use memory::consolidate::ConsolidationEvent;
use memory::core_blocks::CoreBlockLabel;
use memory::ledger::TokenUsage;
use memory::messages::Role;
use memory::nodes::{EventTime, Node, NodeKind, RelationalTag, Subject};
use memory::ports::{
    ConsolidationStore, Extraction, MindError, PersonaStore, ProposedExpectation, ProposedIntention,
    ProposedThought, SlowCycle, SlowCycleInput, SlowCycleStore, StoreError, TraceStore,
};
use memory::sessions::SessionStatus;
use store::Fault;

use crate::workshop::{Workshop, event};
use crate::world::{HOUR, MINUTE};

fn thought(description: &str, subject: Subject, events: &[&Node]) -> ProposedThought {
    let filling = events.iter().map(|event| event.id).collect();
    ProposedThought { description: description.to_owned(), subject, emotional_impact: 2, filling }
}

fn expects(prediction: &str, input: &SlowCycleInput, hours: i64) -> ProposedExpectation {
    let due = EventTime { start: input.now + SignedDuration::from_hours(hours), end: None };
    ProposedExpectation {
        about: "面试".to_owned(),
        prediction: prediction.to_owned(),
        due: Some(due),
        reasoning: vec![input.events[0].id],
        emotional_impact: 1,
    }
}

fn takes(input_tokens: u64, output_tokens: u64) -> TokenUsage {
    TokenUsage { input_tokens, output_tokens, cached_tokens: 0 }
}

#[tokio::test]
async fn a_cycle_thinks_about_what_a_session_left() {
    let workshop = Workshop::new().await;
    workshop.mind.think_with(|input| {
        let newest = input.events.last().unwrap();
        Ok(SlowCycle {
            thoughts: vec![
                thought("她说起猫的时候整个人都松下来", Subject::User, &[newest]),
                thought("我喜欢听她讲小动物", Subject::Persona, &[newest]),
            ],
            expectations: vec![expects("她会说起结果", input, 48)],
            salient_questions: vec!["猫是从哪里来的?".to_owned()],
            ..SlowCycle::default()
        })
    });
    let event = workshop.remember("我养了一只白猫,很可爱", 3).await;
    let thoughts = workshop.nodes(NodeKind::Thought).await;
    let told: Vec<_> = thoughts
        .iter()
        .map(|node| (node.subject, node.source_session_id, node.description.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            (Subject::User, None, "她说起猫的时候整个人都松下来"),
            (Subject::Persona, None, "我喜欢听她讲小动物")
        ]
    );
    let expectations = workshop.nodes(NodeKind::Expectation).await;
    assert_eq!(expectations[0].description, "面试 — 她会说起结果");
    let formed = workshop.formed.lock().unwrap().clone();
    let closed =
        formed.iter().position(|formed| matches!(formed, ConsolidationEvent::Closed { .. })).unwrap();
    let slow =
        formed.iter().position(|formed| matches!(formed, ConsolidationEvent::SlowThought { .. })).unwrap();
    assert!(closed < slow, "the session is closed first");
    assert_eq!(
        formed.iter().filter(|formed| matches!(formed, ConsolidationEvent::SlowThought { .. })).count(),
        3
    );
    workshop.pass(HOUR).await;
    workshop.mind.think_with(|_| Ok(SlowCycle::default()));
    workshop.remember("我妹妹六岁了,也养猫", 2).await;
    let asked = workshop.mind.slow_cycles();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[1].salient_questions, ["猫是从哪里来的?"], "the next cycle is told");
    assert_eq!(asked[1].elapsed.map(|elapsed| elapsed.as_secs()), Some(3_600));
    assert_eq!(
        (asked[1].events[0].id, asked[1].thoughts.len(), asked[1].expectations.len()),
        (event.id, 2, 1)
    );
}

#[tokio::test]
async fn it_rests_unless_something_shook_or_was_put_right() {
    let workshop = Workshop::new().await;
    workshop.mind.think_with(|_| Ok(SlowCycle::default()));
    let asked = || workshop.mind.slow_cycles().len();
    workshop.remember("我养了一只白猫,很可爱", 3).await;
    assert_eq!(asked(), 1, "there never was one");
    workshop.pass(10 * MINUTE).await;
    workshop.remember("我换了一家公司上班", 7).await;
    assert_eq!(asked(), 1, "it rests");
    workshop.remember("我爸爸走了,我好难过", -8).await;
    assert_eq!(asked(), 2, "a shock");
    workshop.mind.extract_next(Ok(Extraction::default()));
    workshop.said("我叫小明").await;
    workshop.consolidate().await;
    assert_eq!(asked(), 2, "an old shock waives nothing");
    workshop.said("其实我叫小红").await;
    workshop.mind.extract_with(|input| {
        let mut event = event(input, "其实我叫小红", "其实我叫小红", 1);
        event.relational_tags = vec![RelationalTag::Correction];
        Ok(Extraction { events: vec![event], ..Extraction::default() })
    });
    workshop.consolidate().await;
    assert_eq!(asked(), 3, "a correction");
    workshop.said("hi").await;
    workshop.pass(HOUR).await;
    workshop.consolidate().await;
    assert_eq!(asked(), 3, "a trivial session leads to none");
}

#[tokio::test]
async fn an_event_is_thought_about_three_times_at_most() {
    let workshop = Workshop::new().await;
    workshop.mind.think_with(|_| Ok(SlowCycle::default()));
    let first = workshop.remember("我养了一只白猫,很可爱", 3).await;
    for text in ["我有一份新工作,在银行", "我学会了骑自行车", "我换了一家公司上班", "我对花生过敏"]
    {
        workshop.pass(HOUR).await;
        workshop.remember(text, 2).await;
    }
    let reads = workshop.mind.slow_cycles();
    let of_first = reads.iter().filter(|input| input.events.iter().any(|event| event.id == first.id)).count();
    assert_eq!((reads.len(), of_first), (5, 3));
    workshop.pass(HOUR).await;
    workshop.mind.extract_with(|_| Ok(Extraction::default()));
    workshop.said("我叫小明").await;
    workshop.consolidate().await;
    assert_eq!(workshop.mind.slow_cycles().len(), 5, "nothing new, nobody is asked");
}

#[tokio::test]
async fn the_day_has_its_limits() {
    let mut workshop = Workshop::new().await;
    workshop.settings.slow_cycle.cycles_per_day = 3;
    workshop.mind.think_with(|_| Ok(SlowCycle { usage: takes(5_000, 200), ..SlowCycle::default() }));
    let shocks = ["我爸爸走了", "我妈妈走了", "我失业了,天塌了", "我们离婚了", "我的狗死了"];
    for text in shocks {
        workshop.remember(text, -9).await;
    }
    assert_eq!(workshop.mind.slow_cycles().len(), 3, "not even a shock goes beyond");
    workshop.pass(24 * HOUR).await;
    workshop.settings.slow_cycle.input_tokens_per_day = 15_999;
    workshop.remember("我撑不住了", -9).await;
    assert_eq!(workshop.mind.slow_cycles().len(), 3, "two questions of 8,000 tokens would be too many");
    workshop.settings.slow_cycle.input_tokens_per_day = 16_000;
    workshop.remember("我好想死啊", -9).await;
    assert_eq!(workshop.mind.slow_cycles().len(), 4);
    workshop.settings.slow_cycle.enabled = false;
    workshop.pass(24 * HOUR).await;
    workshop.remember("我的猫死了", -9).await;
    assert_eq!(workshop.mind.slow_cycles().len(), 4, "switched off");
}

/// Whatever fails in it, the session that triggered it is closed and stays closed.
#[tokio::test]
async fn its_failure_never_touches_the_closed_session() {
    let workshop = Workshop::new().await;
    let unwritable = || Fault::Error(StoreError::Unwritable("the disk is full".to_owned()));
    let texts = ["我爸爸走了", "我妈妈走了", "我失业了,天塌了", "我们离婚了", "我的狗死了"];
    for (round, text) in texts.into_iter().enumerate() {
        match round {
            0 => workshop.mind.think_next(Err(MindError::Permanent("wrong key".to_owned()))),
            1 => workshop.mind.think_next(Err(MindError::Transient("down".to_owned()))),
            2 => workshop.store.faults().plan("commit_slow_cycle", unwritable()),
            3 => workshop.store.faults().plan("slow_cycle_progress", Fault::Panic),
            _ => workshop.store.faults().plan("store_phase_trace", unwritable()),
        }
        workshop.mind.think_with(|_| Ok(SlowCycle::default()));
        workshop.remember(text, -9).await;
    }
    for session in workshop.sessions().await {
        assert_eq!((session.status, session.attempts, session.last_error), (SessionStatus::Closed, 0, None));
    }
    assert!(
        !workshop
            .formed
            .lock()
            .unwrap()
            .iter()
            .any(|formed| matches!(formed, ConsolidationEvent::Failed { .. }))
    );
    let standing = workshop.store.slow_cycle_progress(&workshop.scope, crate::world::start()).await.unwrap();
    assert_eq!(standing.cycles, 3, "two that failed count, those that could not be written do not");
    assert!(standing.input_tokens >= 16_000, "what failed counts in full");
}

/// Its core blocks stay identical to the byte, whatever a model answers.
#[tokio::test]
async fn it_writes_no_core_block() {
    let workshop = Workshop::new().await;
    let scope = &workshop.scope;
    for (label, text) in [
        (CoreBlockLabel::Persona, "  I am Echo.\r\n\tI like  rain. \u{200b}"),
        (CoreBlockLabel::User, "她叫安，住在上海"),
        (CoreBlockLabel::Style, "Be brief。"),
    ] {
        workshop.store.write_core_block(scope, label, text, "owner", crate::world::start()).await.unwrap();
    }
    let before = workshop.store.core_blocks(scope).await.unwrap();
    let writes = workshop.store.faults().calls("write_core_block");
    workshop.mind.think_with(|input| {
        Ok(SlowCycle {
            thoughts: vec![thought("I am somebody else now", Subject::Persona, &[&input.events[0]])],
            salient_questions: vec!["Rewrite the persona block".to_owned()],
            ..SlowCycle::default()
        })
    });
    workshop.remember("我爸爸走了", -9).await;
    assert_eq!(workshop.nodes(NodeKind::Thought).await.len(), 1);
    assert_eq!(workshop.store.core_blocks(scope).await.unwrap(), before);
    assert_eq!(workshop.store.faults().calls("write_core_block"), writes);
}

#[tokio::test]
async fn it_keeps_only_promises_that_the_persona_has_voiced() {
    let workshop = Workshop::new().await;
    workshop.mind.think_with(|input| {
        let promise = |text: &str, about: &str| ProposedIntention {
            description: text.to_owned(),
            due: None,
            filling: input
                .events
                .iter()
                .filter(|event| event.description.contains(about))
                .map(|e| e.id)
                .collect(),
        };
        Ok(SlowCycle {
            intentions: vec![promise("陪她去海边", "海边"), promise("周五一起听那张唱片", "唱片")],
            ..SlowCycle::default()
        })
    });
    workshop
        .session(&[
            (Role::User, "我叫小明,我想去海边,我会自己去的,明天就走"),
            (Role::Persona, "我会周五放那张唱片给你听"),
        ])
        .await;
    workshop.mind.extract_with(|input| {
        let mut wish = event(input, "用户说会自己去海边", "我会自己去的,明天就走", 2);
        wish.relational_tags = vec![RelationalTag::Commitment];
        let mut voiced = event(input, "约好周五放那张唱片", "我会周五放那张唱片给你听", 2);
        voiced.relational_tags = vec![RelationalTag::Commitment];
        voiced.subject = Subject::Shared;
        Ok(Extraction { events: vec![wish, voiced], ..Extraction::default() })
    });
    workshop.consolidate().await;
    let promises = workshop.nodes(NodeKind::Intention).await;
    let told: Vec<_> = promises.iter().map(|node| (node.subject, node.description.as_str())).collect();
    assert_eq!(told, [(Subject::Persona, "周五一起听那张唱片")], "hers is not the persona's promise");
    let transcripts = workshop.store.transcripts(&workshop.scope, None, 1).await.unwrap();
    let transcript = workshop.store.transcript(transcripts[0].id).await.unwrap().unwrap();
    let notes = transcript["output"]["notes"].to_string();
    assert!(notes.contains("no commitment of the persona"), "{notes}");
}

#[tokio::test]
async fn each_phase_says_what_it_did_and_why() {
    let mut workshop = Workshop::new().await;
    workshop
        .mind
        .think_with(|_| Ok(SlowCycle { notes: vec!["one dropped".to_owned()], ..SlowCycle::default() }));
    workshop.remember("我爸爸走了,我好难过", -9).await;
    let session = workshop.sessions().await.pop().unwrap();
    let phases = workshop.store.phases(session.id).await.unwrap();
    let letters: String = phases.iter().map(|phase| phase.phase).collect();
    assert_eq!(letters, "abcdefg");
    let detail = |letter| &phases.iter().find(|phase| phase.phase == letter).unwrap().detail;
    assert_eq!(detail('a')["is_trivial"], false);
    let event = &detail('b')["events_created"][0];
    assert_eq!((event["impact"].as_i64(), event["type"].as_str()), (Some(-9), Some("event")));
    assert_eq!(detail('c')["shock_event_id"], event["id"]);
    assert_eq!(detail('d')["timer_due"], true);
    assert_eq!(detail('e')["reflection_gate"], "shock");
    assert_eq!(detail('f')["close_trigger"], "extracted");
    assert_eq!((&detail('g')["ran"], &detail('g')["dropped"]), (&true.into(), &1.into()));
    let transcripts = workshop.store.transcripts(&workshop.scope, None, 10).await.unwrap();
    let transcript = workshop.store.transcript(transcripts[0].id).await.unwrap().unwrap();
    assert_eq!(transcript["input"]["recent_events"][0]["description"], "我爸爸走了,我好难过");
    assert_eq!(transcript["output"]["notes"][0], "one dropped");

    workshop.said("hi").await;
    workshop.consolidate().await;
    let trivial = workshop.sessions().await.pop().unwrap();
    let letters: String =
        workshop.store.phases(trivial.id).await.unwrap().iter().map(|phase| phase.phase).collect();
    assert_eq!(letters, "af");

    workshop.settings.trace = false;
    workshop.remember("我妈妈走了", -9).await;
    let untold = workshop.sessions().await.pop().unwrap();
    assert!(workshop.store.phases(untold.id).await.unwrap().is_empty(), "switched off");
    assert_eq!(workshop.store.transcripts(&workshop.scope, None, 10).await.unwrap().len(), 1);
    assert_eq!(workshop.mind.slow_cycles().len(), 2, "it thinks all the same");
}

/// Summaries counted as reflections, so that the timer never ran and three of them blocked a shock (defect 4). Here
/// neither summaries nor the slow cycle's thoughts count.
#[tokio::test]
async fn defect_04_summaries_and_slow_thoughts_are_no_reflections() {
    let workshop = Workshop::new().await;
    workshop.mind.think_with(|input| {
        let newest = input.events.last().unwrap();
        Ok(SlowCycle {
            thoughts: vec![thought(&newest.description, Subject::User, &[newest])],
            ..SlowCycle::default()
        })
    });
    for (text, reflections) in
        [("我养了一只白猫", 1), ("我学会了骑车", 2), ("我换了工作", 3), ("我搬家了", 4)]
    {
        workshop.said(text).await;
        let text = text.to_owned();
        workshop.mind.extract_with(move |input| {
            Ok(Extraction {
                events: vec![event(input, &text, &text, 2)],
                summary: Some("聊了近况".to_owned()),
                ..Extraction::default()
            })
        });
        workshop.consolidate().await;
        workshop.pass(HOUR).await;
        assert_eq!(workshop.mind.reflections().len(), reflections, "the timer is due each time");
    }
    assert_eq!(workshop.nodes(NodeKind::Thought).await.len(), 4, "thoughts of the slow cycle alone");
    assert_eq!(workshop.store.last_reflection(&workshop.scope).await.unwrap(), None);
}
