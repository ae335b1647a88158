//! Convergence in every order, idempotence, nothing lost, and erasure that wins.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use sync::{
    Actor, Erasures, Field, Head, HybridTime, Kind, LogEntry, RowKey, RowState, Stamp, disputed_actors, merge,
};

/// A home: rows by id, what it has erased or heard erased, and its clock.
#[derive(Clone)]
struct Home {
    actor: Actor,
    index: u64,
    clock: HybridTime,
    skew: i64,
    rows: BTreeMap<String, RowState>,
    erased: BTreeSet<String>,
    lost: BTreeSet<String>,
}

/// What a home can tell another.
/// What a home holds at a moment: its rows and what it erased.
type Snapshot = (BTreeMap<String, RowState>, BTreeSet<String>);

#[derive(Clone, Debug)]
enum Step {
    Write { home: Index, row: u8, field: u8 },
    Unset { home: Index, row: u8, field: u8 },
    Erase { home: Index, row: u8 },
    Note { home: Index },
    Deliver { from: Index, to: Index },
    DeliverOld { note: Index, to: Index },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (any::<Index>(), 0u8..4, 0u8..3).prop_map(|(home, row, field)| Step::Write { home, row, field }),
        1 => (any::<Index>(), 0u8..4, 0u8..3).prop_map(|(home, row, field)| Step::Unset { home, row, field }),
        1 => (any::<Index>(), 0u8..4).prop_map(|(home, row)| Step::Erase { home, row }),
        2 => any::<Index>().prop_map(|home| Step::Note { home }),
        4 => (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Step::Deliver { from, to }),
        2 => (any::<Index>(), any::<Index>()).prop_map(|(note, to)| Step::DeliverOld { note, to }),
    ];
    prop::collection::vec(step, 1..60)
}

impl Home {
    fn new(number: u64, skew: i64) -> Self {
        Self {
            actor: Actor::new("home", number).unwrap(),
            index: 0,
            clock: HybridTime(0),
            skew,
            rows: BTreeMap::new(),
            erased: BTreeSet::new(),
            lost: BTreeSet::new(),
        }
    }

    fn write(&mut self, now: i64, row: u8, field: u8, value: Value) {
        let id = format!("row-{row}");
        if self.erased.contains(&id) {
            return;
        }
        self.index += 1;
        self.clock = self.clock.next(now + self.skew);
        let stamp = Stamp { time: self.clock, actor: self.actor.clone(), index: self.index };
        let state = self.rows.entry(id).or_default();
        state.vector.raise(&self.actor, self.index);
        state.fields.insert(format!("field-{field}"), Field { value, stamp });
    }

    fn snapshot(&self) -> Snapshot {
        (self.rows.clone(), self.erased.clone())
    }

    fn receive(&mut self, (rows, erased): &Snapshot) {
        self.erased.extend(erased.iter().cloned());
        self.rows.retain(|id, _| !erased.contains(id));
        let mut erasures = Erasures::default();
        for id in &self.erased {
            erasures.add(RowKey { kind: Kind::Message, id: id.clone() });
        }
        for (id, state) in rows {
            let key = RowKey { kind: Kind::Message, id: id.clone() };
            let Some(state) = erasures.admit(&key, state.clone()) else { continue };
            state.fields.values().for_each(|field| self.clock = self.clock.max(field.stamp.time));
            let local = self.rows.get(id).cloned().unwrap_or_default();
            let merged = merge(&local, &state);
            self.lost.extend(merged.conflicts.iter().map(|conflict| conflict.lost.value.to_string()));
            self.rows.insert(id.clone(), merged.state);
        }
    }
}

/// Plays the steps on three homes whose clocks are a year apart. Returns them and all values that were written.
fn play(steps: &[Step]) -> (Vec<Home>, Vec<(String, String, String)>) {
    const YEAR: i64 = 365 * 24 * 60 * 60 * 1_000_000;
    let mut homes = vec![Home::new(1, 0), Home::new(2, YEAR), Home::new(3, -YEAR)];
    let mut notes: Vec<Snapshot> = Vec::new();
    let mut written = Vec::new();
    for (now, step) in steps.iter().enumerate() {
        let at = 2 * YEAR + now as i64;
        match step {
            Step::Write { home, row, field } => {
                let value = json!(format!("value {now}"));
                written.push((format!("row-{row}"), format!("field-{field}"), value.to_string()));
                home.get_mut(&mut homes).write(at, *row, *field, value);
            }
            Step::Unset { home, row, field } => home.get_mut(&mut homes).write(at, *row, *field, Value::Null),
            Step::Erase { home, row } => {
                let home = home.get_mut(&mut homes);
                if home.rows.remove(&format!("row-{row}")).is_some() {
                    home.erased.insert(format!("row-{row}"));
                }
            }
            Step::Note { home } => notes.push(home.get(&homes).snapshot()),
            Step::Deliver { from, to } => {
                let snapshot = from.get(&homes).snapshot();
                to.get_mut(&mut homes).receive(&snapshot);
            }
            Step::DeliverOld { note, to } if !notes.is_empty() => {
                let snapshot = note.get(&notes).clone();
                to.get_mut(&mut homes).receive(&snapshot);
            }
            Step::DeliverOld { .. } => {}
        }
    }
    (homes, written)
}

