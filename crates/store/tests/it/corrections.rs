//! Laws of changing a memory and undoing the change, for any sequence of changes.

use std::collections::BTreeMap;

use memory::corrections::{ChangeKind, Correction};
use memory::identifiers::{NodeId, SessionId};
use memory::messages::Message;
use memory::nodes::{Evidence, NewNode, NodeKind, Subject};
use memory::ports::{
    CaptureStore, ConsolidationStore, CorrectionStore, Embedding, EvidencedNode, ExtractionCommit,
    MentionMerge, NodeStore, SessionStore,
};
use memory::sessions::{CloseTrigger, SessionPolicy};
use proptest::prelude::*;
use uuid::Uuid;

use crate::home::{Home, at};

/// A change of memories; numbers are indexes into the existing ones.
#[derive(Clone, Debug)]
enum Happening {
    Merge(usize),
    Supersede(usize, usize),
    Correct(usize),
    Undo(usize),
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        (0usize..6).prop_map(Happening::Merge),
        (0usize..6, 0usize..6).prop_map(|(older, newer)| Happening::Supersede(older, newer)),
        (0usize..6).prop_map(Happening::Correct),
        (0usize..6).prop_map(Happening::Undo),
    ]
}

struct Life {
    home: Home,
    nodes: Vec<NodeId>,
    moment: i64,
}

impl Life {
    async fn begin(count: usize) -> Self {
        let mut life = Self { home: Home::open().await, nodes: Vec::new(), moment: 0 };
        for _ in 0..count {
            life.remember().await;
        }
        life
    }

    fn tick(&mut self) -> i64 {
        self.moment += 1;
        self.moment
    }

    fn node(&mut self, message: &Message) -> NewNode {
        let number = self.tick();
        let description = format!("memory number {number}");
        let end = u32::try_from(message.content.chars().count()).unwrap();
        NewNode {
            id: NodeId(Uuid::from_u128(1 << 64 | u128::from(number.unsigned_abs()))),
            kind: NodeKind::Event,
            terms: description.clone(),
            description,
            emotional_impact: i8::try_from(number % 10).unwrap(),
            emotion_tags: Vec::new(),
            relational_tags: Vec::new(),
            subject: Subject::User,
            event_time: None,
            evidence: vec![Evidence {
                message_id: message.id,
                quote: message.content.clone(),
                start: 0,
                end,
            }],
            filling: Vec::new(),
            embedding: Some(Embedding { vector: vec![1.0, 0.0], readability: 1.0 }),
        }
    }

    /// A session of one message, and the extraction from it.
    async fn session(&mut self, fill: impl FnOnce(&mut Self, &Message, &mut ExtractionCommit)) {
        let number = self.tick();
        let mut line = self.home.line(&format!("line {number}"));
        line.created_at = at(number);
        let message = self.home.store.capture(line, SessionPolicy::default(), None).await.unwrap().message;
        let id: SessionId = message.session_id;
        self.home.store.end_session(id, CloseTrigger::Explicit).await.unwrap();
        let session = self.home.store.claim_closing_session(at(number)).await.unwrap().unwrap();
        let mut commit = ExtractionCommit {
            fingerprint: Some("model".to_owned()),
            ..ExtractionCommit::empty(id, self.home.scope.clone(), at(number))
        };
        fill(self, &message, &mut commit);
        self.home.store.commit_extraction(commit).await.unwrap();
        testkit::replace_waiting(&self.home.store, &session, at(number)).await.unwrap();
        self.home.store.finish_session(id, at(number)).await.unwrap();
    }

    async fn remember(&mut self) {
        self.session(|life, message, commit| {
            let node = life.node(message);
            life.nodes.push(node.id);
            commit.nodes = vec![node];
        })
        .await;
    }

    async fn happens(&mut self, happening: &Happening) {
        match *happening {
            Happening::Merge(place) => {
                let node_id = self.nodes[place % self.nodes.len()];
                self.session(|life, message, commit| {
                    let merged = life.node(message);
                    commit.mentions = vec![MentionMerge { node_id, merged }];
                })
                .await;
            }
            Happening::Supersede(older, newer) => {
                let (older, newer) =
                    (self.nodes[older % self.nodes.len()], self.nodes[newer % self.nodes.len()]);
                self.session(|_, _, commit| commit.pairs = vec![testkit::pair(newer, older)]).await;
            }
            Happening::Correct(place) => {
                let number = self.tick();
                let text = format!("corrected {number}");
                let correction = Correction {
                    node_id: self.nodes[place % self.nodes.len()],
                    terms: text.clone(),
                    text,
                    relational_tags: Vec::new(),
                    entities: Vec::new(),
                    embedding: None,
                    at: at(number),
                };
                self.home.store.correct_node(correction).await.unwrap().unwrap();
            }
            Happening::Undo(place) => {
                let (id, now) = (self.nodes[place % self.nodes.len()], self.tick());
                let undone = self.home.store.undo_last_change(id, at(now)).await.unwrap();
                if let Some(undone) = undone
                    && undone.kind == ChangeKind::MentionMerge
                {
                    self.nodes.extend(undone.restored.map(|node| node.id));
                }
            }
        }
    }

    async fn state(&self) -> BTreeMap<NodeId, EvidencedNode> {
        let mut state = BTreeMap::new();
        for id in &self.nodes {
            state.insert(*id, self.home.store.node(*id).await.unwrap().unwrap());
        }
        state
    }

    /// No memory is among its own replacements.
    async fn is_acyclic(&self) -> bool {
        let state = self.state().await;
        self.nodes.iter().all(|start| {
            let mut at = state[start].node.superseded_by;
            let mut steps = 0;
            while let Some(next) = at {
                steps += 1;
                if next == *start || steps > self.nodes.len() {
                    return false;
                }
                at = state[&next].node.superseded_by;
            }
            true
        })
    }
}

fn run(work: impl Future<Output = Result<(), TestCaseError>>) -> Result<(), TestCaseError> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn supersession_stays_acyclic_and_the_database_consistent(
        happenings in proptest::collection::vec(happening(), 1..12),
    ) {
        run(async {
            let mut life = Life::begin(4).await;
            for happening in &happenings {
                life.happens(happening).await;
                prop_assert!(life.is_acyclic().await, "{:?}", happening);
            }
            let check = life.home.store.check().await.unwrap();
            prop_assert!(check.is_intact(), "{check:?}");
            Ok(())
        })?;
    }

    #[test]
    fn any_change_and_its_undo_are_inverse(
        before in proptest::collection::vec(happening(), 0..6),
        change in happening().prop_filter("a change", |happening| !matches!(happening, Happening::Undo(_))),
    ) {
        run(async {
            let mut life = Life::begin(4).await;
            for happening in &before {
                life.happens(happening).await;
            }
            let state = life.state().await;
            life.happens(&change).await;
            let changed = life.state().await;
            let place = match change {
                Happening::Merge(place) | Happening::Correct(place) | Happening::Supersede(place, _) => place,
                Happening::Undo(_) => 0,
            };
            if changed == state {
                // It was refused: a cycle, or a memory that was replaced before.
                return Ok(());
            }
            life.happens(&Happening::Undo(place % state.len())).await;
            let mut after = life.state().await;
            after.retain(|id, _| state.contains_key(id));
            prop_assert_eq!(after, state);
            Ok(())
        })?;
    }
}
