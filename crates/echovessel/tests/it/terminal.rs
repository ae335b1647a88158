//! Commands that read from and print to a terminal: `demo`, `chat` and `recall`.

use serde_json::{Value, json};
use testkit::Reply;

use crate::command_line::run;
use crate::daemon::{Daemon, Home, Settings, command};
use crate::scripts;

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_lights_up_every_layer_and_remembers_the_cat() {
    let home = Home::new();
    let han = |text: &str| text.chars().any(|letter| ('\u{4e00}'..='\u{9fff}').contains(&letter));
    for (locale, question, name) in
        [("zh_CN.UTF-8", "你还记得我的猫吗", "小黑"), ("de_DE.UTF-8", "Do you remember my cat?", "Pepper")]
    {
        let ran = run(&home, &Settings::none().variable("LANG", locale), &["demo"]).await;
        assert!(ran.err.matches("vectors wait").count() <= 1, "{}", ran.err);
        let shown = ran.well();
        for layer in ["L1", "L2", "L3", "L4", "L5", "L6"] {
            assert!(shown.contains(&format!("\n{layer} ● ")), "{layer} did not light up:\n{shown}");
        }
        let asked = shown.split(question).nth(1).unwrap();
        assert!(asked.contains(name), "{shown}");
        assert_eq!(han(&shown), locale.starts_with("zh"), "{shown}");
    }
    assert!(!home.path().exists(), "the demo touched the home");
}

#[tokio::test(flavor = "multi_thread")]
async fn recall_ranks_what_the_user_said_above_its_repetition() {
    let (home, settings) = (Home::new(), Settings::offline());
    run(&home, &settings, &["init"]).await.well();
    let daemon = Daemon::start(&home, &settings).await;
    for line in
        ["my sister Lena lives in Porto", "I bought a blue bike yesterday", "Do you remember my bike?"]
    {
        daemon.complete("self", line).await;
    }
    let recalled = run(&home, &settings, &["recall", "bike"]).await.well();
    let own = recalled.find("I bought a blue bike").unwrap();
    let repeated = recalled.find("you said: \"I bought").unwrap();
    assert!(own < repeated, "{recalled}");
    let explained = run(&home, &settings, &["recall", "bike", "--explain"]).await.well();
    assert!(explained.contains("repeats -"), "{explained}");
    let times = explained.lines().last().unwrap();
    assert!(times.split(' ').filter(|part| part.contains('.')).all(|number| number.len() <= 6), "{times}");
    let nothing = run(&home, &settings, &["recall", "zeppelin"]).await.well();
    assert_eq!(nothing, "No memories found.\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn chat_talks_with_the_daemon_and_without_one() {
    let model = scripts::model().await;
    let (home, settings) = (Home::new(), Settings::talking_to(&model));
    run(&home, &Settings::none(), &["init"]).await.well();
    let script = home.path().with_extension("txt");
    let chat = async |lines: &str| {
        std::fs::write(&script, lines).unwrap();
        let mut chat = command(&home, &settings, &["chat"]);
        chat.stdin(std::fs::File::open(&script).unwrap());
        let output = tokio::task::spawn_blocking(move || chat.output().unwrap()).await.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let alone = chat("I have a cat\nare you there?\n").await;
    assert_eq!(alone.matches(scripts::REPLY).count(), 2, "{alone}");
    let daemon = Daemon::start(&home, &settings).await;
    let with_daemon =
        chat("/help\n/why\n/memroy\nstill there?\n/why\n/memory\n/forget are you there\nno\n/quit\n").await;
    for shown in [
        "/forget TEXT|ID",
        "No reply in this chat yet",
        "Unknown command /memroy",
        "No memories were used",
        "No entries.",
        "would be erased: 1 message",
        "Nothing was erased.",
    ] {
        assert!(with_daemon.contains(shown), "{shown}: {with_daemon}");
    }
    let as_json = async |lines: &str| {
        std::fs::write(&script, lines).unwrap();
        let mut as_json = command(&home, &settings, &["chat", "--json", "--user", "ann"]);
        as_json.stdin(std::fs::File::open(&script).unwrap());
        let output = tokio::task::spawn_blocking(move || as_json.output().unwrap()).await.unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let lines = as_json("and as JSON?\n").await;
    let events: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (done, tokens) = events.split_last().unwrap();
    assert!(tokens.iter().all(|token| token["event"] == "chat.message.token"), "{events:?}");
    let told: String = tokens.iter().map(|token| token["delta"].as_str().unwrap()).collect();
    assert_eq!((&done["event"], &done["content"]), (&"chat.message.done".into(), &told.into()), "{events:?}");
    assert_eq!(done["incomplete"], false, "{done}");
    assert_eq!(with_daemon.matches(scripts::REPLY).count(), 1, "{with_daemon}");
    model.next("reply", Reply::from_pieces(["I remember", " it all"]).cut_after(1));
    let lines = as_json("and in half?\n").await;
    let done: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    let (said, incomplete) = (&done["content"], &done["incomplete"]);
    assert_eq!((said, incomplete), (&"I remember".into(), &true.into()), "what was said is kept, and marked");
    assert_eq!(daemon.said_by("self", "user").await, ["I have a cat", "are you there?", "still there?"]);
    let history = daemon.get("/api/chat/history").await;
    let channels =
        history["messages"].as_array().unwrap().iter().map(|message| &message["source_channel_id"]);
    assert!(channels.eq(vec![&json!("terminal"); 6]), "{history}");
    let forgotten = chat("/forget are you there\nyes\n").await;
    assert!(forgotten.contains("erased permanently: 1 message"), "{forgotten}");
    assert_eq!(daemon.said_by("self", "user").await, ["I have a cat", "still there?"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn demo_prints_the_story_and_nothing_else() {
    let (home, settings) = (Home::new(), Settings::none());
    let ran = run(&home, &settings, &["demo"]).await;
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    assert!(ran.out.contains("Pepper"), "{}", ran.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn demo_of_channels_needs_no_account_and_leaves_the_home_alone() {
    let (home, settings) = (Home::new(), Settings::none());
    let ran = run(&home, &settings, &["demo", "--channels"]).await;
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    for shown in
        ["(discord)", "(telegram)", "1. ", "2. ", "3. ", "4. ", "5. ", "One persona on every channel."]
    {
        assert!(ran.out.contains(shown), "{shown} is missing:\n{}", ran.out);
    }
    assert!(!home.path().exists(), "the demo touched the home");
}
