//! Laws of erasure on a real file: the order has no effect on the result, the preview matches it, and no byte of the
//! text is left.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::date;
use memory::entities::EntityKind;
use memory::forget::{ForgetMode, ForgetOutcome, ForgetRequest, ForgetSummary, Selection};
use memory::identifiers::{EntityId, MessageId, NodeId, ReflectionId, RejectedId, SessionId, TurnId};
use memory::messages::{Message, Role};
use memory::mood::Mood;
use memory::nodes::{Evidence, NewNode, NodeKind, Proposal, RejectedMemory, RejectedQuote, Subject};
use memory::ports::{
    CaptureStore, ConsolidationStore, Embedding, ExtractionCommit, ForgetStore, MentionMerge, NewEntity,
    NewMessage, PersonaStore, ReflectionCommit, SessionStore, UserStore,
};
use memory::sessions::{CloseTrigger, SessionPolicy};
use memory::text::index_terms;
use memory::{PersonaId, Scope, UserId};
use proptest::prelude::*;
use rusqlite::Connection;
use store::{HomeStore, StoreOptions};
use tempfile::TempDir;
use uuid::Uuid;

use crate::home::at;

const WORDS: [&str; 8] = ["cat", "Coal", "小黑", "rain", "chess", "Tom", "搬家", "night"];

/// A session: messages as lists of words, and events as lists of the messages they quote, each with the words of all
/// messages.
#[derive(Clone, Debug)]
pub(crate) struct Talk {
    lines: Vec<Vec<usize>>,
    events: Vec<Vec<usize>>,
}

fn talk() -> impl Strategy<Value = Talk> {
    let line = proptest::collection::vec(0..WORDS.len(), 1..4);
    let quotes = proptest::collection::vec(0usize..4, 1..3);
    (proptest::collection::vec(line, 1..4), proptest::collection::vec(quotes, 0..3))
        .prop_map(|(lines, events)| Talk { lines, events })
}

pub(crate) struct Life {
    pub(crate) folder: TempDir,
    pub(crate) store: HomeStore,
    pub(crate) scope: Scope,
    made: u128,
    pub(crate) messages: Vec<Message>,
    nodes: Vec<NodeId>,
}

impl Life {
    pub(crate) async fn lived(talks: &[Talk]) -> Self {
        let folder = TempDir::new().unwrap();
        let store = HomeStore::open(&folder.path().join("home.db"), StoreOptions::default()).unwrap();
        let scope = Scope::new(PersonaId::new("luna").unwrap(), UserId::new("self").unwrap());
        store.ensure_persona(&scope.persona, "Luna", at(0)).await.unwrap();
        store.ensure_user(&scope.user, at(0)).await.unwrap();
        let mut life = Self { folder, store, scope, made: 0, messages: Vec::new(), nodes: Vec::new() };
        for talk in talks {
            life.live(talk).await;
        }
        life
    }

    pub(crate) fn id(&mut self) -> Uuid {
        self.made += 1;
        Uuid::from_u128(self.made)
    }

    pub(crate) async fn say(&mut self, content: &str, role: Role, turn: TurnId) -> Message {
        let line = NewMessage {
            id: MessageId(self.id()),
            session_id_if_new: SessionId(self.id()),
            scope: self.scope.clone(),
            channel_id: "web".to_owned(),
            turn_id: Some(turn),
            role,
            speaker: None,
            content: content.to_owned(),
            token_count: 3,
            terms: index_terms(content),
            day: date(2024, 10, 4),
            created_at: at(1),
            incomplete: false,
            external_ref: None,
            channel_write: None,
        };
        let said = self.store.capture(line, SessionPolicy::default(), None).await.unwrap().message;
        self.messages.push(said.clone());
        said
    }

    fn node(&mut self, kind: NodeKind, description: &str) -> NewNode {
        let node = NewNode {
            id: NodeId(self.id()),
            kind,
            description: description.to_owned(),
            emotional_impact: 1,
            emotion_tags: Vec::new(),
            relational_tags: Vec::new(),
            subject: Subject::User,
            event_time: None,
            evidence: Vec::new(),
            filling: Vec::new(),
            terms: index_terms(description),
            embedding: Some(Embedding { vector: vec![1.0, 0.0], readability: 1.0 }),
        };
        self.nodes.push(node.id);
        node
    }

