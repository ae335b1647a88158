//! Laws of recall: the order of writing has no effect, a better match never has a lower score, scopes are separate.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use memory::Scope;
use memory::messages::Role;
use memory::nodes::NodeKind;
use memory::recall::{MessageWeights, RecallRequest, RecallResult, RecallSettings, Signal, Signals, recall};
use memory::vector_index::VectorIndex;
use proptest::prelude::*;

use crate::home::{Home, run, scope};
use crate::recall::NOW;

/// Words from which memories and questions are generated, in both languages.
const WORDS: [&str; 12] = [
    "cat",
    "garden",
    "violin",
    "train",
    "Lisbon",
    "yesterday",
    "小黑",
    "妹妹",
    "大学",
    "钢琴",
    "上海",
    "昨天",
];

/// A generated text: its time, its speaker and its words.
type Memory = (i64, bool, Vec<usize>);

fn text(words: &[usize]) -> String {
    words.iter().map(|word| WORDS[word % WORDS.len()]).collect::<Vec<_>>().join(" ")
}

fn memories() -> impl Strategy<Value = Vec<Memory>> {
    prop::collection::vec((1i64..300, any::<bool>(), prop::collection::vec(0usize..12, 1..5)), 1..12)
}

fn when(hours: i64) -> Timestamp {
    NOW - SignedDuration::from_hours(hours)
}

/// Each memory as a message of a session of its own, and as an event.
fn remember(home: &Home, scope: &Scope, memories: &[Memory]) {
    for (hours, by_user, words) in memories {
        let role = if *by_user { Role::User } else { Role::Persona };
        home.add_message(scope, *hours as u128, role, &text(words), when(*hours));
        home.add_node(scope, NodeKind::Event, &text(words), when(*hours));
    }
}

fn ask(home: &Home, scope: &Scope, words: &[usize]) -> RecallResult {
    let request = RecallRequest {
        scope: scope.clone(),
        text: text(words),
        now: NOW,
        zone: TimeZone::UTC,
        window: Vec::new(),
    };
    run(recall(&home.store, &VectorIndex::default(), None, &RecallSettings::default(), request)).unwrap()
}

/// Text, time, score and result of a candidate.
type SeenCandidate = (String, Timestamp, String, bool);

/// Everything that a recall returns except the ids, which are numbered in the order of writing.
fn seen(recalled: &RecallResult) -> (Vec<SeenCandidate>, bool, String) {
    let candidates = recalled.candidates.iter();
    let rows =
        candidates.map(|c| (c.text.clone(), c.created_at, format!("{:.9} {}", c.total, c.type_name), c.used));
    (rows.collect(), recalled.nothing_found, format!("{:.9}", recalled.support))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_order_of_writing_does_not_show(
        memories in memories(),
        question in prop::collection::vec(0usize..12, 1..5),
    ) {
        // Two memories with the same time have no order except that of writing.
        let mut distinct: Vec<Memory> = memories;
        distinct.sort();
        distinct.dedup_by_key(|memory| memory.0);
        let home = Home::shared();
        let (first, second) = (home.new_scope(), home.new_scope());
        remember(home, &first, &distinct);
        distinct.reverse();
        remember(home, &second, &distinct);
        prop_assert_eq!(seen(&ask(home, &first, &question)), seen(&ask(home, &second, &question)));
    }

    #[test]
    fn two_users_with_the_same_words_do_not_see_each_other(
        mine in memories(),
        theirs in memories(),
        question in prop::collection::vec(0usize..12, 1..5),
    ) {
        let home = Home::shared();
        let (alone, me, them) = (home.new_scope(), home.new_scope(), home.new_scope());
        remember(home, &alone, &mine);
        remember(home, &them, &theirs);
        remember(home, &me, &mine);
        remember(home, &them, &mine);
        // Not even a score depends on the other user.
        prop_assert_eq!(seen(&ask(home, &alone, &question)), seen(&ask(home, &me, &question)));
    }

    #[test]
    fn a_total_grows_with_each_signal_of_positive_weight(
        values in prop::collection::vec(-1.0f64..2.0, Signal::ALL.len()),
        more in 0.001f64..1.0,
    ) {
        let mut signals = Signals::default();
        for (signal, value) in Signal::ALL.into_iter().zip(values) {
            signals[signal] = value;
        }
        let weights = MessageWeights::default();
        for signal in Signal::ALL {
            let mut greater = signals;
            greater[signal] += more;
            let grows = greater.total(&weights) > signals.total(&weights);
            prop_assert_eq!(grows, weights[signal] > 0.0, "{}", signal.name());
        }
    }

    #[test]
    fn one_more_word_of_the_question_never_fits_less(
        words in prop::collection::vec(0usize..5, 1..5),
        other in 5usize..12,
    ) {
        let home = Home::shared();
        let support = |said: &[usize]| {
            let me = home.new_scope();
            home.add_message(&me, 1, Role::User, &text(said), when(9));
            ask(home, &me, &words).support
        };
        let (all, some) = (support(&words), support(&words[1..].iter().copied().chain([other]).collect::<Vec<_>>()));
        prop_assert!(all >= some, "{all} {some}");
    }
}

#[test]
fn absence_is_stated_in_both_languages() {
    let (home, me) = (Home::new(), scope("me"));
    home.add_message(&me, 1, Role::User, "my cat sleeps in the garden", when(30));
    home.add_message(&me, 2, Role::User, "我妹妹在上海读大学", when(20));
    let nothing_found = |question: &str| {
        let request = RecallRequest {
            scope: me.clone(),
            text: question.to_owned(),
            now: NOW,
            zone: TimeZone::UTC,
            window: Vec::new(),
        };
        run(recall(&home.store, &VectorIndex::default(), None, &RecallSettings::default(), request))
            .unwrap()
            .nothing_found
    };
    assert!(nothing_found("When is my dentist appointment?"));
    assert!(nothing_found("我的钢琴考试是哪天?"));
    assert!(!nothing_found("Where does my cat sleep?"));
    assert!(!nothing_found("我妹妹在哪里读大学?"));
    // A text without a specific question reports nothing as missing.
    assert!(!nothing_found("hello") && !nothing_found("你还记得我吗"));
}
