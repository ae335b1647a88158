//! Laws of pairs of statements: asked about until they are answered, and the results.

use memory::corrections::ReplacedQuery;
use memory::identifiers::SessionId;
use memory::ports::{
    Counterpart, MentionMerge, NewPair, OlderStatement, PAIR_ATTEMPTS_MAX, PairOutcome, ReconciliationCommit,
    Store,
};

use super::Outcome;
use super::stage::{Stage, at, quote_all};
use crate::pair;

async fn settle(
    stage: &Stage<'_>,
    store: &dyn Store,
    session: SessionId,
    seconds: i64,
    outcomes: Vec<(i64, PairOutcome)>,
) -> Outcome {
    let commit =
        ReconciliationCommit { session_id: session, scope: stage.scope.clone(), at: at(seconds), outcomes };
    Ok(store.commit_reconciliation(commit).await?)
}

/// A pair without a verdict waits for other sessions, a few times; then both statements stay.
pub async fn a_pair_is_asked_about_until_it_is_answered(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let older = stage.remember("user lives in Bonn", 0).await?;
    let (message, session) = stage.claimed_session("I moved to Ulm", 10).await?;
    let newer = stage.event("user lives in Ulm", &message);
    let mut commit = stage.extraction(&session, 11, vec![newer.clone()]);
    // Named in reverse order, and twice.
    commit.pairs = vec![pair(older.id, newer.id), pair(newer.id, older.id)];
    store.commit_extraction(commit).await?;
    assert_eq!(store.waiting_pairs(&stage.other, session.id, 9).await?, []);
    for attempt in 1..=PAIR_ATTEMPTS_MAX {
        let asking = SessionId(stage.id());
        let waiting = store.waiting_pairs(&stage.scope, asking, 9).await?;
        let [waiting] = waiting.as_slice() else { return Err(format!("{waiting:?}").into()) };
        let OlderStatement::Node(node, evidence) = &waiting.older else { return Err("a memory".into()) };
        assert_eq!((node.id, waiting.newer.id), (older.id, newer.id));
        assert_eq!((evidence, &waiting.newer_evidence), (&older.evidence, &vec![quote_all(&message)]));
        assert_eq!((waiting.older_at, waiting.newer_at), (at(0), at(10)));
        assert_eq!(waiting.newer_texts, ["I moved to Ulm"]);
        settle(&stage, store, asking, 20, vec![(waiting.number, PairOutcome::Unanswered)]).await?;
        assert_eq!(store.waiting_pairs(&stage.scope, asking, 9).await?, [], "once in a session: {attempt}");
    }
    assert_eq!(store.waiting_pairs(&stage.scope, session.id, 9).await?, []);
    assert_eq!(store.node(older.id).await?.and_then(|found| found.node.superseded_by), None);
    Ok(())
}

/// A decided pair is not asked about again until one of the statements is repeated.
pub async fn an_open_pair_is_found_until_it_is_asked_again(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let older = stage.remember("user lives in Bonn", 0).await?;
    let (message, session) = stage.claimed_session("perhaps I live in Ulm", 10).await?;
    let newer = stage.event("user may live in Ulm", &message);
    let mut commit = stage.extraction(&session, 11, vec![newer.clone()]);
    commit.pairs = vec![pair(newer.id, older.id)];
    store.commit_extraction(commit).await?;
    store.finish_session(session.id, at(12)).await?;
    let number = store.waiting_pairs(&stage.scope, session.id, 9).await?[0].number;
    settle(&stage, store, session.id, 13, vec![(number, PairOutcome::Open)]).await?;
    assert_eq!(store.waiting_pairs(&stage.scope, SessionId(stage.id()), 9).await?, []);
    let (old_seq, new_seq) = (stage.seq(older.id).await?, stage.seq(newer.id).await?);
    for (nodes, messages) in [(vec![old_seq], vec![]), (vec![new_seq], vec![]), (vec![], vec![message.seq])] {
        let open = store.open_pairs(&stage.scope, &nodes, &messages).await?;
        assert_eq!(open.len(), 1, "{nodes:?} {messages:?}");
        assert_eq!((open[0].older.id, open[0].newer.id, open[0].opened_at), (older.id, newer.id, at(13)));
        assert!(open[0].messages.contains(&(message.id, true)) && open[0].messages.len() == 2);
    }
    assert_eq!(store.open_pairs(&stage.other, &[old_seq], &[]).await?, []);
    let (again, session) = stage.claimed_session("I do live in Bonn", 20).await?;
    let mut commit = stage.extraction(&session, 21, Vec::new());
    let merged = stage.event("user lives in Bonn still", &again);
    commit.mentions = vec![MentionMerge { node_id: older.id, merged }];
    store.commit_extraction(commit).await?;
    assert_eq!(store.open_pairs(&stage.scope, &[old_seq, new_seq], &[]).await?, []);
    let waiting = store.waiting_pairs(&stage.scope, session.id, 9).await?;
    assert_eq!((waiting.len(), waiting[0].newer.id), (1, older.id), "what was said again is the newer one");
    Ok(())
}

