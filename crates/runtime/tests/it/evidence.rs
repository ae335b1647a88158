//! No evidence, no memory: what is requested again, what is stored, and what waits for a person.

use memory::messages::Role;
use memory::nodes::{EventTime, NodeKind, Proposal, Subject};
use memory::ports::{Extraction, MindError, NodeStore, PairVerdict, ProposedQuote, RefusedEvent};
use memory::sessions::SessionStatus;
use serde_json::{Value, json};
use testkit::Reply;

use crate::workshop::{Workshop, entity, event};
use crate::world::{WEB, World, scope};

/// The user sends this message; the persona replies with a guess.
const LINES: [(Role, &str); 4] = [
    (Role::User, "我养了只白猫,叫小黑"),
    (Role::Persona, "你一定很喜欢爬山吧"),
    (Role::User, "昨天我被公司裁了"),
    (Role::User, "我妹妹六月结婚"),
];

/// An event as (description, quote, impact).
type Told = (&'static str, &'static str, i8);

const CAT: Told = ("用户养了一只白猫,叫小黑", "我养了只白猫,叫小黑", 2);
const JOB: Told = ("用户昨天被公司裁员了", "昨天我被公司裁了", -7);
const WEDDING: Told = ("用户的妹妹六月结婚", "我妹妹六月结婚", 4);
const HIKING: Told = ("用户喜欢爬山", "很喜欢爬山", 2);

/// The model's answers, in order.
fn answers<const N: usize>(workshop: &Workshop, answers: [&[Told]; N]) {
    let answers = answers.map(<[Told]>::to_vec);
    let mut asked = 0;
    workshop.mind.extract_with(move |input| {
        let events = answers[asked].iter().map(|(text, quote, impact)| event(input, text, quote, *impact));
        asked += 1;
        Ok(Extraction { events: events.collect(), ..Extraction::default() })
    });
}

async fn descriptions(workshop: &Workshop) -> Vec<String> {
    workshop.nodes(NodeKind::Event).await.into_iter().map(|node| node.description).collect()
}

async fn rejections(workshop: &Workshop) -> Vec<String> {
    workshop.rejected().await.into_iter().map(|rejected| rejected.description).collect()
}

#[tokio::test]
async fn valid_evidence_needs_no_second_question() {
    let workshop = Workshop::new().await;
    answers(&workshop, [&[CAT, JOB]]);
    workshop.session(&LINES).await;
    workshop.consolidate().await;
    assert_eq!(workshop.mind.extractions().len(), 1);
    assert_eq!(descriptions(&workshop).await, [JOB.0, CAT.0], "the heaviest first");
    assert_eq!(rejections(&workshop).await, Vec::<String>::new());
}

#[tokio::test]
async fn valid_events_of_both_answers_are_kept() {
    let workshop = Workshop::new().await;
    let wrong: Told = (JOB.0, "昨天我被裁员了", -7);
    answers(&workshop, [&[CAT, wrong], &[JOB]]);
    workshop.session(&LINES).await;
    workshop.consolidate().await;
    let asked = workshop.mind.extractions();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].failures, []);
    assert_eq!((asked[1].failures[0].quote.as_str(), asked[1].failures.len()), ("昨天我被裁员了", 1));
    assert!(asked[1].failures[0].reason.contains("does not appear"));
    assert_eq!(descriptions(&workshop).await, [JOB.0, CAT.0]);
    assert_eq!(rejections(&workshop).await, Vec::<String>::new());
}

#[tokio::test]
async fn work_that_fails_twice_waits_with_its_reason() {
    let workshop = Workshop::new().await;
    answers(&workshop, [&[CAT, HIKING], &[CAT, HIKING]]);
    workshop.session(&LINES).await;
    workshop.consolidate().await;
    assert_eq!(workshop.mind.extractions().len(), 2, "never a third time");
    assert_eq!(descriptions(&workshop).await, [CAT.0]);
    let rejected = workshop.rejected().await;
    assert_eq!((rejected.len(), rejected[0].description.as_str()), (1, HIKING.0));
    assert!(rejected[0].reason.contains("was said by someone else"), "{}", rejected[0].reason);
    assert_eq!((rejected[0].evidence[0].quote.as_str(), rejected[0].emotional_impact), (HIKING.1, Some(2.0)));
}

