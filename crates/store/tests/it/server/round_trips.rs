//! Waits for the server's answer: their number depends on the number of queries, not on the number of rows.

use futures_util::future::join_all;
use memory::nodes::{NodeKind, Subject};
use memory::ports::{
    CaptureStore as _, Corpus, ForgetStore as _, NodeQuery, Phrase, RecallStore as _, StoreError,
};
use memory::sessions::SessionPolicy;
use store::{ServerAddress, StoreOptions};
use testkit::postgres::fresh_home;

use super::Outcome;
use super::faults::{message, open};

/// The writer's heartbeat, which may come in between.
const NOTES_MAX: u64 = 2;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn many_messages_and_rows_are_waited_for_together() -> Outcome {
    let database = fresh_home()?.ok_or("run this test by scripts/with-postgres")?;
    let options = StoreOptions { readers: 1, ..StoreOptions::default() };
    let (store, scope) = open(&ServerAddress::parse(&database, None)?, options).await?;
    let capture = |number: u128| store.capture(message(&scope, number), SessionPolicy::default(), None);
    // Each statement is prepared once, which also takes a round trip.
    for first in [1, 65] {
        for captured in join_all((first..first + 32).map(capture)).await {
            captured?;
        }
    }
    let (trips, commits) = (store.round_trips(), store.commits());
    let captured =
        join_all((200..264).map(capture)).await.into_iter().collect::<Result<Vec<_>, StoreError>>()?;
    let (trips, commits) = (store.round_trips() - trips, store.commits() - commits);
    assert!(trips <= 4 * commits + NOTES_MAX, "{trips} round trips for {commits} commits");

    let seqs: Vec<i64> = captured.iter().map(|captured| captured.message.seq).collect();
    let phrases: Vec<Phrase> = (200..220).map(|number| Phrase(vec![number.to_string()])).collect();
    let kinds = [NodeKind::Event, NodeKind::Thought, NodeKind::Intention, NodeKind::Expectation];
    let about =
        kinds.map(|kind| NodeQuery { kind, subjects: vec![Subject::User, Subject::Persona], limit: 9 });
    let ask = async || {
        let before = store.round_trips();
        let found = store.neighbours(&scope, &seqs, 2, 2).await?.len();
        let (_, hits) = store.phrase_hits(&scope, Corpus::Messages, &phrases, 9).await?;
        let outlines = store.outlines_about(&scope, &about).await?.len();
        let silenced = store.silenced_spans(&scope, &seqs).await?.len();
        Ok::<_, StoreError>((found, hits.len(), outlines, silenced, store.round_trips() - before))
    };
    ask().await?;
    let (found, hits, outlines, silenced, trips) = ask().await?;
    assert_eq!((found, hits, outlines, silenced), (seqs.len(), phrases.len(), about.len(), 0));
    assert!(trips <= 6 + NOTES_MAX, "{trips} round trips");
    store.close().await?;
    Ok(())
}
