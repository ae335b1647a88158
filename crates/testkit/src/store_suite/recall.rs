//! Laws of recall: by words, names and times; and that one scope never shows in another.

use std::collections::BTreeSet;

use memory::entities::EntityKind;
use memory::forget::{ForgetMode, ForgetRequest, Selection, ThoughtPolicy};
use memory::nodes::{EventTime, NewNode, NodeKind, RelationalTag, Subject};
use memory::ports::{
    Corpus, MessageEdit, MessageOutline, NewEntity, NewMessage, NodeOutline, NodeQuery, Phrase, PhraseCounts,
    RowSelection, SpanMessages, Store, StoreError,
};

use super::Outcome;
use super::stage::{MODEL, Stage, at, phrase};
use crate::{pair, replace_waiting};

/// Two users with the same words: rows, frequencies and vectors of one are never visible to the other.
pub async fn scopes_are_separate(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let mut seqs = Vec::new();
    for (scope, times) in [(&stage.scope, 3), (&stage.other, 2)] {
        for number in 0..times {
            let line =
                NewMessage { scope: scope.clone(), ..stage.user_line("the secret garden", number * 100) };
            let (message, session) = stage.claim_session_of(line).await?;
            let event = stage.event("a secret garden", &message);
            store.commit_extraction(stage.extraction(&session, number * 100, vec![event.clone()])).await?;
            seqs.push((message.seq, stage.seq(event.id).await?));
        }
    }
    let nobody = memory::Scope::new(stage.scope.persona.clone(), memory::UserId::new("nobody")?);
    for (scope, own) in [(&stage.scope, &seqs[..3]), (&stage.other, &seqs[3..]), (&nobody, &[][..])] {
        let messages: Vec<i64> = own.iter().rev().map(|pair| pair.0).collect();
        let nodes: Vec<i64> = own.iter().rev().map(|pair| pair.1).collect();
        for (corpus, expected) in [(Corpus::Messages, &messages), (Corpus::Nodes, &nodes)] {
            let hits = store.phrase_hits(scope, corpus, &[phrase("secret garden")], 10).await?.1;
            assert_eq!(hits[0].document_frequency, own.len() as u64);
            assert_eq!(&hits[0].seqs, expected);
            assert_eq!(store.phrase_hits(scope, corpus, &[], 0).await?.0.documents, own.len() as u64);
        }
        let all: BTreeSet<i64> = seqs.iter().flat_map(|pair| [pair.0, pair.1]).collect();
        let all = Vec::from_iter(all);
        assert_eq!(store.nodes_numbered(scope, &all).await?.len(), own.len());
        assert_eq!(store.messages_numbered(scope, &all).await?.len(), own.len());
        assert_eq!(store.messages_before(scope, None, 10).await?.len(), own.len());
        assert_eq!(store.nodes_before(scope, &[NodeKind::Event], None, 10).await?.len(), own.len());
        assert_eq!(store.events_since(scope, at(0), 10).await?.len(), own.len());
        assert_eq!(store.vectors_after(scope, Corpus::Nodes, MODEL, 0, 10).await?.len(), own.len());
        assert_eq!(store.vectors_numbered(scope, Corpus::Nodes, MODEL, &all).await?.len(), own.len());
    }
    Ok(())
}

/// The terms of a phrase are consecutive, and nothing in them is interpreted as query syntax.
pub async fn phrases_are_found_at_their_positions(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let mut seqs = Vec::new();
    for (number, terms) in
        ["小 黑 是 猫", "黑 小", "c++ 3.14 o'brien e-mail", "小 黑", "or"].iter().enumerate()
    {
        seqs.push(stage.say(terms, i64::try_from(number)?).await?.seq);
    }
    let asked = [
        phrase("小 黑"),
        phrase("小"),
        phrase("c++"),
        phrase("o'brien e-mail"),
        phrase("or"),
        phrase("\" OR \""),
        phrase("小*"),
        Phrase(Vec::new()),
    ];
    let hits = store.phrase_hits(&stage.scope, Corpus::Messages, &asked, 1).await?.1;
    let found: Vec<_> = hits.iter().map(|hit| (hit.document_frequency, hit.seqs.clone())).collect();
    let expected = [
        (2, vec![seqs[3]]),
        (3, vec![seqs[3]]),
        (1, vec![seqs[2]]),
        (1, vec![seqs[2]]),
        (1, vec![seqs[4]]),
        (0, vec![]),
        (0, vec![]),
        (0, vec![]),
    ];
    assert_eq!(found, expected);
    let none = store.phrase_hits(&stage.scope, Corpus::Messages, &asked[..1], 0).await?.1;
    assert_eq!((none[0].document_frequency, none[0].seqs.len()), (2, 0));
    Ok(())
}

