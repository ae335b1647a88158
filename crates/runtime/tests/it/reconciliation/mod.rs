//! A new statement replaces an older one where the model says so and quotes the words, and nowhere else.

mod lives;

use memory::messages::Role;
use memory::nodes::{EventTime, Node, NodeKind};
use memory::ports::{
    CorrectionStore, Extraction, MindError, NodeStore, PairVerdict, ProposedVerdict, Reconciliation,
    ReconciliationInput, StoreError,
};
use store::Fault;

use crate::workshop::{Workshop, event};
use crate::world::{HOUR, MINUTE};

const HAMBURG: &str = "The user lives in Hamburg in a flat";
const HAMBURG_SAID: &str = "i live in Hamburg in a flat, i like it";
const PORTO: &str = "The user lives in Porto in a flat";
const PORTO_SAID: &str = "i live in Porto in a flat, i like it";

/// A session of one message that becomes this memory.
async fn remember(workshop: &Workshop, line: &str, description: &'static str) -> Node {
    remember_at(workshop, line, description, None).await
}

async fn remember_at(
    workshop: &Workshop,
    line: &str,
    description: &'static str,
    event_time: Option<EventTime>,
) -> Node {
    workshop.said(line).await;
    let said = line.to_owned();
    workshop.mind.extract_with(move |input| {
        let mut told = event(input, description, &said, 1);
        told.event_time = event_time;
        Ok(Extraction { events: vec![told], ..Extraction::default() })
    });
    workshop.consolidate().await;
    workshop.pass(HOUR).await;
    let nodes = workshop.nodes(NodeKind::Event).await;
    nodes.into_iter().rev().find(|node| node.description == description).unwrap()
}

async fn read(workshop: &Workshop, node: &Node) -> Node {
    workshop.store.node(node.id).await.unwrap().unwrap().node
}

fn one(verdict: PairVerdict, quote: &str, still_true: Option<&str>) -> Reconciliation {
    let still_true = still_true.map(str::to_owned);
    let verdict = ProposedVerdict { pair: 0, verdict, quote: quote.to_owned(), still_true };
    Reconciliation { verdicts: vec![verdict], notes: Vec::new() }
}

#[tokio::test]
async fn a_pair_is_asked_with_its_days_and_the_words_of_the_newer_statement() {
    let workshop = Workshop::new().await;
    workshop.mind.reconcile_as(PairVerdict::Replaces);
    let hamburg = remember(&workshop, HAMBURG_SAID, HAMBURG).await;
    assert!(workshop.mind.reconciliations().is_empty(), "there was nothing near it");
    workshop.pass(48 * HOUR).await;
    let porto = remember(&workshop, PORTO_SAID, PORTO).await;
    let asked = workshop.mind.reconciliations();
    let [ReconciliationInput { pairs, .. }] = asked.as_slice() else { panic!("{asked:?}") };
    let [pair] = pairs.as_slice() else { panic!("{pairs:?}") };
    assert_eq!((pair.older.as_str(), pair.newer.as_str()), (HAMBURG, PORTO));
    assert_eq!(pair.words, PORTO_SAID);
    assert_eq!(pair.newer_at.duration_since(pair.older_at).as_hours(), 49);
    assert_eq!(read(&workshop, &hamburg).await.superseded_by, Some(porto.id));
}

#[tokio::test]
async fn nothing_is_asked_where_nothing_is_near() {
    let workshop = Workshop::new().await;
    workshop.mind.reconcile_as(PairVerdict::Replaces);
    for (line, description) in [
        ("i have a dog, he is called Rex and chases gulls", "Rex chases gulls"),
        ("my exam in physics is on Friday morning", "An exam in physics on Friday morning"),
    ] {
        remember(&workshop, line, description).await;
    }
    assert!(workshop.mind.reconciliations().is_empty(), "{:?}", workshop.mind.reconciliations());
}