    /// A conversation and everything that is derived from it: events with quotes, names, a mention of an earlier
    /// event, a refused memory, a summary, a mood, and a thought about the events.
    async fn live(&mut self, talk: &Talk) {
        let (mut said, turn) = (Vec::new(), TurnId(self.id()));
        for (number, line) in talk.lines.iter().enumerate() {
            let content = line.iter().map(|word| WORDS[*word]).collect::<Vec<_>>().join(" ");
            let role = if number % 3 == 2 { Role::Persona } else { Role::User };
            said.push(self.say(&content, role, turn).await);
        }
        let session_id = said[0].session_id;
        self.store.end_session(session_id, CloseTrigger::Explicit).await.unwrap();
        let session = self.store.claim_closing_session(at(2)).await.unwrap().unwrap();
        let everything =
            said.iter().map(|message| message.content.as_str()).collect::<Vec<_>>().join(" and ");
        let earlier = self.nodes.first().copied();
        let mut commit = extraction(session_id, &self.scope);
        for quotes in &talk.events {
            let mut event = self.node(NodeKind::Event, &format!("The user spoke of {everything}"));
            let quoted: BTreeSet<usize> = quotes.iter().map(|quote| quote % said.len()).collect();
            event.evidence = quoted.iter().map(|quote| whole(&said[*quote])).collect();
            for name in ["Coal", "小黑", "Tom"].into_iter().filter(|name| everything.contains(name)) {
                let id = EntityId(Uuid::from_u128(9_000_000 + u128::from(name.as_bytes()[0])));
                let kind = EntityKind::Other;
                if commit.entities.iter().all(|entity| entity.id != id) && !self.knows(id) {
                    commit.entities.push(NewEntity::settled(id, name, kind));
                }
                commit.links.push((event.id, id));
            }
            commit.nodes.push(event);
        }
        if let Some(node_id) = earlier {
            let description = format!("The user spoke again of {everything}");
            let merged = self.node(NodeKind::Event, &description);
            self.nodes.pop();
            let merged = NewNode { evidence: vec![whole(&said[0])], ..merged };
            commit.mentions.push(MentionMerge { node_id, merged });
        }
        if let (Some(older), Some(newer)) = (earlier, commit.nodes.first()) {
            commit.pairs.push(testkit::pair(newer.id, older));
        }
        commit.rejected.push(RejectedMemory {
            id: RejectedId(self.id()),
            session_id,
            description: format!("A dog, {}", said[0].content),
            emotional_impact: None,
            evidence: vec![RejectedQuote { message_id: None, quote: "dog".to_owned() }],
            reason: "nobody said it".to_owned(),
            created_at: at(3),
            proposal: Proposal::default(),
        });
        commit.summary = Some(everything);
        commit.mood = Some(Mood::from_signal("calm", 5, Some("at ease"), at(3)));
        let events: Vec<NodeId> = commit.nodes.iter().map(|node| node.id).collect();
        self.store.commit_extraction(commit).await.unwrap();
        testkit::replace_waiting(&self.store, &session, at(3)).await.unwrap();
        let mut thought = self.node(NodeKind::Thought, "The user notices things");
        thought.filling = events.into_iter().chain(earlier).collect();
        let reflection = ReflectionCommit {
            session_id,
            scope: self.scope.clone(),
            id: ReflectionId(self.id()),
            at: at(4),
            thoughts: vec![thought],
            fingerprint: Some("two".to_owned()),
        };
        self.store.commit_reflection(reflection).await.unwrap();
        self.store.finish_session(session_id, at(5)).await.unwrap();
    }

    fn knows(&self, entity: EntityId) -> bool {
        let file = Connection::open(self.folder.path().join("home.db")).unwrap();
        file.query_row(
            "SELECT EXISTS (SELECT 1 FROM entities WHERE id = ?1)",
            [entity.0.into_bytes()],
            |row| row.get(0),
        )
        .unwrap()
    }

    pub(crate) fn act(&self, selection: Selection, thoughts: ForgetMode) -> ForgetRequest {
        ForgetRequest { scope: self.scope.clone(), selection, thoughts, at: at(9) }
    }

    pub(crate) async fn forget(&self, selection: Selection, thoughts: ForgetMode) -> ForgetSummary {
        let act = self.act(selection, thoughts);
        let promised = self.store.preview_forgetting(act.clone()).await.unwrap();
        match self.store.forget(act, None, None).await.unwrap() {
            ForgetOutcome::Done(forgotten) => {
                assert_eq!(forgotten.taken, promised);
                forgotten.taken
            }
            ForgetOutcome::Changed | ForgetOutcome::Nothing(_) => panic!("nothing was expected"),
        }
    }

    /// All memory rows as text. Tombstones and the numbers of vector writes are not memory.
    fn state(&self) -> BTreeMap<String, Vec<String>> {
        let file = Connection::open(self.folder.path().join("home.db")).unwrap();
        // The diary entry is still to be written, with no line in it yet.
        let untold = "SELECT node_seq AS seq FROM hub_untold ORDER BY seq";
        let without_line = "SELECT seq FROM concept_nodes n WHERE type = 'event' AND deleted_at IS NULL
            AND source_session_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM hub_lines l WHERE l.node_id = n.id)
            ORDER BY seq";
        assert_eq!(rows(&file, untold), rows(&file, without_line));
        let mut tables: Vec<String> = file
            .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE '%_words%'")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        tables.retain(|name| !["tombstones", "erasure_receipts", "overwriting_due"].contains(&name.as_str()));
        let mut state = BTreeMap::new();
        for table in tables {
            state.insert(table.clone(), rows(&file, &format!("SELECT * FROM {table}")));
        }
        for words in ["message_words", "node_words", "hub_words", "hub_gram_words"] {
            file.execute_batch(&format!(
                "CREATE VIRTUAL TABLE temp.{words}_seen USING fts5vocab (main, {words}, instance)"
            ))
            .unwrap();
            state.insert(
                words.to_owned(),
                rows(&file, &format!("SELECT term, doc, offset FROM temp.{words}_seen")),
            );
        }
        state
    }
}