/// An address or encoded data is one word of any length; it is stored, found and removed like any other.
pub async fn a_word_of_any_length_is_found(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let mut long = format!("https://example.org/{}", "data/猫".repeat(2_000));
    long.truncate(long.floor_char_boundary(15_000));
    let seq = stage.say(&format!("look {long} here"), 0).await?.seq;
    stage.say("look here", 1).await?;
    let asked = [phrase(&long), phrase(&format!("look {long} here"))];
    for hits in store.phrase_hits(&stage.scope, Corpus::Messages, &asked, 10).await?.1 {
        assert_eq!((hits.document_frequency, hits.seqs), (1, vec![seq]));
    }
    Ok(())
}

/// The word index finds the rows with a phrase of each group, within a range of numbers, and of one scope only.
pub async fn rows_are_named_by_several_words_at_once(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let mut seqs = Vec::new();
    for (terms, number) in ["tea milk", "tea", "milk", "tea sugar", "tea milk sugar"].iter().zip(0..) {
        seqs.push(stage.say(terms, number).await?.seq);
    }
    let select = |groups: &[&[&str]], span, limit| RowSelection {
        all_of: groups.iter().map(|group| group.iter().map(|text| phrase(text)).collect()).collect(),
        span,
        limit,
    };
    let wanted = [
        select(&[&["tea"], &["milk"]], None, 9),
        select(&[&["tea"], &["milk", "sugar"]], None, 9),
        select(&[&["tea"]], Some((seqs[1], seqs[3])), 9),
        select(&[&["tea"]], None, 2),
        select(&[&["tea"], &["coffee"]], None, 9),
        select(&[], None, 9),
        select(&[&[]], None, 9),
    ];
    let named = store.rows_holding(&stage.scope, Corpus::Messages, &wanted).await?;
    let at = |places: &[usize]| places.iter().map(|&place| seqs[place]).collect::<Vec<_>>();
    let expected = [at(&[4, 0]), at(&[4, 3, 0]), at(&[3, 1]), at(&[4, 3]), at(&[]), at(&[]), at(&[])];
    assert_eq!(named, expected);
    let of_other = store.rows_holding(&stage.other, Corpus::Messages, &wanted).await?;
    assert_eq!(of_other, vec![Vec::<i64>::new(); wanted.len()]);
    Ok(())
}