#[tokio::test]
async fn of_two_that_failed_the_one_that_was_not_mended_is_not_lost() {
    let workshop = Workshop::new().await;
    // The second answer corrects the second event, in other words.
    let wrong_wedding: Told = ("用户的妹妹六月要结婚了", "妹妹要结婚了", 4);
    answers(&workshop, [&[HIKING, wrong_wedding], &[WEDDING]]);
    workshop.session(&LINES).await;
    workshop.consolidate().await;
    assert_eq!(descriptions(&workshop).await, [WEDDING.0]);
    assert_eq!(rejections(&workshop).await, [HIKING.0]);
}

#[tokio::test]
async fn a_good_event_whose_quote_the_second_answer_spoils_stays_and_is_not_refused_too() {
    let workshop = Workshop::new().await;
    let spoiled: Told = (CAT.0, "我养了一只白猫", 2);
    answers(&workshop, [&[CAT, HIKING], &[spoiled]]);
    workshop.session(&LINES).await;
    workshop.consolidate().await;
    assert_eq!(descriptions(&workshop).await, [CAT.0]);
    assert_eq!(rejections(&workshop).await, [HIKING.0]);
}

#[tokio::test]
async fn an_event_with_one_good_quote_is_kept_with_that_quote() {
    let workshop = Workshop::new().await;
    let mut asked = 0;
    workshop.mind.extract_with(move |input| {
        asked += 1;
        let mut cat = event(input, CAT.0, CAT.1, CAT.2);
        cat.evidence
            .push(ProposedQuote { message_id: input.messages[0].id, quote: "它很听话".to_owned() });
        let events = if asked == 1 { vec![cat] } else { Vec::new() };
        Ok(Extraction { events, ..Extraction::default() })
    });
    workshop.session(&LINES).await;
    workshop.consolidate().await;
    let node = workshop.nodes(NodeKind::Event).await.remove(0);
    let evidence = workshop.store.node(node.id).await.unwrap().unwrap().evidence;
    assert_eq!((evidence.len(), evidence[0].quote.as_str()), (1, CAT.1));
    assert_eq!(rejections(&workshop).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_second_question_without_an_answer_costs_only_what_had_failed() {
    let workshop = Workshop::new().await;
    let mut asked = 0;
    workshop.mind.extract_with(move |input| {
        asked += 1;
        if asked == 2 {
            return Err(MindError::Transient("down".to_owned()));
        }
        let events = [CAT, HIKING].iter().map(|(text, quote, impact)| event(input, text, quote, *impact));
        Ok(Extraction { events: events.collect(), ..Extraction::default() })
    });
    let session = workshop.session(&LINES).await;
    workshop.consolidate().await;
    assert_eq!(workshop.now_stands(&session).await.status, SessionStatus::Closed);
    assert_eq!(
        (descriptions(&workshop).await, rejections(&workshop).await),
        (vec![CAT.0.into()], vec![HIKING.0.into()])
    );
}

#[tokio::test]
async fn events_of_the_second_answer_are_kept() {
    let workshop = Workshop::new().await;
    let refused = |description: &str, impact| RefusedEvent {
        description: description.to_owned(),
        emotional_impact: Some(impact),
        evidence: Vec::new(),
        reason: "its emotional impact is beyond ±10".to_owned(),
        proposal: Proposal::default(),
    };
    let mut asked = 0;
    workshop.mind.extract_with(move |input| {
        asked += 1;
        Ok(match asked {
            1 => Extraction {
                events: vec![event(input, HIKING.0, HIKING.1, 2)],
                refused: vec![refused("奶奶去世了", -11.0), refused(JOB.0, -70.0)],
                ..Extraction::default()
            },
            _ => Extraction {
                events: vec![event(input, CAT.0, CAT.1, 2), event(input, JOB.0, JOB.1, -7)],
                refused: vec![refused("奶奶去世了", -11.0), refused("爷爷病了", -12.0)],
                mentioned_entities: vec![entity("小黑", &[], memory::entities::EntityKind::Pet)],
                summary: Some("说了猫".to_owned()),
                ..Extraction::default()
            },
        })
    });
    let session = workshop.session(&LINES).await;
    workshop.consolidate().await;
    assert_eq!(descriptions(&workshop).await, [JOB.0, CAT.0]);
    assert_eq!(rejections(&workshop).await, ["奶奶去世了", "爷爷病了", HIKING.0]);
    assert_eq!(workshop.entities().await[0].canonical_name, "小黑");
    assert_eq!(workshop.now_stands(&session).await.summary.as_deref(), Some("说了猫"));
}

#[tokio::test]
async fn at_most_three_are_kept_the_heaviest() {
    let workshop = Workshop::new().await;
    let light: Told = ("用户提到昨天", "昨天", 0);
    answers(&workshop, [&[light, CAT, WEDDING, HIKING], &[JOB]]);
    workshop.session(&LINES).await;
    workshop.consolidate().await;
    assert_eq!(descriptions(&workshop).await, [JOB.0, WEDDING.0, CAT.0]);
}

#[tokio::test]
async fn a_promise_needs_the_personas_own_words_and_a_time() {
    let lines =
        [(Role::User, "我明天面试,我好紧张,我叫小明"), (Role::Persona, "我会在明天晚上问你面试怎么样。")];
    let workshop = Workshop::new().await;
    workshop.mind.extract_with(|input| {
        let promise = |quote: &str| memory::ports::ProposedEvent {
            kind: NodeKind::Intention,
            subject: Subject::Persona,
            event_time: Some(EventTime { start: input.messages[0].created_at, end: None }),
            ..event(input, quote, quote, 2)
        };
        Ok(Extraction {
            events: vec![promise("我会在明天晚上问你"), promise("我好紧张")],
            ..Extraction::default()
        })
    });
    workshop.session(&lines).await;
    workshop.consolidate().await;
    let promises = workshop.nodes(NodeKind::Intention).await;
    assert_eq!((promises.len(), promises[0].description.as_str()), (1, "我会在明天晚上问你"));
    assert_eq!(rejections(&workshop).await, ["我好紧张"]);
}

#[tokio::test]
async fn only_what_the_model_was_shown_can_be_replaced() {
    let workshop = Workshop::new().await;
    let tea = workshop.remember("我每天早上喝绿茶", 1).await;
    let job = workshop.remember("我在银行上班,是柜员", 1).await;
    let ids = [tea.id, job.id];
    workshop.mind.extract_with(move |input| {
        assert_eq!(input.known_nodes.iter().map(|node| node.id).collect::<Vec<_>>(), [ids[0]]);
        let mut coffee = event(input, "用户不再喝绿茶", "我不再喝绿茶了", 1);
        coffee.supersedes = ids.to_vec();
        Ok(Extraction { events: vec![coffee], ..Extraction::default() })
    });
    workshop.mind.reconcile_as(PairVerdict::Replaces);
    workshop.said("我不再喝绿茶了,我叫小明").await;
    workshop.consolidate().await;
    let nodes = workshop.nodes(NodeKind::Event).await;
    let newest = nodes.last().unwrap();
    assert_eq!(nodes[0].superseded_by, Some(newest.id));
    assert_eq!(nodes[1].superseded_by, None, "it was not among what the model saw");
}

#[tokio::test]
async fn a_weight_beyond_the_scale_waits_for_a_person() {
    let mut world = World::new().await;
    world.talk(WEB, "奶奶走了。我养了只白猫,叫小黑。我被裁了。").await;
    let event = |description: &str, quote: &str, impact: Value| {
        json!({"type": "event", "description": description, "emotional_impact": impact, "subject": "user",
            "evidence": [{"message": "m1", "quote": quote}]})
    };
    world.model.next(
        "extraction",
        Reply::json(json!({
            "events": [
                event("奶奶去世了", "奶奶走了", json!(-11)),
                event("用户养了只白猫", "我养了只白猫", json!(2.5)),
                event("用户被裁了", "我被裁了", json!(-7)),
            ],
            "mentioned_entities": [], "entity_clarification": null, "session_mood_signal": null,
            "session_summary": null, "self_check_notes": "",
        })),
    );
    world.silence().await;
    let kept = world.nodes(NodeKind::Event).await;
    assert_eq!((kept.len(), kept[0].description.as_str()), (1, "用户被裁了"));
    let mut rejected = world.store.rejected(&scope("ann"), None, 10).await.unwrap();
    rejected.sort_by(|a, b| a.emotional_impact.partial_cmp(&b.emotional_impact).unwrap());
    let impacts: Vec<_> = rejected.iter().map(|r| (r.description.as_str(), r.emotional_impact)).collect();
    assert_eq!(impacts, [("奶奶去世了", Some(-11.0)), ("用户养了只白猫", Some(2.5))]);
    assert!(
        rejected[0].reason.contains("±10") && rejected[1].reason.contains("whole number"),
        "{rejected:?}"
    );
    assert_eq!(rejected[0].evidence[0].quote, "奶奶走了");
}