/// A statement without a memory becomes a former memory. The part that stays true is a memory until the change is
/// undone.
pub async fn an_answer_leaves_former_memories_and_what_stays_true(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let older = stage.remember("sister Mea lives in Bonn", 0).await?;
    let (message, session) =
        stage.claimed_session("she is in Ulm, no, in Jena, and is called Mia", 10).await?;
    let newer = stage.event("sister Mia lives in Jena", &message);
    let mut words = quote_all(&message);
    (words.quote, words.end) = ("she is in Ulm".to_owned(), 13);
    let mut commit = stage.extraction(&session, 11, vec![newer.clone()]);
    let unproven = Counterpart::Words(words.clone());
    commit.pairs = vec![pair(newer.id, older.id), NewPair { node: newer.id, other: unproven }];
    store.commit_extraction(commit).await?;
    let mut former = stage.event("she is in Ulm", &message);
    former.evidence = vec![words.clone()];
    let rest = memory::nodes::NewNode {
        evidence: older.evidence.clone(),
        ..stage.event("sister in Bonn", &message)
    };
    let mut outcomes = Vec::new();
    for waiting in store.waiting_pairs(&stage.scope, session.id, 9).await? {
        let of_words = matches!(&waiting.older, OlderStatement::Words(found) if *found == words);
        outcomes.push((
            waiting.number,
            PairOutcome::Replaced {
                is_mistaken: true,
                former: of_words.then(|| Box::new(former.clone())),
                rest: (!of_words).then(|| Box::new(rest.clone())),
            },
        ));
    }
    assert_eq!(outcomes.len(), 2);
    settle(&stage, store, session.id, 12, outcomes).await?;
    let by = async |id| store.node(id).await.map(|found| found.map(|found| found.node.superseded_by));
    assert_eq!((by(older.id).await?, by(former.id).await?), (Some(Some(newer.id)), Some(Some(newer.id))));
    assert_eq!(by(rest.id).await?, Some(None));
    let about =
        ReplacedQuery { messages: vec![message.seq], nodes: vec![newer.id], ..ReplacedQuery::default() };
    let replaced = store.replaced_values(&stage.scope, &about).await?;
    let found: Vec<_> =
        replaced.values.iter().map(|value| (value.node, value.mistaken, value.since)).collect();
    assert!(
        found.contains(&(older.id, true, at(0))) && found.contains(&(former.id, true, at(10))),
        "{found:?}"
    );
    assert_eq!(replaced.spans.iter().map(|span| span.node).collect::<Vec<_>>(), [former.id]);
    store.undo_last_change(older.id, at(20)).await?.ok_or("it was replaced")?;
    assert_eq!((by(older.id).await?, by(rest.id).await?), (Some(None), Some(Some(older.id))));
    assert_eq!(
        store.waiting_pairs(&stage.scope, SessionId(stage.id()), 9).await?,
        [],
        "a person has decided"
    );
    Ok(())
}