/// Terms for ranking are read without the rest of the rows; a text without index terms is searched in the texts
/// themselves.
pub async fn rows_are_ranked_and_read_through(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (message, session) = stage.claim_session_of(stage.user_line("我喝 Earl GREY, 茶", 0)).await?;
    let gone = stage.event("green tea", &message);
    let event = stage.event("black tea", &message);
    let nodes = vec![gone.clone(), event.clone()];
    store.commit_extraction(stage.extraction(&session, 0, nodes)).await?;
    let later = stage.say("ﬁne?!", 100).await?;
    let (gone, event) = (stage.seq(gone.id).await?, stage.seq(event.id).await?);

    let asked = [event, gone, 999];
    let phrases = [phrase("tea"), phrase("green tea"), phrase("ten")];
    let mut counted = store.phrase_counts(&stage.scope, Corpus::Nodes, &asked, &phrases).await?;
    counted.sort_by_key(|row| row.seq);
    let row = |seq, counts| PhraseCounts { seq, counts, kind: Some(NodeKind::Event) };
    assert_eq!(counted, [row(gone, vec![1, 1, 0]), row(event, vec![1, 0, 0])]);
    let messages = store.phrase_counts(&stage.scope, Corpus::Messages, &[later.seq], &[]).await?;
    assert_eq!(messages, [PhraseCounts { seq: later.seq, counts: Vec::new(), kind: None }]);
    assert_eq!(store.phrase_counts(&stage.other, Corpus::Nodes, &asked, &phrases).await?, []);

    for (corpus, text, found) in [
        (Corpus::Nodes, "gre", vec![gone]),
        (Corpus::Nodes, "black te", vec![event]),
        (Corpus::Nodes, "bla tea", vec![]),
        (Corpus::Nodes, "ea", vec![]),
        (Corpus::Messages, "Ear", vec![message.seq]),
    ] {
        assert_eq!(store.rows_beginning(&stage.scope, corpus, &phrase(text), 9).await?, found, "{text}");
        let of_other = store.rows_beginning(&stage.other, corpus, &phrase(text), 9).await?;
        assert_eq!(of_other, Vec::<i64>::new(), "{text}");
    }
    for (corpus, text, rows, found) in [
        (Corpus::Messages, "grey, 茶", 9, vec![message.seq]),
        (Corpus::Messages, "fine?!", 9, vec![later.seq]),
        (Corpus::Messages, "grey", 1, vec![]),
        (Corpus::Messages, "茶。", 9, vec![]),
        (Corpus::Nodes, "lack t", 9, vec![event]),
        (Corpus::Nodes, " tea", 9, vec![event, gone]),
    ] {
        assert_eq!(store.rows_containing(&stage.scope, corpus, text, rows).await?, found, "{text}");
        assert_eq!(
            store.rows_containing(&stage.other, corpus, text, rows).await?,
            Vec::<i64>::new(),
            "{text}"
        );
    }
    Ok(())
}

/// Length and time of messages, and which are within a time span, are read without their texts.
pub async fn messages_are_outlined_and_found_by_time(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let mut said = Vec::new();
    for number in 1..=4 {
        said.push(stage.say("tea", number * 100).await?);
    }
    let seqs: Vec<i64> = said.iter().map(|message| message.seq).collect();
    let mut outlines = store.message_outlines(&stage.scope, &seqs[1..3]).await?;
    outlines.sort_by_key(|outline| outline.seq);
    let expected = said[1..3].iter().map(|message| MessageOutline {
        seq: message.seq,
        token_count: message.token_count,
        created_at: message.created_at,
    });
    assert_eq!(outlines, expected.collect::<Vec<_>>());
    assert_eq!(store.message_outlines(&stage.other, &seqs).await?, []);
    let within = async |scope, from, to, limit| store.messages_within(scope, at(from), at(to), limit).await;
    assert_eq!(within(&stage.scope, 150, 300, 2).await?, SpanMessages::All(seqs[1..3].to_vec()));
    assert_eq!(within(&stage.scope, 401, 900, 2).await?, SpanMessages::All(Vec::new()));
    assert_eq!(within(&stage.other, 0, 900, 2).await?, SpanMessages::All(Vec::new()));
    assert_eq!(within(&stage.scope, 100, 400, 3).await?, SpanMessages::Between(seqs[0], seqs[3]));
    // An imported message has a later number than its time suggests.
    let imported = stage.say("coffee", 250).await?.seq;
    assert_eq!(within(&stage.scope, 150, 300, 3).await?, SpanMessages::All(vec![seqs[1], imported, seqs[2]]));
    assert_eq!(within(&stage.scope, 100, 400, 4).await?, SpanMessages::Between(seqs[0], imported));
    Ok(())
}

