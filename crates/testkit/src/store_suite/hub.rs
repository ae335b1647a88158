//! Laws of documents: versions, conflicts, labels, chunks for search, and the diary's lines.

use std::collections::BTreeSet;

use hub::client_base::ClientBase;
use hub::documents::{Conflict, Version};
use hub::export::{ErasedName, HubExport};
use hub::ports::{
    DiaryCoverage, DiaryLine, DocumentFilter, DocumentWrite, HubCommit, HubCommitOutcome, HubStore, Instance,
    Snapshot,
};
use hub::{DiaryName, DocumentName, Granularity, InstanceId, VersionVector};
use memory::Scope;
use memory::forget::{ForgetMode, Selection};
use memory::ports::{Phrase, Store};

use super::Outcome;
use super::forgetting::forget;
use super::stage::{MODEL, Stage, at, embedding};

fn document_name(kind: &str, stem: &str) -> Result<DocumentName, Box<dyn std::error::Error>> {
    Ok(DocumentName::parse(kind, stem)?)
}

fn laptop_instance() -> Result<InstanceId, Box<dyn std::error::Error>> {
    Ok("laptop".parse()?)
}

/// A version by the instance `laptop`, with the counter of its change.
fn laptop_version(content: &str, counter: u64) -> Result<Version, Box<dyn std::error::Error>> {
    let author = laptop_instance()?;
    Ok(Version {
        number: 0,
        content: Some(content.to_owned()),
        vector: VersionVector::default().with_change(&author, counter),
        author,
        edited_by: "laptop".to_owned(),
        by_person: false,
        chat_ids: BTreeSet::new(),
        participants: BTreeSet::new(),
        written_at: at(counter.try_into()?),
    })
}

pub(super) fn write(name: &DocumentName, heads: Vec<Version>) -> DocumentWrite {
    DocumentWrite {
        name: name.clone(),
        prompt_label: None,
        heads,
        merged_from: Vec::new(),
        stale: false,
        at: at(1),
    }
}

/// Commits at the current revision, and returns the revision afterwards.
pub(super) async fn commit(
    store: &dyn HubStore,
    scope: &Scope,
    commit: HubCommit,
) -> Result<i64, Box<dyn std::error::Error>> {
    let expected = store.hub_state(scope).await?.revision;
    match store.commit_hub(scope, HubCommit { expected, at: Some(at(1)), ..commit }).await? {
        HubCommitOutcome::Done(revision) => Ok(revision),
        HubCommitOutcome::Changed => Err("nobody else writes".into()),
    }
}

/// Writes one version of a document.
pub(super) async fn put_version(
    store: &dyn HubStore,
    scope: &Scope,
    name: &DocumentName,
    content: &str,
    counter: u64,
) -> Result<i64, Box<dyn std::error::Error>> {
    let documents = vec![write(name, vec![laptop_version(content, counter)?])];
    commit(store, scope, HubCommit { documents, ..HubCommit::default() }).await
}

/// A commit at an outdated revision changes nothing. A commit is written whole or not at all.
pub async fn hub_transactions_are_atomic<S: Store + HubStore>(store: &S) -> Outcome {
    let stage = Stage::set(store).await?;
    let (day, notes) = (document_name("daily", "2024-10-04_laptop")?, document_name("custom", "notes")?);
    let documents =
        vec![write(&day, vec![laptop_version("- a", 1)?]), write(&notes, vec![laptop_version("b", 2)?])];
    let act = HubCommit { expected: 0, documents, at: Some(at(1)), ..HubCommit::default() };
    let HubCommitOutcome::Done(revision) = store.commit_hub(&stage.scope, act.clone()).await? else {
        return Err("it is the first".into());
    };
    assert_eq!(store.commit_hub(&stage.scope, act).await?, HubCommitOutcome::Changed);
    let state = store.hub_state(&stage.scope).await?;
    assert_eq!((state.revision, state.seen.get(&laptop_instance()?)), (revision, 2));
    let all = store.documents(&stage.scope, DocumentFilter::all_documents()).await?;
    assert_eq!(
        all.iter().map(|document| document.name.to_string()).collect::<Vec<_>>(),
        [notes.to_string(), day.to_string()]
    );
    assert!(all.iter().all(|document| document.heads.len() == 1 && document.revision == revision));
    // The persona's own documents belong to everybody; memories with one user belong to that user.
    let others = store.documents(&stage.other, DocumentFilter::all_documents()).await?;
    assert_eq!(others.iter().map(|document| &document.name).collect::<Vec<_>>(), [&notes]);
    assert_eq!(store.document(&stage.other, &day).await?, None);
    assert_eq!(store.hub_scopes().await?.as_slice(), std::slice::from_ref(&stage.scope));
    assert!(store.knows_instance(&stage.scope.persona, &laptop_instance()?).await?);
    assert!(!store.knows_instance(&stage.scope.persona, &"phone".parse()?).await?);
    Ok(())
}

