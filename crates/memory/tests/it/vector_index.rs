//! The vector index over a store that changes.

use std::collections::BTreeMap;

use memory::Scope;
use memory::ports::Corpus;
use memory::vector_index::{VectorIndex, cosine};
use proptest::prelude::*;

use crate::home::{FINGERPRINT, run, scope};
use crate::vector_rows::VectorRows;

fn nearest(index: &VectorIndex, store: &VectorRows, scope: &Scope, query: &[f32], wanted: usize) -> Vec<i64> {
    let found = run(index.nearest(store, scope, Corpus::Messages, FINGERPRINT, query, wanted)).unwrap();
    found.into_iter().map(|(seq, _)| seq).collect()
}

fn put(store: &VectorRows, scope: &Scope, seq: i64, vector: &[f32]) {
    store.put(scope, Corpus::Messages, seq, vector, 1.0);
}

#[test]
fn vectors_that_come_late_and_out_of_order_are_found() {
    let (store, index, me) = (VectorRows::default(), VectorIndex::default(), scope("me"));
    put(&store, &me, 30, &[1.0, 0.0]);
    assert_eq!(nearest(&index, &store, &me, &[1.0, 0.0], 5), [30]);
    put(&store, &me, 10, &[1.0, 0.0]);
    put(&store, &me, 20, &[0.8, 0.6]);
    assert_eq!(nearest(&index, &store, &me, &[1.0, 0.0], 5), [30, 10, 20]);
    put(&store, &me, 30, &[0.0, 1.0]);
    assert_eq!(nearest(&index, &store, &me, &[1.0, 0.0], 5), [10, 20, 30]);
}

#[test]
fn deleted_rows_are_not_found_and_leave_the_memory() {
    let (store, index, me) = (VectorRows::default(), VectorIndex::default(), scope("me"));
    (1..=3).for_each(|seq| put(&store, &me, seq, &[1.0, 0.0]));
    assert_eq!(nearest(&index, &store, &me, &[1.0, 0.0], 5), [3, 2, 1]);
    let before = index.bytes();
    store.delete(2);
    assert_eq!(nearest(&index, &store, &me, &[1.0, 0.0], 5), [3, 1]);
    assert!(index.bytes() < before);
    let before = index.bytes();
    index.forget(&me, Corpus::Messages, &[3]);
    assert!(index.bytes() < before);
}

#[test]
fn a_row_that_is_taken_out_after_it_got_its_new_vector_is_found_again() {
    let (index, store, scope) = (VectorIndex::default(), VectorRows::default(), scope("ann"));
    put(&store, &scope, 1, &[1.0, 0.0, 0.0]);
    assert_eq!(nearest(&index, &store, &scope, &[1.0, 0.0, 0.0], 5), [1]);
    // The text is changed and embedded, a search adds the new vector, and only then the old one is removed.
    put(&store, &scope, 1, &[0.0, 1.0, 0.0]);
    assert_eq!(nearest(&index, &store, &scope, &[0.0, 1.0, 0.0], 5), [1]);
    index.forget(&scope, Corpus::Messages, &[1]);
    assert_eq!(nearest(&index, &store, &scope, &[0.0, 1.0, 0.0], 5), [1]);
}

#[test]
fn unreadable_and_foreign_vectors_are_left_out() {
    let (store, index, me) = (VectorRows::default(), VectorIndex::default(), scope("me"));
    store.put(&me, Corpus::Messages, 1, &[1.0, 0.0], 0.59);
    store.put(&me, Corpus::Messages, 2, &[1.0, 0.0], 0.6);
    store.put(&me, Corpus::Nodes, 3, &[1.0, 0.0], 1.0);
    put(&store, &scope("other"), 4, &[1.0, 0.0]);
    assert_eq!(nearest(&index, &store, &me, &[1.0, 0.0], 5), [2]);
    let of_another_model =
        run(index.nearest(&store, &me, Corpus::Messages, "other", &[1.0, 0.0], 5)).unwrap();
    assert!(of_another_model.is_empty());
}

#[test]
fn a_row_that_becomes_unreadable_drops_out() {
    let (store, index, me) = (VectorRows::default(), VectorIndex::default(), scope("me"));
    put(&store, &me, 1, &[1.0, 0.0]);
    assert_eq!(nearest(&index, &store, &me, &[1.0, 0.0], 5), [1]);
    store.put(&me, Corpus::Messages, 1, &[1.0, 0.0], 0.0);
    assert!(nearest(&index, &store, &me, &[1.0, 0.0], 5).is_empty());
}