#[tokio::test]
async fn an_answer_without_a_true_quote_is_asked_for_again_three_times_in_all() {
    for (name, answer) in [
        ("nothing", Ok(Reconciliation::default())),
        ("an invented quote", Ok(one(PairVerdict::Replaces, "i left Hamburg for good", None))),
        ("an empty quote", Ok(one(PairVerdict::Corrects, "", None))),
        ("a letter", Ok(one(PairVerdict::Unsure, "i", None))),
        ("silence", Err(MindError::Transient("down".to_owned()))),
        ("a refusal", Err(MindError::Permanent("no".to_owned()))),
    ] {
        let workshop = Workshop::new().await;
        workshop.mind.reconcile_with(move |_| answer.clone());
        let hamburg = remember(&workshop, HAMBURG_SAID, HAMBURG).await;
        let porto = remember(&workshop, PORTO_SAID, PORTO).await;
        for number in 0..4 {
            workshop.said(&format!("i have seen {number} gulls today")).await;
            workshop.mind.extract_with(|_| Ok(Extraction::default()));
            workshop.consolidate().await;
            workshop.pass(HOUR).await;
        }
        assert_eq!(workshop.mind.reconciliations().len(), 3, "{name}");
        for node in [&hamburg, &porto] {
            assert_eq!(read(&workshop, node).await.superseded_by, None, "{name}");
        }
        let history = workshop.store.node_history(porto.id, 10).await.unwrap().unwrap();
        assert_eq!(history.len(), 1, "{name}: {history:?}");
    }
}

#[tokio::test]
async fn an_answer_that_comes_later_counts() {
    let workshop = Workshop::new().await;
    let mut times = 0;
    workshop.mind.reconcile_with(move |_| {
        times += 1;
        Ok(if times < 3 {
            Reconciliation::default()
        } else {
            one(PairVerdict::Replaces, "live in Porto", None)
        })
    });
    let hamburg = remember(&workshop, HAMBURG_SAID, HAMBURG).await;
    let porto = remember(&workshop, PORTO_SAID, PORTO).await;
    for _ in 0..2 {
        workshop.said("ok").await;
        workshop.consolidate().await;
    }
    assert_eq!(read(&workshop, &hamburg).await.superseded_by, Some(porto.id), "trivial sessions ask too");
}

#[tokio::test]
async fn the_part_that_stays_true_keeps_its_evidence_until_undo() {
    let workshop = Workshop::new().await;
    workshop.mind.reconcile_with(|_| {
        Ok(one(PairVerdict::Corrects, "is called Mia", Some("The user's sister lives in Bern")))
    });
    let mea = remember(
        &workshop,
        "my sister is called Mea, she lives in Bern",
        "The user's sister Mea lives in Bern",
    )
    .await;
    let mia = remember(&workshop, "sorry, my sister is called Mia", "The user's sister is called Mia").await;
    assert_eq!(read(&workshop, &mea).await.superseded_by, Some(mia.id));
    let current = |nodes: Vec<Node>| -> Vec<String> {
        let current = nodes.into_iter().filter(|node| node.superseded_by.is_none());
        current.map(|node| node.description).collect()
    };
    let nodes = workshop.nodes(NodeKind::Event).await;
    assert_eq!(
        current(nodes.clone()),
        ["The user's sister is called Mia", "The user's sister lives in Bern"]
    );
    let rest =
        nodes.iter().find(|node| node.description.ends_with("lives in Bern") && node.id != mea.id).unwrap();
    let evidence = async |node: &Node| workshop.store.node(node.id).await.unwrap().unwrap().evidence;
    assert_eq!(evidence(rest).await, evidence(&mea).await);
    workshop.store.undo_last_change(mia.id, workshop.clock_now()).await.unwrap().unwrap();
    let nodes = workshop.nodes(NodeKind::Event).await;
    assert_eq!(current(nodes), ["The user's sister Mea lives in Bern", "The user's sister is called Mia"]);
}