/// A version that was replaced can be read; a deletion is a version too.
pub async fn a_document_keeps_every_version<S: Store + HubStore>(store: &S) -> Outcome {
    let stage = Stage::set(store).await?;
    let week = document_name("weekly", "2024-W40")?;
    put_version(store, &stage.scope, &week, "first", 1).await?;
    let first = put_version(store, &stage.scope, &week, "第二", 2).await?;
    assert_eq!(store.memory_names(&stage.scope).await?, [DiaryName::parse(Granularity::Weekly, "2024-W40")?]);
    assert_eq!(store.memory_names(&stage.other).await?, []);
    let gone = Version { content: None, ..laptop_version("", 3)? };
    let documents = vec![write(&week, vec![gone])];
    commit(store, &stage.scope, HubCommit { documents, ..HubCommit::default() }).await?;
    let kept = store.document_versions(&stage.scope, &week, 10).await?;
    let listed: Vec<_> = kept.iter().map(|kept| (kept.number, kept.content.as_deref())).collect();
    assert_eq!(listed, [(3, None), (2, Some("第二")), (1, Some("first"))]);
    assert_eq!(store.document_versions(&stage.scope, &week, 1).await?.len(), 1);
    assert_eq!(store.memory_names(&stage.scope).await?, []);
    let all = |deleted| DocumentFilter { deleted, ..DocumentFilter::all_memories() };
    assert_eq!(store.documents(&stage.scope, all(false)).await?, []);
    let deleted = store.documents(&stage.scope, all(true)).await?;
    assert_eq!((deleted.len(), deleted[0].content()), (1, None));
    let since = DocumentFilter { after: first, ..all(true) };
    assert_eq!(store.documents(&stage.scope, since).await?.len(), 1);
    let since = DocumentFilter { after: deleted[0].revision, ..all(true) };
    assert_eq!(store.documents(&stage.scope, since).await?, []);
    Ok(())
}

/// A prompt receives identity and the memories that it names: the beginnings of their shown texts.
pub async fn a_prompt_reads_only_the_documents_that_it_names<S: Store + HubStore>(store: &S) -> Outcome {
    let stage = Stage::set(store).await?;
    for (counter, (kind, stem, content)) in (1..).zip([
        ("self", "my_wants", "the sea"),
        ("custom", "rules", "我们的约定"),
        ("user", "user_life", "night shifts"),
        ("monthly", "2024-09", "September"),
        ("monthly", "2024-10", "October"),
        ("daily", "2024-10-04_laptop", "a day"),
    ]) {
        put_version(store, &stage.scope, &document_name(kind, stem)?, content, counter).await?;
    }
    put_version(store, &stage.scope, &document_name("self", "my_wants")?, "the mountains", 9).await?;
    store.set_label(&stage.scope, &document_name("custom", "rules")?, "Promises").await?;
    let gone = Version { content: None, ..laptop_version("", 10)? };
    let documents = vec![write(&document_name("monthly", "2024-09")?, vec![gone])];
    commit(store, &stage.scope, HubCommit { documents, ..HubCommit::default() }).await?;
    let months = ["2024-10", "2024-09", "2024-08"];
    let mut asked = Vec::new();
    for month in months {
        let DocumentName::Diary(month) = document_name("monthly", month)? else {
            return Err("a month".into());
        };
        asked.push(month);
    }
    let shown = store.shown_texts(&stage.scope, asked.clone(), 4).await?;
    let listed: Vec<_> = shown
        .iter()
        .map(|shown| (shown.name.to_string(), shown.prompt_label.as_deref(), shown.text.as_str()))
        .collect();
    let path = |kind: &str, stem: &str| document_name(kind, stem).map(|name| name.to_string());
    assert_eq!(
        listed,
        [
            (path("self", "my_wants")?, None, "the "),
            (path("user", "user_life")?, None, "nigh"),
            (path("custom", "rules")?, Some("Promises"), "我们的约"),
            (path("monthly", "2024-10")?, None, "Octo"),
        ]
    );
    let (entry, text) =
        (document_name("custom", "lore/hives-queen")?, "---\nkeys: [\"queen\"]\n---\nShe rules.");
    put_version(store, &stage.scope, &entry, text, 11).await?;
    let others = store.shown_texts(&stage.other, asked, 100).await?;
    assert_eq!(
        others.iter().map(|shown| shown.text.as_str()).collect::<Vec<_>>(),
        ["the mountains", "我们的约定"]
    );
    let Some((state, lore)) = store.lore(&stage.other, None).await? else { return Err("no lore".into()) };
    let read: Vec<_> = lore.iter().map(|entry| (&entry.name, entry.text.as_str())).collect();
    assert_eq!(read, [(&entry, text)]);
    assert_eq!(store.lore(&stage.scope, Some(state)).await?, None, "it is as it was");
    put_version(store, &stage.scope, &entry, "changed", 12).await?;
    let Some((state, lore)) = store.lore(&stage.scope, Some(state)).await? else {
        return Err("no lore".into());
    };
    assert_eq!(lore.len(), 1);
    let gone = vec![write(&entry, vec![Version { content: None, ..laptop_version("", 13)? }])];
    commit(store, &stage.scope, HubCommit { documents: gone, ..HubCommit::default() }).await?;
    let left = store.lore(&stage.scope, Some(state)).await?;
    assert_eq!(left.map(|(_, lore)| lore), Some(Vec::new()));
    Ok(())
}