#[test]
fn the_least_recently_used_scope_is_evicted() {
    let store = VectorRows::default();
    let scopes = ["a", "b", "c"].map(scope);
    for (n, scope) in scopes.iter().enumerate() {
        (0..10).for_each(|row| put(&store, scope, (10 * n + row) as i64, &[1.0, 0.0]));
    }
    let measure = VectorIndex::default();
    assert_eq!(nearest(&measure, &store, &scopes[0], &[1.0, 0.0], 9).len(), 9);
    let index = VectorIndex::new(2 * measure.bytes());
    for scope in &scopes {
        assert_eq!(nearest(&index, &store, scope, &[1.0, 0.0], 20).len(), 10);
        assert!(index.bytes() <= 2 * measure.bytes());
    }
    assert_eq!(nearest(&index, &store, &scopes[0], &[1.0, 0.0], 20).len(), 10, "it is loaded again");
    // Even with a budget of 0, the scope in use is searched.
    assert_eq!(nearest(&VectorIndex::new(0), &store, &scopes[1], &[1.0, 0.0], 20).len(), 10);
}

#[test]
fn many_pages_are_loaded() {
    let (store, index, me) = (VectorRows::default(), VectorIndex::default(), scope("me"));
    for seq in 0..4_100 {
        let angle = seq as f32 / 4_100.0;
        put(&store, &me, seq, &[angle.cos(), angle.sin()]);
    }
    assert_eq!(nearest(&index, &store, &me, &[0.0, 1.0], 3), [4_099, 4_098, 4_097]);
    assert_eq!(nearest(&index, &store, &me, &[0.0, 1.0], 9_999).len(), 4_100);
}

