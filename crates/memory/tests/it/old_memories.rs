//! Old messages are found as well as recent ones, and a short message as well as long ones.

use std::iter::{once, repeat_n};

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use memory::Scope;
use memory::messages::Role::User;
use memory::recall::{Query, RecallSettings, rank_messages};
use memory::vector_index::VectorIndex;
use proptest::prelude::*;

use crate::home::{Home, run, scope};
use crate::recall::NOW;

/// Adds messages of the user, two hours apart, so that each is in a session of its own.
fn say_all<'a>(home: &Home, scope: &Scope, texts: impl IntoIterator<Item = &'a str>) -> Vec<i64> {
    let start = NOW - SignedDuration::from_hours(24 * 3_000);
    let at = |number: i64| start + SignedDuration::from_hours(2 * number);
    let messages: Vec<(Timestamp, &str)> = (0..).map(at).zip(texts).collect();
    home.add_user_messages(scope, &messages)
}

fn ranking_at(home: &Home, scope: &Scope, text: &str, now: Timestamp) -> Vec<i64> {
    let settings = RecallSettings::default();
    run(async {
        let query = Query::new(text, now, &TimeZone::UTC, &settings, None).await;
        let ranked =
            rank_messages(&home.store, &VectorIndex::default(), scope, &query, &[], &settings, 50).await;
        ranked.unwrap().into_iter().map(|ranked| ranked.message.seq).collect()
    })
}

fn ranking(home: &Home, scope: &Scope, text: &str) -> Vec<i64> {
    ranking_at(home, scope, text, NOW)
}

/// A message with both words, and this many later ones with each.
fn both_words_and_later_each(count: usize) -> impl Iterator<Item = &'static str> {
    let later = repeat_n(["walked along the harbour", "practised the violin"], count).flatten();
    once("the violin is at the harbour").chain(later)
}

#[test]
fn the_only_line_with_both_words_is_found_behind_5000_newer_ones_with_each() {
    let (home, me) = (Home::new(), scope("me"));
    let seqs = say_all(&home, &me, both_words_and_later_each(5_000));
    assert_eq!(ranking(&home, &me, "Where is the violin, at the harbour?")[0], seqs[0]);
}

#[test]
fn two_words_that_are_too_common_to_read_whole_are_found_together() {
    let (home, me) = (Home::new(), scope("me"));
    let seqs = say_all(&home, &me, both_words_and_later_each(13_000));
    assert_eq!(ranking(&home, &me, "Where is the violin, at the harbour?")[0], seqs[0]);
}

#[test]
fn a_short_line_is_not_lost_among_long_ones_that_mention_both_words() {
    let (home, me) = (Home::new(), scope("me"));
    let padding =
        "and then we talked for a while about the weather and the neighbours and the garden ".repeat(6);
    let long = format!("somebody had a violin {padding} somewhere near the harbour");
    let seqs = say_all(&home, &me, once("the violin is at the harbour").chain(repeat_n(long.as_str(), 120)));
    assert_eq!(ranking(&home, &me, "Where is the violin, at the harbour?")[0], seqs[0]);
}

#[test]
fn messages_of_a_named_day_are_found_without_common_words() {
    let (home, me) = (Home::new(), scope("me"));
    let mut said = Vec::new();
    for day in 0..400_i64 {
        let at: Timestamp = "2023-01-01T10:00:00Z".parse().unwrap();
        let at = at + SignedDuration::from_hours(24 * day);
        let text = if day == 18 { "we got the keys and slept on the floor" } else { "nothing new today" };
        said.push(home.add_message(&me, day as u128, User, text, at));
    }
    let now: Timestamp = "2024-02-10T12:00:00Z".parse().unwrap();
    assert_eq!(ranking_at(&home, &me, "What happened on 19 January 2023?", now)[0], said[18]);
}

#[test]
fn imported_messages_of_a_named_day_are_found_too() {
    let (home, me) = (Home::new(), scope("me"));
    let at = |text: &str| -> Timestamp { text.parse().unwrap() };
    let live = ["2023-01-19T08:00:00Z", "2023-01-19T21:00:00Z", "2023-03-01T10:00:00Z"];
    let (dull, told) = ("nothing new today", "we got the keys and slept on the floor");
    home.add_user_messages(&me, &live.map(|time| (at(time), dull)));
    let times = ["2022-12-01T12:00:00Z", "2023-01-19T12:00:00Z", "2023-02-01T12:00:00Z"].map(at);
    let imported = home.add_user_messages(&me, &[(times[0], dull), (times[1], told), (times[2], dull)]);
    let ranking = ranking_at(&home, &me, "What happened on 19 January 2023?", at("2024-02-10T12:00:00Z"));
    assert!(ranking[..3].contains(&imported[1]), "{ranking:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A message is found equally well wherever in the past it is.
    #[test]
    fn its_age_does_not_decide_whether_a_line_is_found(place in 0_usize..2_000) {
        let home = Home::shared();
        let me = home.new_scope();
        let text = |number| match number {
            _ if number == place => "grandmother lent me the violin",
            _ if number % 2 == 0 => "practised the violin",
            _ => "called my grandmother",
        };
        let seqs = say_all(home, &me, (0..2_000).map(text));
        prop_assert_eq!(ranking(home, &me, "Which violin has grandmother lent me?")[0], seqs[place]);
    }
}

#[test]
fn events_told_the_day_after_are_found_by_their_day() {
    let (home, me) = (Home::new(), scope("me"));
    let say = |day: &str, text: &str| {
        let at: Timestamp = format!("2023-01-{day}T10:00:00Z").parse().unwrap();
        home.add_message(&me, day.parse().unwrap(), User, text, at)
    };
    say("12", "the concert was loud");
    let told = say("20", "the concert yesterday was loud");
    say("27", "the concert was loud");
    let now: Timestamp = "2024-02-10T12:00:00Z".parse().unwrap();
    assert_eq!(ranking_at(&home, &me, "Which concert was it on 19.01.2023?", now)[0], told);
}