/// A version that lost to a concurrent one is stored, and is reported until somebody decides.
pub async fn conflicts_stay_open_until_they_are_resolved<S: Store + HubStore>(store: &S) -> Outcome {
    let stage = Stage::set(store).await?;
    let wants = document_name("self", "my_wants")?;
    let phone: InstanceId = "phone".parse()?;
    let ours = laptop_version("the sea", 1)?;
    let theirs = Version {
        vector: VersionVector::default().with_change(&phone, 1),
        author: phone,
        ..laptop_version("the hills", 2)?
    };
    let conflict = Conflict {
        id: stage.id(),
        name: wants.clone(),
        kept: ours.clone(),
        shown: theirs.clone(),
        opened_at: at(2),
        settled_at: None,
        settled: None,
    };
    let documents = vec![write(&wants, vec![theirs, ours])];
    commit(
        store,
        &stage.scope,
        HubCommit { documents, opened: vec![conflict.clone()], ..HubCommit::default() },
    )
    .await?;
    let document = store.document(&stage.scope, &wants).await?.ok_or("it is there")?;
    let listed: Vec<_> = document.heads.iter().filter_map(|head| head.content.as_deref()).collect();
    assert_eq!((document.content(), listed), (Some("the hills"), vec!["the hills", "the sea"]));
    let open = store.conflicts(&stage.scope, true).await?;
    assert_eq!(open.len(), 1);
    assert_eq!(
        (open[0].kept.content.as_deref(), open[0].shown.content.as_deref()),
        (Some("the sea"), Some("the hills"))
    );
    let settled = vec![(conflict.id, "dismissed".to_owned())];
    commit(store, &stage.scope, HubCommit { settled, ..HubCommit::default() }).await?;
    assert_eq!(store.conflicts(&stage.scope, true).await?, []);
    let all = store.conflicts(&stage.scope, false).await?;
    assert_eq!(all[0].settled.as_deref(), Some("dismissed"));
    assert!(all[0].settled_at.is_some());
    Ok(())
}

