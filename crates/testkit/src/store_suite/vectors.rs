//! Laws of vectors: which rows wait for one, and how an index stays up to date.

use memory::identifiers::{MessageId, NodeId};
use memory::ports::{Corpus, Store, VectorCoverage};

use super::Outcome;
use super::stage::{MODEL, Stage, embedding};

/// A row without a vector of the model waits for one, the newest first; a deleted row is skipped.
pub async fn vectors_follow_their_rows(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let (first, second) = (stage.say("one", 0).await?, stage.say("two", 1).await?);
    let waiting = async |model: &str, limit| -> Result<Vec<MessageId>, memory::ports::StoreError> {
        Ok(store.messages_without_vector(model, limit).await?.iter().map(|message| message.id).collect())
    };
    assert_eq!(waiting(MODEL, 9).await?, [second.id, first.id]);
    assert_eq!(waiting(MODEL, 1).await?, [second.id]);
    let gone = MessageId(stage.id());
    store
        .put_message_vectors(
            MODEL,
            vec![(second.id, embedding([0.0, 1.0, 0.0])), (gone, embedding([1.0; 3]))],
        )
        .await?;
    assert_eq!(waiting(MODEL, 9).await?, [first.id]);
    assert_eq!(
        waiting("another model", 9).await?,
        [second.id, first.id],
        "vectors of models are never mixed"
    );

    let stored =
        store.vectors_numbered(&stage.scope, Corpus::Messages, MODEL, &[first.seq, second.seq]).await?;
    let [stored] = stored.as_slice() else { return Err("one has a vector".into()) };
    assert_eq!(
        (stored.seq, stored.vector.as_slice(), stored.readability),
        (second.seq, &[0.0, 1.0, 0.0][..], 0.75)
    );
    assert!(
        store
            .vectors_numbered(&stage.scope, Corpus::Messages, "another model", &[second.seq])
            .await?
            .is_empty()
    );
    let indexed = store.messages_numbered(&stage.scope, &[second.seq]).await?;
    assert_eq!(indexed[0].readability, Some(0.75));

    store.put_message_vectors("another model", vec![(second.id, embedding([0.0, 0.0, 1.0]))]).await?;
    assert_eq!(waiting("another model", 9).await?, [first.id]);
    assert_eq!(waiting(MODEL, 9).await?, [second.id, first.id]);

    let event = stage.remember("an event", 10).await?;
    assert!(store.nodes_without_vector(MODEL, 9).await?.is_empty(), "its vector came in its own transaction");
    assert_eq!(store.nodes_without_vector("another model", 9).await?.len(), 1);
    store.put_node_vectors("another model", vec![(event.id, embedding([0.0, 0.0, 1.0]))]).await?;
    store.put_node_vectors("another model", vec![(NodeId(stage.id()), embedding([1.0; 3]))]).await?;
    assert!(store.nodes_without_vector("another model", 9).await?.is_empty());
    Ok(())
}

/// A reader that has read up to a revision misses nothing, even if the vector of an old row is written again.
pub async fn vectors_are_numbered_by_their_writing(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let mut said = Vec::new();
    for number in 0..3 {
        said.push(stage.say(&format!("line {number}"), number).await?);
    }
    let put = async |index: usize, components| {
        store.put_message_vectors(MODEL, vec![(said[index].id, embedding(components))]).await
    };
    let after = async |revision, limit| {
        store.vectors_after(&stage.scope, Corpus::Messages, MODEL, revision, limit).await
    };
    put(2, [1.0, 0.0, 0.0]).await?;
    put(0, [1.0, 0.0, 0.0]).await?;
    let read = after(0, 9).await?;
    assert_eq!(read.iter().map(|vector| vector.seq).collect::<Vec<_>>(), [said[2].seq, said[0].seq]);
    assert!(read[0].revision >= 1 && read[0].revision < read[1].revision);
    assert_eq!(after(0, 1).await?.as_slice(), &read[..1]);
    assert!(after(read[1].revision, 9).await?.is_empty());

    put(2, [0.0, 1.0, 0.0]).await?;
    put(1, [0.0, 0.0, 1.0]).await?;
    let news = after(read[1].revision, 9).await?;
    assert_eq!(news.iter().map(|vector| vector.seq).collect::<Vec<_>>(), [said[2].seq, said[1].seq]);
    assert_eq!(news[0].vector, [0.0, 1.0, 0.0]);
    assert_eq!(after(0, 9).await?.len(), 3, "a row has one vector");
    assert!(store.vectors_after(&stage.scope, Corpus::Nodes, MODEL, 0, 9).await?.is_empty());
    Ok(())
}

