//! Merging, separating, naming and describing entities in any order, and undoing all of it.

use memory::entities::{ChangedBy, Entity, EntityChange, EntityKind, EntityUndone};
use memory::identifiers::EntityId;
use memory::ports::{AuthoredEntity, EntityMentions, EntityStore};
use proptest::prelude::*;
use uuid::Uuid;

use crate::home::{Home, at};

const NAMES: [&str; 5] = ["Ines", "小黑", "Kim", "Porto", "Anna"];

#[derive(Clone, Debug)]
enum Act {
    Merge(usize, usize),
    Separate(usize, usize),
    Rename(usize, usize),
    Describe(usize),
}

fn act() -> impl Strategy<Value = Act> {
    let who = || 0..NAMES.len();
    prop_oneof![
        4 => (who(), who()).prop_map(|(a, b)| Act::Merge(a, b)),
        2 => (who(), who()).prop_map(|(a, b)| Act::Separate(a, b)),
        1 => (who(), 0..3_usize).prop_map(|(a, name)| Act::Rename(a, name)),
        1 => who().prop_map(Act::Describe),
    ]
}

fn id(place: usize) -> EntityId {
    EntityId(Uuid::from_u128(u128::try_from(place).unwrap() + 1_000))
}

/// Everything that can be read of the five entities.
async fn view(home: &Home) -> (Vec<Entity>, Vec<EntityMentions>) {
    let mut entities = home.store.entities(&home.scope, 100).await.unwrap();
    entities.sort_by_key(|entity| entity.id);
    let ids: Vec<EntityId> = entities.iter().map(|entity| entity.id).collect();
    let mentions = home.store.entity_mentions(&home.scope, &ids).await.unwrap();
    (entities, mentions)
}

async fn live_and_undo(acts: Vec<Act>) {
    let home = Home::open().await;
    for (place, name) in NAMES.into_iter().enumerate() {
        let entity = AuthoredEntity {
            id: id(place),
            canonical_name: name.to_owned(),
            kind: EntityKind::Other,
            description: (place == 0).then(|| "the owner's".to_owned()),
            aliases: Vec::new(),
        };
        home.store.create_entity(&home.scope, entity, at(0)).await.unwrap();
    }
    let mut views = vec![view(&home).await];
    let mut changed = Vec::new();
    for (seconds, act) in (1..).zip(acts) {
        let (place, change) = match act {
            Act::Merge(a, b) => (a, EntityChange::Merge { other: id(b) }),
            Act::Separate(a, b) => (a, EntityChange::Separate { other: id(b) }),
            Act::Rename(a, name) => (a, EntityChange::Rename { name: format!("name {name}") }),
            Act::Describe(a) => (a, EntityChange::Describe { description: format!("said at {seconds}") }),
        };
        let by = ChangedBy::Owner;
        let outcome =
            home.store.change_entity(&home.scope, id(place), change, by, at(seconds)).await.unwrap();
        if let memory::entities::EntityChanged::Changed(entities) = outcome {
            let named: usize = entities[0].aliases.len();
            assert!(named > 0);
            changed.push(entities[0].id);
            views.push(view(&home).await);
        }
    }
    let aliases =
        |(entities, _): &(Vec<Entity>, _)| -> usize { entities.iter().map(|e| e.aliases.len()).sum() };
    assert!(views.iter().all(|view| aliases(view) >= NAMES.len()), "no name is ever lost");
    for entity in changed.into_iter().rev() {
        assert_eq!(view(&home).await, views.pop().unwrap());
        let outcome = home.store.undo_entity_change(&home.scope, entity).await.unwrap();
        assert!(matches!(outcome, EntityUndone::Undone { .. }), "{outcome:?}");
    }
    assert_eq!(view(&home).await, views.pop().unwrap());
    for place in 0..NAMES.len() {
        let outcome = home.store.undo_entity_change(&home.scope, id(place)).await.unwrap();
        assert_eq!(outcome, EntityUndone::NothingToUndo);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn undo_restores_the_exact_state(acts in prop::collection::vec(act(), 1..12)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(live_and_undo(acts));
    }
}
