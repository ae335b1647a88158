//! Old messages are found as well as recent ones, and a short message as well as long ones.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use memory::Scope;
use memory::messages::Role::User;
use memory::recall::{Query, RecallSettings, rank_messages};
use memory::vector_index::VectorIndex;
use proptest::prelude::*;

use crate::fake_store::{FakeStore, run, scope};
use crate::recall::NOW;

/// Adds a message this many hours after the start, in a session of its own.
fn say(store: &FakeStore, scope: &Scope, hours: i64, text: &str) -> i64 {
    let start = NOW - SignedDuration::from_hours(24 * 3_000);
    store.add_message(scope, hours as u128, User, text, start + SignedDuration::from_hours(2 * hours))
}

fn ranking_at(store: &FakeStore, scope: &Scope, text: &str, now: Timestamp) -> Vec<i64> {
    let settings = RecallSettings::default();
    run(async {
        let query = Query::new(text, now, &TimeZone::UTC, &settings, None).await;
        let ranked = rank_messages(store, &VectorIndex::default(), scope, &query, &[], &settings, 50).await;
        ranked.unwrap().into_iter().map(|ranked| ranked.message.seq).collect()
    })
}

fn ranking(store: &FakeStore, scope: &Scope, text: &str) -> Vec<i64> {
    ranking_at(store, scope, text, NOW)
}

#[test]
fn the_only_line_with_both_words_is_found_behind_5000_newer_ones_with_each() {
    let (store, me) = (FakeStore::default(), scope("me"));
    let both = say(&store, &me, 0, "the violin is at the harbour");
    for hour in 1..=10_000 {
        let text = if hour % 2 == 0 { "practised the violin" } else { "walked along the harbour" };
        say(&store, &me, hour, text);
    }
    assert_eq!(ranking(&store, &me, "Where is the violin, at the harbour?")[0], both);
}

#[test]
fn two_words_that_are_too_common_to_read_whole_are_found_together() {
    let (store, me) = (FakeStore::default(), scope("me"));
    let both = say(&store, &me, 0, "the violin is at the harbour");
    for hour in 1..=26_000 {
        say(
            &store,
            &me,
            hour,
            if hour % 2 == 0 { "practised the violin" } else { "walked along the harbour" },
        );
    }
    assert_eq!(ranking(&store, &me, "Where is the violin, at the harbour?")[0], both);
}

#[test]
fn a_short_line_is_not_lost_among_long_ones_that_mention_both_words() {
    let (store, me) = (FakeStore::default(), scope("me"));
    let short = say(&store, &me, 0, "the violin is at the harbour");
    let padding =
        "and then we talked for a while about the weather and the neighbours and the garden ".repeat(6);
    for hour in 1..=120 {
        say(&store, &me, hour, &format!("somebody had a violin {padding} somewhere near the harbour"));
    }
    assert_eq!(ranking(&store, &me, "Where is the violin, at the harbour?")[0], short);
}

#[test]
fn messages_of_a_named_day_are_found_without_common_words() {
    let (store, me) = (FakeStore::default(), scope("me"));
    let mut said = Vec::new();
    for day in 0..400_i64 {
        let at: Timestamp = "2023-01-01T10:00:00Z".parse().unwrap();
        let at = at + SignedDuration::from_hours(24 * day);
        let text = if day == 18 { "we got the keys and slept on the floor" } else { "nothing new today" };
        said.push(store.add_message(&me, day as u128, User, text, at));
    }
    let now: Timestamp = "2024-02-10T12:00:00Z".parse().unwrap();
    assert_eq!(ranking_at(&store, &me, "What happened on 19 January 2023?", now)[0], said[18]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A message is found equally well wherever in the past it is.
    #[test]
    fn its_age_does_not_decide_whether_a_line_is_found(place in 0_i64..2_000) {
        let (store, me) = (FakeStore::default(), scope("me"));
        let mut wanted = 0;
        for hour in 0..2_000 {
            let text = match hour {
                _ if hour == place => "grandmother lent me the violin",
                _ if hour % 2 == 0 => "practised the violin",
                _ => "called my grandmother",
            };
            let seq = say(&store, &me, hour, text);
            wanted = if hour == place { seq } else { wanted };
        }
        prop_assert_eq!(ranking(&store, &me, "Which violin has grandmother lent me?")[0], wanted);
    }
}

#[test]
fn events_told_the_day_after_are_found_by_their_day() {
    let (store, me) = (FakeStore::default(), scope("me"));
    let say = |day: &str, text: &str| {
        let at: Timestamp = format!("2023-01-{day}T10:00:00Z").parse().unwrap();
        store.add_message(&me, day.parse().unwrap(), User, text, at)
    };
    say("12", "the concert was loud");
    let told = say("20", "the concert yesterday was loud");
    say("27", "the concert was loud");
    let now: Timestamp = "2024-02-10T12:00:00Z".parse().unwrap();
    assert_eq!(ranking_at(&store, &me, "Which concert was it on 19.01.2023?", now)[0], told);
}