/// All meet all, twice.
fn heal(homes: &mut [Home], order: &[usize]) {
    for _ in 0..2 {
        for from in order {
            let snapshot = homes[*from].snapshot();
            homes.iter_mut().for_each(|home| home.receive(&snapshot));
        }
    }
}

proptest! {
    #[test]
    fn homes_that_met_hold_the_same_in_every_order(steps in steps()) {
        let (homes, _) = play(&steps);
        let mut results = Vec::new();
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
            let mut homes = homes.clone();
            heal(&mut homes, &order);
            results.extend(homes.into_iter().map(|home| (home.rows, home.erased)));
        }
        for result in &results {
            prop_assert_eq!(result, &results[0]);
        }
    }

    #[test]
    fn a_state_heard_twice_changes_nothing(steps in steps()) {
        let (mut homes, _) = play(&steps);
        heal(&mut homes, &[0, 1, 2]);
        let before = homes[0].snapshot();
        let snapshot = homes[1].snapshot();
        homes[0].receive(&snapshot);
        homes[0].receive(&snapshot);
        prop_assert_eq!(before, homes[0].snapshot());
    }

    #[test]
    fn what_was_erased_returns_in_no_order(steps in steps()) {
        let (mut homes, _) = play(&steps);
        let erased: BTreeSet<String> = homes.iter().flat_map(|home| home.erased.clone()).collect();
        heal(&mut homes, &[2, 0, 1]);
        for home in &homes {
            prop_assert!(erased.iter().all(|id| !home.rows.contains_key(id)));
        }
    }

    /// The last value of a field is shown, or some home has noticed that it lost against a concurrent one.
    #[test]
    fn no_written_value_is_lost(steps in steps()) {
        let takes_away = |step: &Step| matches!(step, Step::Unset { .. } | Step::Erase { .. });
        let steps: Vec<Step> = steps.into_iter().filter(|step| !takes_away(step)).collect();
        let (mut homes, written) = play(&steps);
        heal(&mut homes, &[0, 1, 2]);
        let last_of_each: BTreeMap<(String, String), String> =
            written.iter().map(|(row, field, value)| ((row.clone(), field.clone()), value.clone())).collect();
        for ((row, field), value) in last_of_each {
            let shown = homes[0].rows.get(&row).and_then(|state| state.fields.get(&field));
            let is_shown = shown.map(|shown| shown.value.to_string()).as_ref() == Some(&value);
            let is_kept = homes.iter().any(|home| home.lost.contains(&value));
            // The clocks are a year apart: a value that was written last can lose against one that is older.
            prop_assert!(is_shown || is_kept, "{row} {field} {value}");
        }
    }

    #[test]
    fn a_row_without_support_left_is_not_admitted(quotes in 1usize..4, gone in 0usize..4) {
        let actor = Actor::new("home", 1).unwrap();
        let stamp = Stamp { time: HybridTime(1), actor, index: 1 };
        let field = |value: Value| Field { value, stamp: stamp.clone() };
        let mut state = RowState::default();
        state.fields.insert("description".to_owned(), field(json!("secret 0, secret 1, secret 2")));
        let mut erasures = Erasures::default();
        for quote in 0..quotes {
            state.fields.insert(format!("evidence/m{quote}/0/8"), field(json!(format!("secret {quote}"))));
            if quote < gone {
                erasures.add(RowKey { kind: Kind::Message, id: format!("m{quote}") });
            }
        }
        let key = RowKey { kind: Kind::Node, id: "n".to_owned() };
        let admitted = erasures.admit(&key, state);
        prop_assert_eq!(admitted.is_none(), gone >= quotes);
        let text = admitted.map(|state| serde_json::to_string(&state).unwrap()).unwrap_or_default();
        for quote in 0..gone.min(quotes) {
            let secret = format!("secret {quote}");
            prop_assert!(!text.contains(&secret), "{}", text);
        }
    }
}

#[test]
fn a_copied_home_is_noticed_by_its_numbers() {
    let actor = Actor::new("laptop", 1).unwrap();
    let entry = |id: &str| LogEntry {
        actor: actor.clone(),
        index: 5,
        time: HybridTime(9),
        row: RowKey { kind: Kind::Message, id: id.to_owned() },
    };
    let theirs: BTreeMap<Actor, Head> =
        [(actor.clone(), Head { index: 5, digest: entry("a").digest() })].into_iter().collect();
    assert!(disputed_actors(&theirs, |_, _| Some(entry("a").digest())).is_empty());
    assert!(disputed_actors(&theirs, |_, _| None).is_empty());
    assert_eq!(disputed_actors(&theirs, |_, _| Some(entry("b").digest())).len(), 1);
}