/// A label can exist without a document, the last write of an instance counts, and old snapshots are removed.
pub async fn labels_instances_and_snapshots_are_stored<S: Store + HubStore>(store: &S) -> Outcome {
    let stage = Stage::set(store).await?;
    let (wants, life) = (document_name("self", "my_wants")?, document_name("user", "user_life")?);
    store.set_label(&stage.scope, &wants, "Wants").await?;
    store.set_label(&stage.scope, &wants, "What I want").await?;
    store.set_label(&stage.scope, &life, "About Ann").await?;
    let labels = store.labels(&stage.scope).await?;
    assert_eq!(labels, [(wants.clone(), "What I want".to_owned()), (life, "About Ann".to_owned())]);
    assert_eq!(store.labels(&stage.other).await?.len(), 1, "of what is the persona's own");

    let phone = |seconds, counter| -> Result<Instance, Box<dyn std::error::Error>> {
        let mut base = ClientBase::default();
        base.replace_seen(&wants, VersionVector::default().with_change(&laptop_instance()?, counter));
        Ok(Instance {
            id: "phone".parse()?,
            kind: "other".to_owned(),
            name: None,
            last_sync: at(seconds),
            base,
            sent: VersionVector::default().with_change(&laptop_instance()?, counter),
        })
    };
    for (seconds, counter) in [(1, 1), (5, 7)] {
        let instance = Some(phone(seconds, counter)?);
        commit(store, &stage.scope, HubCommit { instance, ..HubCommit::default() }).await?;
    }
    assert_eq!(store.instances(&stage.scope).await?, [phone(5, 7)?]);

    let snapshot = |seconds: i64| Snapshot {
        id: format!("self/my_wants_{seconds}"),
        name: wants.clone(),
        content: "the sea".to_owned(),
        created_at: at(seconds),
        reason: "manual".to_owned(),
        source: "laptop".to_owned(),
    };
    let snapshots = vec![snapshot(10), snapshot(20)];
    commit(store, &stage.scope, HubCommit { snapshots, ..HubCommit::default() }).await?;
    assert_eq!(store.snapshots(&stage.scope).await?, [snapshot(20), snapshot(10)]);
    assert_eq!(store.prune_snapshots(at(15)).await?, 1);
    assert_eq!(store.snapshots(&stage.scope).await?, [snapshot(20)]);
    Ok(())
}

/// A memory is split into chunks when it is written. They are found by their words, get a vector each, and are
/// removed when the text changes.
pub async fn chunks_follow_their_document<S: Store + HubStore>(store: &S) -> Outcome {
    let stage = Stage::set(store).await?;
    let scope = &stage.scope;
    let day = document_name("daily", "2024-10-04_laptop")?;
    let revision = put_version(store, scope, &day, "- tea in Jena", 1).await?;
    let unread = async |scope, after| store.unembedded_chunks(scope, MODEL, after, 10).await;
    let waiting = unread(scope, 0).await?;
    assert_eq!(waiting.iter().map(|piece| piece.text.as_str()).collect::<Vec<_>>(), ["- tea in Jena"]);
    assert_eq!(unread(scope, revision).await?, [], "nothing has changed since");
    assert_eq!(unread(&stage.other, 0).await?, []);

    let number = waiting[0].number;
    let tea = [Phrase(vec!["tea".to_owned()])];
    let found = store.search_chunks(scope, &tea, 5).await?;
    assert_eq!((found.pieces, found.hits[0].seqs.as_slice()), (1, [number].as_slice()));
    let elsewhere = store.search_chunks(&stage.other, &tea, 5).await?;
    assert_eq!((elsewhere.pieces, elsewhere.hits[0].seqs.len()), (0, 0));

    let vector = embedding([1.0, 0.0, 0.0]);
    store.put_chunk_vectors(MODEL, vec![(number, vector.clone()), (number + 1, vector.clone())]).await?;
    assert_eq!(unread(scope, 0).await?, [], "it has its vector; the one that is not there was passed over");
    assert_eq!(store.unembedded_chunks(scope, "another", 0, 10).await?.len(), 1);
    let vectors = store.chunk_vectors(scope, MODEL, 0, 10).await?;
    assert_eq!(vectors.iter().map(|vector| vector.piece).collect::<Vec<_>>(), [number]);
    assert_eq!(store.chunk_vectors(scope, MODEL, vectors[0].stored, 10).await?, []);
    assert_eq!(store.chunk_vectors(&stage.other, MODEL, 0, 10).await?, []);
    let embedded = store.embedded_memories(scope, MODEL).await?;
    assert_eq!(embedded, DiaryCoverage { memories: 1, embedded: 1 });
    let pieces = store.chunks_numbered(scope, MODEL, &[number, number + 1]).await?;
    assert_eq!(pieces.len(), 1);
    assert_eq!((&pieces[0].author, pieces[0].embedding.as_ref()), (&laptop_instance()?, Some(&vector)));

    assert_eq!(store.purge_chunk_vectors(scope).await?, 1);
    assert_eq!(unread(scope, 0).await?, waiting);
    put_version(store, scope, &day, "- coffee", 2).await?;
    assert_eq!(store.chunks_numbered(scope, MODEL, &[number]).await?, []);
    assert_eq!(store.search_chunks(scope, &tea, 5).await?.hits[0].seqs.len(), 0);
    Ok(())
}

