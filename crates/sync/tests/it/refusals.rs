//! What no peer can send.

use sync::{
    Actor, Field, HybridTime, Kind, LogEntry, Page, PageError, PageRow, RowKey, RowState, Stamp,
    VersionVector,
};

fn entry(actor: &Actor, index: u64) -> LogEntry {
    let row = RowKey { kind: Kind::Message, id: format!("{index:032x}") };
    LogEntry { actor: actor.clone(), index, time: HybridTime(1), row }
}

#[test]
fn poisoned_numbers_and_foreign_rows_are_refused() {
    let actor = Actor::new("laptop", 7).unwrap();
    let known: VersionVector = [(actor.clone(), 2)].into_iter().collect();
    let page = |entries: Vec<LogEntry>| Page { entries, ..Page::default() };
    assert_eq!(page(vec![entry(&actor, 2), entry(&actor, 3)]).check(&known, None), Ok(()));
    for index in [0, 4, u64::MAX] {
        assert!(
            matches!(page(vec![entry(&actor, index)]).check(&known, None), Err(PageError::Gap { .. })),
            "{index}"
        );
    }
    let row = |index: u64, seen: u64| PageRow {
        key: entry(&actor, index).row,
        persona: None,
        user: None,
        state: RowState { vector: [(actor.clone(), seen)].into_iter().collect(), ..RowState::default() },
    };
    let with = |row: PageRow| Page { entries: vec![entry(&actor, 3)], rows: vec![row], more: false };
    assert_eq!(with(row(3, 3)).check(&known, None), Ok(()));
    assert!(matches!(with(row(9, 3)).check(&known, None), Err(PageError::Foreign(_))));
    assert!(matches!(with(row(3, 1 << 60)).check(&known, None), Err(PageError::Implausible(_))));
    let many = (3..3_000).map(|index| entry(&actor, index)).collect();
    assert_eq!(page(many).check(&known, None), Err(PageError::TooLarge));
}

#[test]
fn changes_in_the_name_of_the_receiving_home_are_refused() {
    let (own, peer) = (Actor::new("laptop", 7).unwrap(), Actor::new("kitchen", 8).unwrap());
    let known: VersionVector = [(own.clone(), 2)].into_iter().collect();
    let check = |entries: Vec<LogEntry>, rows: Vec<PageRow>| {
        Page { entries, rows, more: false }.check(&known, Some(&own))
    };
    assert_eq!(check(vec![entry(&own, 2), entry(&peer, 1)], Vec::new()), Ok(()));
    assert_eq!(check(vec![entry(&own, 3)], Vec::new()), Err(PageError::Forged(3)));
    let row = |state: RowState| PageRow { key: entry(&peer, 1).row, persona: None, user: None, state };
    let seen = |index: u64| RowState {
        vector: [(own.clone(), index), (peer.clone(), 1)].into_iter().collect(),
        ..RowState::default()
    };
    assert_eq!(check(vec![entry(&peer, 1)], vec![row(seen(2))]), Ok(()));
    assert_eq!(check(vec![entry(&peer, 1)], vec![row(seen(9))]), Err(PageError::Forged(9)));
    let stamp = Stamp { time: HybridTime(1), actor: own.clone(), index: 4 };
    let mut written = seen(2);
    written.fields.insert("text".to_owned(), Field { value: serde_json::json!("never said"), stamp });
    assert_eq!(check(vec![entry(&peer, 1)], vec![row(written)]), Err(PageError::Forged(4)));
}

#[test]
fn actors_are_read_as_they_are_written() {
    let actor = Actor::new("kitchen-box", u64::MAX).unwrap();
    assert_eq!(actor.to_string().parse(), Ok(actor));
    for text in ["", "laptop", "laptop~", "laptop~12", "a b~0123456789abcdef", "laptop~0123456789ABCDEF"] {
        assert!(text.parse::<Actor>().is_err(), "{text}");
    }
}