/// The frequency of a phrase is always right, even if it was counted before rows were added and removed.
pub async fn frequencies_follow_added_and_removed_rows(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let frequency = async |newest: u32| -> Result<u64, StoreError> {
        let hits = store.phrase_hits(&stage.scope, Corpus::Messages, &[phrase("tea")], newest).await?.1;
        Ok(hits[0].document_frequency)
    };
    let mut said = Vec::new();
    for number in 1..=12 {
        said.push(stage.say("more tea", number).await?);
        let known = u64::try_from(number)?;
        assert_eq!((frequency(2).await?, frequency(2).await?, frequency(5).await?), (known, known, known));
    }
    for number in 13..=20 {
        stage.say("and tea again", number).await?;
    }
    assert_eq!(frequency(2).await?, 20, "more came since than are named");
    let coffee = MessageEdit {
        id: said[3].id,
        content: "coffee".to_owned(),
        terms: "coffee".to_owned(),
        token_count: 1,
        at: at(30),
    };
    store.edit_message(coffee).await?;
    assert_eq!((frequency(2).await?, frequency(100).await?), (19, 19));
    stage.say("tea", 40).await?;
    assert_eq!(frequency(2).await?, 20);
    Ok(())
}

/// A store may return all rows of a phrase instead of the newest; that changes neither counts nor order.
pub async fn all_rows_of_a_phrase_may_come_at_once(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (mut of_tea, mut of_milk) = (Vec::new(), Vec::new());
    for number in 1..=40 {
        let has_milk = number % 4 == 0 && number < 30;
        let seq = stage.say(if has_milk { "tea with milk" } else { "tea" }, number).await?.seq;
        of_tea.insert(0, seq);
        if has_milk {
            of_milk.insert(0, seq);
        }
    }
    let asked = [phrase("tea"), phrase("milk"), phrase("cocoa")];
    for all_up_to in [0, 5, 1_000] {
        for _ in 0..2 {
            let (size, hits) =
                store.phrase_rows(&stage.scope, Corpus::Messages, &asked, 3, all_up_to).await?;
            assert_eq!(size.documents, 40);
            for (hits, all) in hits.iter().zip([&of_tea, &of_milk, &Vec::new()]) {
                assert_eq!(hits.document_frequency, all.len() as u64, "{all_up_to}");
                let newest = &all[..all.len().min(3)];
                assert!(hits.seqs == newest || (all_up_to > 0 && hits.seqs == **all), "{:?}", hits.seqs);
            }
        }
    }
    let (_, elsewhere) = store.phrase_rows(&stage.other, Corpus::Messages, &asked, 3, 1_000).await?;
    assert!(elsewhere.iter().all(|hits| hits.document_frequency == 0 && hits.seqs.is_empty()));
    Ok(())
}