/// The newest rows come first, whenever their vectors were written; rows of other scopes or models are excluded.
pub async fn the_newest_vectors_come_first(store: &dyn Store) -> Outcome {
    let stage = Stage::set(store).await?;
    let mut said = Vec::new();
    for number in 0..4 {
        said.push(stage.say(&format!("line {number}"), number).await?);
    }
    let newest = async |before, limit| -> Result<Vec<i64>, memory::ports::StoreError> {
        let page = store.newest_vectors(&stage.scope, Corpus::Messages, MODEL, before, limit).await?;
        Ok(page.iter().map(|stored| stored.seq).collect())
    };
    let last = async |model: &str| store.last_revision(&stage.scope, Corpus::Messages, model).await;
    assert_eq!((last(MODEL).await?, newest(None, 9).await?), (0, Vec::new()));
    for index in [2, 0, 1] {
        store.put_message_vectors(MODEL, vec![(said[index].id, embedding([1.0, 0.0, 0.0]))]).await?;
    }
    store.put_message_vectors("another model", vec![(said[3].id, embedding([1.0; 3]))]).await?;
    assert_eq!(newest(None, 9).await?, [said[2].seq, said[1].seq, said[0].seq]);
    assert_eq!(newest(None, 2).await?, [said[2].seq, said[1].seq]);
    assert_eq!(newest(Some(said[1].seq), 9).await?, [said[0].seq]);
    let all = store.vectors_after(&stage.scope, Corpus::Messages, MODEL, 0, 9).await?;
    assert_eq!(Some(last(MODEL).await?), all.last().map(|stored| stored.revision));
    assert!(last("another model").await? > last(MODEL).await?);
    assert_eq!(last("a third model").await?, 0);
    assert!(store.newest_vectors(&stage.other, Corpus::Messages, MODEL, None, 9).await?.is_empty());
    assert!(store.newest_vectors(&stage.scope, Corpus::Nodes, MODEL, None, 9).await?.is_empty());
    Ok(())
}

/// While one model replaces another, rows have vectors of both; afterwards only those of the newer one.
pub async fn one_model_replaces_another(store: &dyn Store) -> Outcome {
    const NEXT_MODEL: &str = "next model";
    let stage = Stage::set(store).await?;
    let (first, second) = (stage.say("one", 0).await?, stage.say("two", 1).await?);
    // Its message has no vector at all, which does not make a scope use the older model.
    let event = stage.remember("an event", 10).await?;
    let both = vec![(first.id, embedding([1.0, 0.0, 0.0])), (second.id, embedding([0.0, 1.0, 0.0]))];
    store.put_message_vectors(MODEL, both).await?;
    store.note_embedding_model(MODEL, Some("a folder")).await?;
    store.note_embedding_model(NEXT_MODEL, None).await?;
    let known = store.embedding_models().await?;
    let known: Vec<_> =
        known.iter().map(|m| (m.fingerprint.as_str(), m.source.as_deref(), m.vectors)).collect();
    assert_eq!(known, [(MODEL, Some("a folder"), 3), (NEXT_MODEL, None, 0)]);
    assert_eq!(store.vector_coverage(NEXT_MODEL).await?, VectorCoverage { rows: 4, with_vector: 0 });
    assert_eq!(store.scopes_between_models(NEXT_MODEL, MODEL).await?, std::slice::from_ref(&stage.scope));
    assert!(store.scopes_between_models(NEXT_MODEL, "a model that never was").await?.is_empty());
    assert!(store.scopes_between_models(MODEL, MODEL).await?.is_empty());

    store.put_message_vectors(NEXT_MODEL, vec![(second.id, embedding([0.0, 0.0, 1.0]))]).await?;
    store.put_node_vectors(NEXT_MODEL, vec![(event.id, embedding([0.0, 0.0, 1.0]))]).await?;
    let seqs = [first.seq, second.seq];
    let of = async |model: &str| -> Result<usize, memory::ports::StoreError> {
        Ok(store.vectors_numbered(&stage.scope, Corpus::Messages, model, &seqs).await?.len())
    };
    assert_eq!((of(MODEL).await?, of(NEXT_MODEL).await?), (2, 1), "the older vectors still serve");
    assert_eq!(store.messages_numbered(&stage.scope, &seqs).await?.len(), 2, "a row is one row");
    let event_seq = store.node(event.id).await?.ok_or("the event is gone")?.node.seq;
    assert_eq!(store.nodes_numbered(&stage.scope, &[event_seq]).await?.len(), 1);
    assert_eq!(store.vector_coverage(NEXT_MODEL).await?.with_vector, 2);
    assert_eq!(store.scopes_between_models(NEXT_MODEL, MODEL).await?.len(), 1, "one message still waits");

    assert_eq!(store.adopt_vectors(MODEL, 9).await?, 2, "who changes back needs no new vectors");
    assert_eq!(store.adopt_vectors(MODEL, 9).await?, 0);
    assert_eq!(store.vector_coverage(MODEL).await?.with_vector, 3);
    assert_eq!(store.adopt_vectors(NEXT_MODEL, 9).await?, 2);

    assert_eq!(store.remove_other_vectors(NEXT_MODEL, 9).await?, 2);
    assert_eq!((of(MODEL).await?, of(NEXT_MODEL).await?), (1, 1), "a row never loses its last vector");
    store.put_message_vectors(NEXT_MODEL, vec![(first.id, embedding([0.0, 0.0, 1.0]))]).await?;
    assert!(store.scopes_between_models(NEXT_MODEL, MODEL).await?.is_empty());
    assert_eq!(store.remove_other_vectors(NEXT_MODEL, 1).await?, 1);
    assert_eq!(store.remove_other_vectors(NEXT_MODEL, 1).await?, 0);
    let left: Vec<u64> = store.embedding_models().await?.iter().map(|model| model.vectors).collect();
    assert_eq!(left, [0, 3]);
    Ok(())
}