pub(crate) fn rows(file: &Connection, statement: &str) -> Vec<String> {
    let mut statement = file.prepare(statement).unwrap();
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut found: Vec<String> = statement
        .query_map([], |row| {
            let shown = columns.iter().enumerate().filter(|(_, name)| *name != "revision");
            Ok(shown.map(|(place, name)| format!("{name}={:?}", row.get_ref(place).unwrap())).collect())
        })
        .unwrap()
        .map(Result::unwrap)
        .collect();
    found.sort();
    found
}

fn extraction(session_id: SessionId, scope: &Scope) -> ExtractionCommit {
    ExtractionCommit {
        fingerprint: Some("two".to_owned()),
        ..ExtractionCommit::empty(session_id, scope.clone(), at(3))
    }
}

fn whole(message: &Message) -> Evidence {
    let end = u32::try_from(message.content.chars().count()).unwrap();
    Evidence { message_id: message.id, quote: message.content.clone(), start: 0, end }
}

pub(crate) fn one(message: &Message) -> Selection {
    Selection { messages: [message.id].into(), ..Selection::default() }
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(work)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Messages and nodes can be deleted one by one in any order, or all messages at once: the result is the same,
    /// and the database is consistent.
    #[test]
    fn in_any_order_the_same_is_left(
        talks in proptest::collection::vec(talk(), 1..4),
        picks in proptest::collection::vec(0usize..12, 1..6),
        orphans in any::<bool>(),
    ) {
        run(async {
            let choice = if orphans { ForgetMode::Orphan } else { ForgetMode::Cascade };
            let mut ends = Vec::new();
            for order in 0..3 {
                let life = Life::lived(&talks).await;
                let mut picked: Vec<usize> = picks.iter().map(|pick| pick % life.messages.len()).collect();
                match order {
                    0 => {}
                    1 => picked.reverse(),
                    _ => {
                        let together = picked.iter().map(|pick| life.messages[*pick].id).collect();
                        life.forget(Selection { messages: together, ..Selection::default() }, choice).await;
                        picked.clear();
                    }
                }
                for pick in picked {
                    life.forget(one(&life.messages[pick]), choice).await;
                }
                let check = life.store.check().await.unwrap();
                assert!(check.is_intact(), "{check:?}");
                ends.push(life.state());
            }
            for (table, rows) in &ends[0] {
                assert_eq!(rows, &ends[1][table], "{table}, backwards");
                assert_eq!(rows, &ends[2][table], "{table}, at once");
            }
        });
    }

    /// Erased text stays erased: a second erasure finds and changes nothing. The whole database does not contain the
    /// text any more.
    #[test]
    fn erasing_by_text_is_complete_and_idempotent(
        talks in proptest::collection::vec(talk(), 1..4),
        word in 0..WORDS.len(),
    ) {
        run(async {
            let life = Life::lived(&talks).await;
            let folded = memory::text::fold(WORDS[word]);
            let text = || Selection { text: Some(folded.clone()), ..Selection::default() };
            life.forget(text(), ForgetMode::Cascade).await;
            let left = life.state();
            for (table, rows) in left.iter().filter(|(table, _)| !table.starts_with("personas")) {
                let holds = rows.iter().find(|row| memory::text::fold(&readable(row)).contains(&folded));
                assert_eq!(holds, None, "{table} still holds {folded}");
            }
            assert!(life.forget(text(), ForgetMode::Cascade).await.is_empty());
            assert_eq!(life.state(), left);
            let check = life.store.check().await.unwrap();
            assert!(check.is_intact(), "{check:?}");
        });
    }

    /// Erasing all messages leaves nothing that was derived from them.
    #[test]
    fn nothing_is_left_of_nothing(talks in proptest::collection::vec(talk(), 1..3)) {
        run(async {
            let life = Life::lived(&talks).await;
            let everything = life.messages.iter().map(|message| message.id).collect();
            life.forget(Selection { messages: everything, ..Selection::default() }, ForgetMode::Cascade).await;
            let left = life.state();
            for table in ["recall_messages", "concept_nodes", "entities", "entity_aliases", "rejected_memories",
                "mention_merges", "node_evidence", "mood_history", "message_words", "node_words", "node_vectors", "turns"] {
                assert_eq!(left[table], [] as [String; 0], "{table}");
            }
        });
    }
}

/// Converts `Text([228, 189, …])` in a debug output to its text.
fn readable(row: &str) -> String {
    let mut text = String::new();
    for piece in row.split("Text([").skip(1) {
        let bytes = piece.split("])").next().unwrap_or_default();
        let bytes: Vec<u8> = bytes.split(", ").filter_map(|byte| byte.parse().ok()).collect();
        text.push_str(&String::from_utf8_lossy(&bytes));
        text.push('\n');
    }
    text
}