/// Nodes are found by entity, by time of the event, by kind and subject, and by time of writing.
pub async fn nodes_are_found_by_entity_and_time(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (message, session) = stage.claimed_session("a busy week", 0).await?;
    let time = |start, end: Option<i64>| Some(EventTime { start: at(start), end: end.map(at) });
    let with = |name: &str, event_time| NewNode { event_time, ..stage.event(name, &message) };
    let short = with("short", time(500, None));
    let span = with("span", time(100, Some(600)));
    let timeless = with("timeless", None);
    let promise =
        NewNode { kind: NodeKind::Intention, subject: Subject::Persona, ..with("promise", time(900, None)) };
    let kim = NewEntity::settled(stage.entity_id(), "Kim", EntityKind::Person);
    let nodes = vec![short.clone(), span.clone(), timeless.clone(), promise.clone()];
    let mut commit = stage.extraction(&session, 50, nodes);
    commit.entities = vec![kim.clone()];
    commit.links = vec![(short.id, kim.id), (timeless.id, kim.id)];
    store.commit_extraction(commit).await?;
    let later = stage.remember("later", 60).await?;

    let mut seqs = Vec::new();
    for node in [&short, &span, &timeless, &promise, &later] {
        seqs.push(stage.seq(node.id).await?);
    }
    let scope = &stage.scope;
    assert_eq!(store.nodes_linked_to(scope, &[kim.id], 9).await?, [seqs[2], seqs[0]]);
    assert_eq!(store.nodes_linked_to(scope, &[kim.id, kim.id], 1).await?, [seqs[2]]);
    assert!(store.nodes_linked_to(&stage.other, &[kim.id], 9).await?.is_empty());

    assert_eq!(store.nodes_within(scope, at(400), at(550), 9).await?, [seqs[0], seqs[1]]);
    assert_eq!(store.nodes_within(scope, at(600), at(600), 9).await?, [seqs[1]], "the end belongs to it");
    assert_eq!(store.nodes_within(scope, at(500), at(500), 9).await?, [seqs[0], seqs[1]]);
    assert!(store.nodes_within(scope, at(601), at(899), 9).await?.is_empty());
    assert_eq!(store.nodes_within(scope, at(0), at(1_000), 2).await?, [seqs[3], seqs[0]]);

    let kinds = [NodeKind::Intention, NodeKind::Event];
    let seqs_of = |nodes: Vec<memory::nodes::Node>| nodes.iter().map(|node| node.seq).collect::<Vec<_>>();
    assert_eq!(seqs_of(store.nodes_before(scope, &kinds, None, 3).await?), [seqs[4], seqs[3], seqs[2]]);
    assert_eq!(seqs_of(store.nodes_before(scope, &kinds, Some(seqs[1]), 3).await?), [seqs[0]]);
    assert_eq!(seqs_of(store.events_since(scope, at(50), 9).await?), [seqs[0], seqs[1], seqs[2], seqs[4]]);
    assert_eq!(seqs_of(store.events_since(scope, at(50), 2).await?), [seqs[2], seqs[4]], "the newest stay");
    assert_eq!(seqs_of(store.events_since(scope, at(51), 9).await?), [seqs[4]]);
    let about = store.nodes_about(scope, NodeKind::Intention, &[Subject::User, Subject::Persona], 9).await?;
    assert_eq!(seqs_of(about), [seqs[3]]);
    let about = store.nodes_about(scope, NodeKind::Event, &[Subject::User], 2).await?;
    assert_eq!(seqs_of(about), [seqs[4], seqs[2]]);
    Ok(())
}

/// Recalls are counted; recency does not change.
pub async fn touching_counts_a_recall(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let event = stage.remember("a memory", 0).await?;
    store.count_node_recalls(&[event.id], at(70)).await?;
    store.count_node_recalls(&[event.id, memory::identifiers::NodeId(stage.id())], at(80)).await?;
    let node = store.node(event.id).await?.ok_or("it is there")?.node;
    assert_eq!((node.access_count, node.last_accessed_at, node.created_at), (2, Some(at(80)), at(0)));
    Ok(())
}

/// One combined read returns the same as the single ones.
pub async fn one_read_equals_several_single_ones(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let scope = &stage.scope;
    let (message, session) = stage.claimed_session("the cat is at the vet", 0).await?;
    let time = Some(EventTime { start: at(500), end: Some(at(600)) });
    let promise = NewNode {
        kind: NodeKind::Intention,
        subject: Subject::Persona,
        event_time: time,
        ..stage.event("a promise about the cat", &message)
    };
    let cat = NewNode { emotional_impact: -4, ..stage.event("the cat is ill", &message) };
    store.commit_extraction(stage.extraction(&session, 50, vec![cat, promise])).await?;

    let phrases = [phrase("cat"), phrase("dog")];
    for (corpus, whose) in [(Corpus::Nodes, scope), (Corpus::Messages, scope), (Corpus::Nodes, &stage.other)]
    {
        let (size, hits) = store.phrase_hits(whose, corpus, &phrases, 9).await?;
        assert_eq!(size, store.phrase_hits(whose, corpus, &[], 0).await?.0);
        for (phrase, hit) in phrases.iter().zip(hits) {
            let alone = store.phrase_hits(whose, corpus, std::slice::from_ref(phrase), 9).await?;
            assert_eq!(alone, (size, vec![hit]));
        }
    }

    let about = |kind, subjects: &[Subject], limit| NodeQuery { kind, subjects: subjects.to_vec(), limit };
    let wanted = [
        about(NodeKind::Event, &[Subject::User, Subject::Shared], 9),
        about(NodeKind::Intention, &[Subject::Persona], 9),
        about(NodeKind::Event, &[Subject::User], 0),
        about(NodeKind::Thought, &[Subject::User], 9),
    ];
    let outlines = store.outlines_about(scope, &wanted).await?;
    assert_eq!(outlines.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 0, 0]);
    assert_eq!((outlines[0][0].emotional_impact, outlines[1][0].event_time), (-4, time));
    for (outlines, NodeQuery { kind, subjects, limit }) in outlines.iter().zip(&wanted) {
        let nodes = store.nodes_about(scope, *kind, subjects, *limit).await?;
        assert_eq!(*outlines, nodes.iter().map(NodeOutline::from).collect::<Vec<_>>());
    }
    assert_eq!(store.outlines_about(&stage.other, &wanted).await?, vec![Vec::new(); 4]);
    Ok(())
}

