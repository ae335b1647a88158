//! Many users at once: no user waits for another, each user's order is kept, and the inbox is limited.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use testkit::Reply;
use tokio::sync::Notify;

use crate::daemon::{Daemon, Home, Settings};
use crate::owner_api::said;
use crate::scripts;
use crate::watcher::Watcher;

const USERS: usize = 20;
/// Time after which the mock model replies.
const THINKING: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread")]
async fn twenty_people_do_not_wait_for_one_another() {
    let model = scripts::model().await;
    model.answer_task("reply", |_| Reply::text("I see.").delay(THINKING));
    let home = Home::new();
    let daemon = Daemon::start(&home, &Settings::talking_to(&model)).await;
    let mut watcher = Watcher::open(&daemon).await;

    let began = Instant::now();
    let users: Vec<String> = (0..USERS).map(|number| format!("user-{number}")).collect();
    let turns = join_all(users.iter().map(|user| daemon.say(user, "hello there"))).await;
    for turn in &turns {
        watcher.wait_for_reply(&turn.turn_id).await;
    }
    let elapsed = began.elapsed();
    println!("{USERS} replies of {THINKING:?} each took {elapsed:?}");
    assert!(elapsed < THINKING * USERS as u32 / 2, "{USERS} replies took {elapsed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn everybody_is_answered_in_the_order_in_which_they_spoke() {
    let model = scripts::model().await;
    // The mock repeats the newest message, so that a reply shows which message it answers.
    model.answer_task("reply", |request| {
        let prompt = request.user();
        let newest = scripts::section(&prompt, "What they just said").unwrap().trim().to_owned();
        Reply::text(newest).delay(Duration::from_millis(300))
    });
    let home = Home::new();
    let daemon = Daemon::start(&home, &Settings::talking_to(&model)).await;
    let mut watcher = Watcher::open(&daemon).await;
    let lines = ["first", "second", "third"];
    let talk = async |user: String| {
        let mut turns = Vec::new();
        for line in lines {
            turns.push(daemon.say(&user, &format!("{user} {line}")).await.turn_id);
        }
        turns
    };
    let users: Vec<String> = (0..USERS).map(|number| format!("user-{number}")).collect();
    let turns = join_all(users.iter().map(|user| talk(user.clone()))).await;
    for turn in turns.iter().flatten() {
        watcher.wait_for_reply(turn).await;
    }
    for user in &users {
        let expected = lines.map(|line| format!("{user} {line}"));
        assert_eq!(daemon.said_by(user, "user").await, expected);
        let replies = daemon.said_by(user, "persona").await.join("\n");
        let places = expected.map(|line| replies.find(&line));
        assert!(places.is_sorted() && places[0].is_some(), "answered out of order: {replies}");
        let others =
            users.iter().filter(|other| *other != user).any(|other| replies.contains(&format!("{other} ")));
        assert!(!others, "somebody else's words were answered: {replies}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_person_has_one_turn_at_a_time() {
    let model = scripts::model().await;
    let gate = Arc::new(Notify::new());
    model.next("reply", Reply::text("one").delay_first_token_until(&gate));
    let home = Home::new();
    let daemon = Daemon::start(&home, &Settings::talking_to(&model)).await;
    let mut watcher = Watcher::open(&daemon).await;
    let first = daemon.say("self", "first").await;
    model.wait_until_asked("reply", 1).await;
    let second = daemon.say("self", "second").await;
    // The other user is answered meanwhile, so a second turn would have had time to run.
    let other = daemon.say("other", "hello").await;
    watcher.wait_for_reply(&other.turn_id).await;
    let asked = model.requests_for("reply");
    assert_eq!(asked.len(), 2);
    assert!(
        !asked.iter().any(|request| request.user().contains("second")),
        "two turns of one person ran at once"
    );
    gate.notify_one();
    watcher.wait_for_reply(&second.turn_id).await;
    watcher.wait_for_reply(&first.turn_id).await;
    assert_eq!(daemon.said_by("self", "persona").await, ["one", scripts::REPLY]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_of_lines_is_answered_as_one() {
    let model = scripts::model().await;
    let home = Home::new();
    let settings = Settings::talking_to(&model).key("channels.web.debounce", "1s");
    let daemon = Daemon::start(&home, &settings).await;
    let mut watcher = Watcher::open(&daemon).await;
    let mut turns = Vec::new();
    for line in ["wait", "there is more", "done"] {
        turns.push(daemon.say("self", line).await.turn_id);
    }
    assert_eq!(
        daemon.said_by("self", "user").await.len(),
        3,
        "the lines are not durable before the burst ends"
    );
    assert!(turns.iter().all(|turn| *turn == turns[0]), "{turns:?}");
    watcher.wait_for_reply(&turns[0]).await;
    let asked = model.requests_for("reply");
    let prompt = asked[0].user();
    let newest = scripts::section(&prompt, "What they just said").unwrap();
    assert!(["wait", "there is more", "done"].iter().all(|line| newest.contains(line)), "{prompt}");
    assert_eq!((asked.len(), daemon.said_by("self", "persona").await.len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_inbox_refuses_and_writes_nothing() {
    let model = scripts::model().await;
    let never = Arc::new(Notify::new());
    model.answer_task("reply", move |_| Reply::text("too late").delay_first_token_until(&never));
    let home = Home::new();
    let daemon = Daemon::start(&home, &Settings::talking_to(&model)).await;
    let (mut taken, mut refused) = (Vec::new(), 0);
    for number in 0..300 {
        let text = format!("line {number}");
        let answer = daemon.try_post("/api/chat/send", &json!({"content": text})).await;
        match answer.status {
            202 => {
                said(&answer.body);
                taken.push(text);
            }
            429 => {
                let seconds = answer.headers["retry-after"].to_str().unwrap().parse::<u64>().unwrap();
                assert!((1..=60).contains(&seconds), "{seconds}");
                assert!(answer.body["detail"].as_str().unwrap().contains("was not saved"), "{}", answer.body);
                refused += 1;
            }
            status => panic!("{status} {}", answer.body),
        }
    }
    assert!(taken.len() >= 256 && refused > 0, "{} taken, {refused} refused", taken.len());
    assert_eq!(daemon.said_by("self", "user").await, taken);
    // Each user has an inbox of their own.
    daemon.say("other", "hello").await;
}
