//! What no peer can send.

use sync::{Actor, HybridTime, Kind, LogEntry, Page, PageError, PageRow, RowKey, RowState, VersionVector};

fn entry(actor: &Actor, index: u64) -> LogEntry {
    let row = RowKey { kind: Kind::Message, id: format!("{index:032x}") };
    LogEntry { actor: actor.clone(), index, time: HybridTime(1), row }
}

#[test]
fn poisoned_numbers_and_foreign_rows_are_refused() {
    let actor = Actor::new("laptop", 7).unwrap();
    let known: VersionVector = [(actor.clone(), 2)].into_iter().collect();
    let page = |entries: Vec<LogEntry>| Page { entries, ..Page::default() };
    assert_eq!(page(vec![entry(&actor, 2), entry(&actor, 3)]).check(&known), Ok(()));
    for index in [0, 4, u64::MAX] {
        assert!(
            matches!(page(vec![entry(&actor, index)]).check(&known), Err(PageError::Gap { .. })),
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
    assert_eq!(with(row(3, 3)).check(&known), Ok(()));
    assert!(matches!(with(row(9, 3)).check(&known), Err(PageError::Foreign(_))));
    assert!(matches!(with(row(3, 1 << 60)).check(&known), Err(PageError::Implausible(_))));
    let many = (3..3_000).map(|index| entry(&actor, index)).collect();
    assert_eq!(page(many).check(&known), Err(PageError::TooLarge));
}

#[test]
fn actors_are_read_as_they_are_written() {
    let actor = Actor::new("kitchen-box", u64::MAX).unwrap();
    assert_eq!(actor.to_string().parse(), Ok(actor));
    for text in ["", "laptop", "laptop~", "laptop~12", "a b~0123456789abcdef", "laptop~0123456789ABCDEF"] {
        assert!(text.parse::<Actor>().is_err(), "{text}");
    }
}