/// Events about who the user is are found, the newest and the oldest; none of other people, and none that was
/// replaced or forgotten.
pub async fn events_of_identity_are_found(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let identity = RelationalTag::IdentityBearing;
    let (message, session) = stage.claimed_session("it is about me", 0).await?;
    let tagged = |text: &str, relational_tags: &[RelationalTag], subject| NewNode {
        relational_tags: relational_tags.to_vec(),
        subject,
        ..stage.event(text, &message)
    };
    let both = [RelationalTag::Commitment, identity];
    let events = vec![
        tagged("the user is called Ann", &[identity], Subject::User),
        tagged("the user is fond of tea", &[RelationalTag::Commitment], Subject::User),
        tagged("the user is a nurse", &both, Subject::User),
        tagged("the persona is called Echo", &[identity], Subject::Persona),
        tagged("the user lives in Rome", &[identity], Subject::User),
    ];
    let mut seqs = Vec::new();
    store.commit_extraction(stage.extraction(&session, 50, events.clone())).await?;
    for event in &events {
        seqs.push(stage.seq(event.id).await?);
    }
    let found = async |scope, limit| -> Result<Vec<i64>, memory::ports::StoreError> {
        let mut found = store.identity_events(scope, limit).await?;
        found.sort_unstable();
        Ok(found)
    };
    assert_eq!(found(&stage.scope, 9).await?, [seqs[0], seqs[2], seqs[4]]);
    assert_eq!(found(&stage.scope, 1).await?, [seqs[0], seqs[4]]);
    assert!(found(&stage.other, 9).await?.is_empty());

    store.finish_session(session.id, at(51)).await?;
    let (moved, session) = stage.claimed_session("I moved", 100).await?;
    let newer = NewNode { relational_tags: vec![identity], ..stage.event("the user lives in Oslo", &moved) };
    let mut commit = stage.extraction(&session, 150, vec![newer.clone()]);
    commit.pairs = vec![pair(newer.id, events[4].id)];
    store.commit_extraction(commit).await?;
    replace_waiting(store, &session, at(150)).await?;
    let oslo = stage.seq(newer.id).await?;
    assert_eq!(found(&stage.scope, 9).await?, [seqs[0], seqs[2], oslo]);
    assert_eq!(found(&stage.scope, 1).await?, [seqs[0], oslo]);
    store.finish_session(session.id, at(151)).await?;
    store.withdraw_evidence(&[moved.id], ThoughtPolicy::Orphan, at(200)).await?;
    assert_eq!(
        found(&stage.scope, 9).await?,
        [seqs[0], seqs[2], seqs[4]],
        "what it had replaced is current again"
    );
    let ann = Selection { nodes: [events[0].id].into(), ..Selection::default() };
    let act = ForgetRequest {
        scope: stage.scope.clone(),
        selection: ann,
        thoughts: ForgetMode::Orphan,
        at: at(250),
    };
    store.forget(act, None, None).await?;
    assert_eq!(found(&stage.scope, 9).await?, [seqs[2], seqs[4]]);
    Ok(())
}