#[test]
fn of_messages_only_the_newest_are_loaded() {
    let (store, me) = (VectorRows::default(), scope("me"));
    // The newest rows got their vectors first, as after a change of the model.
    store.put_each(&me, (0..100_100).rev(), &[1.0, 0.0]);
    let loaded = |index: &VectorIndex| run(index.load(&store, &me, Corpus::Messages, FINGERPRINT)).unwrap();
    let index = VectorIndex::default();
    let vectors = loaded(&index);
    let there = |seq: i64| vectors.cosine_ranges(&[1.0, 0.0], &[seq])[0].is_some();
    assert!(there(100_099) && there(100) && !there(99));
    assert_eq!(loaded(&VectorIndex::default()).nearest(&[1.0, 0.0], 2), [100_099, 100_098]);
    // Rows that are written later are added, whatever their number.
    put(&store, &me, 3, &[1.0, 0.0]);
    put(&store, &me, 100_100, &[1.0, 0.0]);
    let vectors = loaded(&index);
    assert!(vectors.cosine_ranges(&[1.0, 0.0], &[3, 100_100]).iter().all(Option::is_some));
    index.forget(&me, Corpus::Messages, &[100_100]);
    assert_eq!(vectors.cosine_ranges(&[1.0, 0.0], &[100_100]), [None]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_answer_is_the_exact_one(
        rows in prop::collection::vec(prop::collection::vec(-1.0f32..1.0, 8), 1..150),
        query in prop::collection::vec(-1.0f32..1.0, 8),
    ) {
        let unit = |vector: &[f32]| {
            let length = vector.iter().map(|c| c * c).sum::<f32>().sqrt().max(1e-6);
            vector.iter().map(|c| c / length).collect::<Vec<f32>>()
        };
        let (store, index, me) = (VectorRows::default(), VectorIndex::default(), scope("me"));
        let rows: Vec<Vec<f32>> = rows.iter().map(|row| unit(row)).collect();
        rows.iter().enumerate().for_each(|(seq, row)| put(&store, &me, seq as i64, row));
        let query = unit(&query);
        let mut exact: Vec<f32> = rows.iter().map(|row| cosine(row, &query)).collect();
        exact.sort_unstable_by(|a, b| b.total_cmp(a));
        let found = run(index.nearest(&store, &me, Corpus::Messages, FINGERPRINT, &query, 5)).unwrap();
        let cosines: Vec<f32> = found.into_iter().map(|(_, cosine)| cosine).collect();
        prop_assert_eq!(&cosines[..], &exact[..rows.len().min(5)]);

        // With a floor, no row above it is missed.
        let floor = exact[exact.len() / 4];
        let loaded = run(index.load(&store, &me, Corpus::Messages, FINGERPRINT)).unwrap();
        let found = run(loaded.exactly_nearest(&store, &[&query, &[]], floor, 5)).unwrap();
        let reaching = |found: &Vec<(i64, f32)>| -> Vec<f32> {
            found.iter().map(|(_, cosine)| *cosine).filter(|cosine| *cosine >= floor).collect()
        };
        let wanted: Vec<f32> = exact.iter().copied().filter(|cosine| *cosine >= floor).take(5).collect();
        prop_assert_eq!(found.iter().map(reaching).collect::<Vec<_>>(), [wanted, Vec::new()]);
    }
}

/// Changes of the vectors of two users.
#[derive(Clone, Debug)]
enum Step {
    Put { user: usize, seq: i64, vector: Vec<f32>, readable: bool },
    Delete { seq: i64 },
    Forget { user: usize, seq: i64 },
    Search { user: usize },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let user = 0usize..3;
    // Few numbers, so that rows are rewritten, and each number belongs to one user.
    let seq = |user: usize, number: i64| number * 3 + user as i64;
    let put = (user.clone(), 0i64..8, prop::collection::vec(-1.0f32..1.0, 4), prop::bool::weighted(0.9))
        .prop_map(move |(user, number, vector, readable)| Step::Put {
            user,
            seq: seq(user, number),
            vector: unit(&vector),
            readable,
        });
    let delete =
        (user.clone(), 0i64..8).prop_map(move |(user, number)| Step::Delete { seq: seq(user, number) });
    let forget =
        (user.clone(), 0i64..8).prop_map(move |(user, number)| Step::Forget { user, seq: seq(user, number) });
    let search = user.prop_map(|user| Step::Search { user });
    prop::collection::vec(prop_oneof![5 => put, 2 => delete, 1 => forget, 2 => search], 1..60)
}

fn unit(vector: &[f32]) -> Vec<f32> {
    let length = vector.iter().map(|c| c * c).sum::<f32>().sqrt().max(1e-6);
    vector.iter().map(|c| c / length).collect()
}

fn all_of(index: &VectorIndex, store: &VectorRows, scope: &Scope, query: &[f32]) -> Vec<(i64, f32)> {
    run(index.nearest(store, scope, Corpus::Messages, FINGERPRINT, query, 100)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever was written, deleted and searched in between, three indexes give the same correct result: one that
    /// processed every change, one with a budget of 0, and a new one.
    #[test]
    fn a_life_of_changes_leaves_the_same_answers(steps in steps(), query in prop::collection::vec(-1.0f32..1.0, 4)) {
        let store = VectorRows::default();
        let scopes = ["a", "b", "c"].map(scope);
        let (lived, cramped) = (VectorIndex::default(), VectorIndex::new(0));
        let query = unit(&query);
        let mut truth: BTreeMap<i64, (usize, Vec<f32>, bool)> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Put { user, seq, vector, readable } => {
                    store.put(&scopes[user], Corpus::Messages, seq, &vector, if readable { 1.0 } else { 0.3 });
                    truth.insert(seq, (user, vector, readable));
                }
                Step::Delete { seq } => {
                    store.delete(seq);
                    truth.remove(&seq);
                }
                // An erasure removes the row from the store and from the index in memory.
                Step::Forget { user, seq } => {
                    store.delete(seq);
                    truth.remove(&seq);
                    lived.forget(&scopes[user], Corpus::Messages, &[seq]);
                }
                Step::Search { user } => {
                    let found = all_of(&lived, &store, &scopes[user], &query);
                    prop_assert!(found.iter().all(|(seq, _)| truth.contains_key(seq)), "a deleted row came back");
                    prop_assert_eq!(&found, &all_of(&cramped, &store, &scopes[user], &query));
                }
            }
        }
        for (user, scope) in scopes.iter().enumerate() {
            let found = all_of(&lived, &store, scope, &query);
            prop_assert_eq!(&found, &all_of(&VectorIndex::default(), &store, scope, &query));
            prop_assert_eq!(&found, &all_of(&cramped, &store, scope, &query));
            let mut seqs: Vec<i64> = found.iter().map(|(seq, _)| *seq).collect();
            seqs.sort_unstable();
            let expected: Vec<i64> =
                truth.iter().filter(|(_, (of, _, readable))| *of == user && *readable).map(|(seq, _)| *seq).collect();
            prop_assert_eq!(seqs, expected);
        }
    }

    /// The order in which rows got their vectors has no effect.
    #[test]
    fn the_order_of_writing_does_not_show(
        rows in prop::collection::vec(prop::collection::vec(-2i8..2, 4), 1..80),
        query in prop::collection::vec(-1.0f32..1.0, 4),
        wanted in 1usize..12,
    ) {
        let me = scope("me");
        let vector = |row: &[i8]| unit(&row.iter().map(|c| f32::from(*c) + 0.5).collect::<Vec<f32>>());
        let (forward, backward) = (VectorRows::default(), VectorRows::default());
        for (seq, row) in (0i64..).zip(&rows) {
            put(&forward, &me, seq, &vector(row));
        }
        for (seq, row) in (0i64..).zip(&rows).collect::<Vec<_>>().into_iter().rev() {
            put(&backward, &me, seq, &vector(row));
        }
        let query = unit(&query);
        let found = nearest(&VectorIndex::default(), &forward, &me, &query, wanted);
        prop_assert_eq!(found, nearest(&VectorIndex::default(), &backward, &me, &query, wanted));
    }
}

#[test]
fn matrices_of_a_replaced_model_are_removed() {
    let (store, index, me) = (VectorRows::default(), VectorIndex::default(), scope("me"));
    put(&store, &me, 1, &[1.0, 0.0]);
    nearest(&index, &store, &me, &[1.0, 0.0], 5);
    assert!(index.bytes() > 0);
    index.retain_only(FINGERPRINT);
    assert!(index.bytes() > 0);
    index.retain_only("the next model");
    assert_eq!(index.bytes(), 0);
    assert_eq!(nearest(&index, &store, &me, &[1.0, 0.0], 5), [1]);
}