/// Every event gets one line in the diary, never two. An erased line is removed from every version.
pub async fn the_diary_contains_every_event_once<S: Store + HubStore>(store: &S) -> Outcome {
    let stage = Stage::set(store).await?;
    store.set_own_instance(&laptop_instance()?).await?;
    let (tea, rain) = (stage.remember("tea in Jena", 0).await?, stage.remember("rain in Ulm", 100).await?);
    let waiting = store.events_without_diary(10).await?;
    assert_eq!(waiting.iter().map(|event| event.node).collect::<Vec<_>>(), [tea.id, rain.id]);
    assert_eq!((&waiting[0].scope, waiting[0].description.as_str()), (&stage.scope, "tea in Jena"));
    assert_eq!(store.events_without_diary(1).await?.len(), 1);
    let day = document_name("daily", "2024-10-04_laptop")?;
    let line = |description: &str| format!("- {description} [chat:1] [via:laptop]");
    let line_of_event = |event: &hub::ports::DiaryEvent| DiaryLine {
        document: day.clone(),
        node: event.node,
        session: event.session,
        line: line(&event.description),
    };
    let content = format!("{}\n{}\n", line("tea in Jena"), line("rain in Ulm"));
    let documents = vec![write(&day, vec![laptop_version(&content, 1)?])];
    let lines = waiting.iter().map(line_of_event).collect();
    commit(store, &stage.scope, HubCommit { documents, lines, ..HubCommit::default() }).await?;
    assert_eq!(store.events_without_diary(10).await?, []);

    forget(&stage, Selection { nodes: [tea.id].into(), ..Selection::default() }, ForgetMode::Cascade).await?;
    for version in store.document_versions(&stage.scope, &day, 10).await? {
        let content = version.content.ok_or("the day is there")?;
        assert!(!content.contains("Jena") && content.contains("Ulm"), "{content}");
    }
    let late = HubCommit { lines: vec![line_of_event(&waiting[0])], ..HubCommit::default() };
    let expected = store.hub_state(&stage.scope).await?.revision;
    let outcome = store.commit_hub(&stage.scope, HubCommit { expected, ..late }).await?;
    assert_eq!(outcome, HubCommitOutcome::Changed, "what is forgotten gets no line any more");
    let day = store.document(&stage.scope, &day).await?.ok_or("the day is there")?;
    assert_eq!((day.content().map(str::trim), day.stale), (Some(line("rain in Ulm").as_str()), false));
    Ok(())
}

/// An erased name keeps the latest time of erasure, whatever an older archive contains.
pub async fn an_older_erasure_does_not_undo_a_newer_one<S: Store + HubStore>(store: &S) -> Outcome {
    let stage = Stage::set(store).await?;
    store.set_own_instance(&laptop_instance()?).await?;
    let event = document_name("significant", "2024-10-04_blue-dolphin")?;
    put_version(store, &stage.scope, &event, "# Something", 1).await?;
    let text = Selection { text: Some("blue-dolphin".to_owned()), ..Selection::default() };
    forget(&stage, text, ForgetMode::Cascade).await?;
    let known = store.export_hub(&stage.scope).await?.erased.pop().ok_or("its name is kept as a digest")?;
    let phone: InstanceId = "phone".parse()?;
    let older = ErasedName {
        vector: VersionVector::default().with_change(&phone, 3),
        erased_at: at(-1_000),
        ..known.clone()
    };
    let archive = HubExport { erased: vec![older], ..HubExport::default() };
    let restored = Some(Box::new(archive));
    commit(store, &stage.scope, HubCommit { restored, ..HubCommit::default() }).await?;
    let both = ErasedName { vector: known.vector.clone().with_change(&phone, 3), ..known };
    assert_eq!(store.export_hub(&stage.scope).await?.erased, [both]);
    Ok(())
}