#[tokio::test]
async fn earlier_values_of_the_same_session_become_former_values() {
    let workshop = Workshop::new().await;
    workshop.mind.reconcile_as(PairVerdict::Corrects);
    workshop.mind.extract_with(|input| {
        Ok(Extraction { events: vec![event(input, PORTO, PORTO_SAID, 1)], ..Extraction::default() })
    });
    let lines = [(Role::User, HAMBURG_SAID), (Role::Persona, "Hamburg!"), (Role::User, PORTO_SAID)];
    workshop.session(&lines).await;
    workshop.consolidate().await;
    let nodes = workshop.nodes(NodeKind::Event).await;
    let [porto, former] = nodes.as_slice() else { panic!("{nodes:?}") };
    assert_eq!((porto.description.as_str(), porto.superseded_by), (PORTO, None));
    assert_eq!((former.description.as_str(), former.superseded_by), (HAMBURG_SAID, Some(porto.id)));
}

#[tokio::test]
async fn of_two_new_memories_of_one_session_the_later_can_replace_the_earlier() {
    let workshop = Workshop::new().await;
    workshop.mind.reconcile_as(PairVerdict::Replaces);
    // The model lists them in the other order.
    workshop.mind.extract_with(|input| {
        let events = vec![event(input, PORTO, PORTO_SAID, 1), event(input, HAMBURG, HAMBURG_SAID, 1)];
        Ok(Extraction { events, ..Extraction::default() })
    });
    workshop.session(&[(Role::User, HAMBURG_SAID), (Role::Persona, "ah"), (Role::User, PORTO_SAID)]).await;
    workshop.consolidate().await;
    let nodes = workshop.nodes(NodeKind::Event).await;
    let by = |description| nodes.iter().find(|node| node.description == description).unwrap();
    assert_eq!((by(HAMBURG).superseded_by, by(PORTO).superseded_by), (Some(by(PORTO).id), None));
}

#[tokio::test]
async fn another_time_replaces_nothing_even_where_the_model_says_so() {
    let time = |day: &str| Some(EventTime { start: format!("{day}T00:00:00Z").parse().unwrap(), end: None });
    for (line, event_time) in [
        ("i moved to Porto as a student and live in a flat", time("1999-05-01")),
        ("in 1999 i moved to Porto, to live in a flat", None),
        ("i move to Porto next year, to live in a flat", time("2027-05-01")),
    ] {
        let workshop = Workshop::new().await;
        workshop.mind.reconcile_as(PairVerdict::Replaces);
        let hamburg = remember(&workshop, HAMBURG_SAID, HAMBURG).await;
        remember_at(&workshop, line, "The user moves to Porto to live in a flat", event_time).await;
        assert_eq!(workshop.mind.reconciliations().len(), 1, "{line}");
        assert_eq!(read(&workshop, &hamburg).await.superseded_by, None, "{line}");
    }
}

#[tokio::test]
async fn a_crash_between_extraction_and_reconciliation_loses_no_question() {
    let workshop = Workshop::new().await;
    workshop.mind.reconcile_as(PairVerdict::Replaces);
    let hamburg = remember(&workshop, HAMBURG_SAID, HAMBURG).await;
    workshop.said(PORTO_SAID).await;
    workshop.mind.extract_with(|input| {
        Ok(Extraction { events: vec![event(input, PORTO, PORTO_SAID, 1)], ..Extraction::default() })
    });
    workshop
        .store
        .faults()
        .plan("commit_reconciliation", Fault::Error(StoreError::Busy("for a moment".to_owned())));
    workshop.consolidate_one().await.unwrap();
    assert_eq!(read(&workshop, &hamburg).await.superseded_by, None);
    workshop.pass(10 * MINUTE).await;
    workshop.consolidate().await;
    assert!(read(&workshop, &hamburg).await.superseded_by.is_some());
}
