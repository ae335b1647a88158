//! A conversation that is exported again after a swipe, an edit or another reply: the memory shows the text of the
//! newer export, earlier texts become versions, and undoing the later import restores them.

use serde_json::{Value, json};

use crate::command_line::run;
use crate::daemon::eventually;
use crate::daemon::{Daemon, Home, Settings};
use crate::import::{is_anywhere, messages, write};
use crate::scripts::remembering_model;

async fn import(home: &Home, settings: &Settings, name: &str, text: &str) -> Value {
    let file = write(home, name, text);
    run(home, settings, &["import", &file, "--yes", "--json"]).await.json()
}

async fn undo(home: &Home, settings: &Settings, run_id: &Value) {
    run(home, settings, &["import", "undo", run_id.as_str().unwrap(), "--yes"]).await.well();
}

async fn message_texts(home: &Home, settings: &Settings) -> Vec<String> {
    messages(home, settings).await.into_iter().map(|message| message.2).collect()
}

async fn versions(home: &Home, settings: &Settings, at: usize) -> Vec<String> {
    let daemon = Daemon::start(home, settings).await;
    let history = daemon.get("/api/chat/history?limit=200").await;
    let messages = history["messages"].as_array().unwrap();
    let id = messages[messages.len() - 1 - at]["id"].as_str().unwrap();
    let found = daemon.get(&format!("/api/chat/messages/{id}/versions")).await;
    run(home, settings, &["stop"]).await.well();
    let versions = found["versions"].as_array().unwrap();
    versions.iter().map(|version| version["content"].as_str().unwrap().to_owned()).collect()
}

fn tavern(lines: &[Value]) -> String {
    let header =
        json!({"user_name": "Nora", "character_name": "Milo", "create_date": "2024-03-01@10h00m00s"});
    [&[header], lines].concat().iter().map(|line| format!("{line}\n")).collect()
}

fn question(second: u8, text: &str) -> Value {
    json!({"name": "Nora", "is_user": true, "send_date": format!("2024-03-01T10:00:{second:02}.000Z"), "mes": text})
}

fn reply(second: u8, text: &str, more: Value) -> Value {
    let mut reply = json!({"name": "Milo", "is_user": false, "mes": text,
        "send_date": format!("2024-03-01T10:00:{second:02}.000Z")});
    reply.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    reply
}

/// Exports with and without a time for each swipe, and with the message's time changed or unchanged, as programs of
/// several years write them.
#[tokio::test(flavor = "multi_thread")]
async fn another_swipe_takes_the_place_of_the_first_and_gives_it_back() {
    let info = json!([{"send_date": "2024-03-01T10:00:05.000Z"}, {"send_date": "2024-03-01T10:00:45.000Z"}]);
    let swipes = json!({"swipes": ["Purple.", "Green."], "swipe_id": 1});
    let with_info = json!({"swipes": ["Purple.", "Green."], "swipe_id": 1, "swipe_info": info});
    for (at, more) in [(45, &with_info), (5, &swipes), (45, &swipes)] {
        let (home, settings) = (Home::new(), Settings::offline());
        let before = [
            question(0, "Which colour?"),
            reply(5, "Purple.", json!({"swipes": ["Purple."], "swipe_id": 0})),
        ];
        import(&home, &settings, "milo.jsonl", &tavern(&before)).await;
        let later = [question(0, "Which colour?"), reply(at, "Green.", more.clone()), question(50, "Why?")];
        let ran = import(&home, &settings, "milo.jsonl", &tavern(&later)).await;
        assert_eq!(
            (&ran["found"], &ran["recorded"], &ran["already_there"]),
            (&json!(3), &json!(2), &json!(1)),
            "{ran}"
        );
        assert_eq!(message_texts(&home, &settings).await, ["Which colour?", "Green.", "Why?"], "{more}");
        assert_eq!(versions(&home, &settings, 1).await, ["Purple."], "{more}");
        let found = run(&home, &settings, &["recall", "Purple Green", "--json"]).await.json().to_string();
        assert!(found.contains("Green.") && !found.contains("Purple."), "{found}");

        let again = import(&home, &settings, "milo.jsonl", &tavern(&later)).await;
        assert_eq!((&again["recorded"], &again["already_there"]), (&json!(0), &json!(3)), "{again}");
        let older = import(&home, &settings, "milo.jsonl", &tavern(&before)).await;
        assert_eq!((&older["recorded"], &older["already_there"]), (&json!(0), &json!(2)), "{older}");
        assert_eq!(
            message_texts(&home, &settings).await,
            ["Which colour?", "Green.", "Why?"],
            "an older export"
        );

        undo(&home, &settings, &ran["run_id"]).await;
        assert_eq!(message_texts(&home, &settings).await, ["Which colour?", "Purple."], "{more}");
        assert!(versions(&home, &settings, 1).await.is_empty());
        for words in ["Green.", "Why?"] {
            assert!(!is_anywhere(&home, words), "{words} is left");
        }
        let found = run(&home, &settings, &["recall", "Purple", "--json"]).await.json().to_string();
        assert!(found.contains("Purple."), "{found}");
        let whole = run(&home, &settings, &["doctor", "--json"]).await.out;
        assert!(whole.contains("intact"), "{whole}");
    }
}

/// SillyTavern does not keep the earlier text of an edited message.
#[tokio::test(flavor = "multi_thread")]
async fn edited_text_replaces_the_text_before() {
    let (home, settings) = (Home::new(), Settings::offline());
    let talk =
        |text: &str| tavern(&[question(0, "Which colour?"), reply(5, text, json!({})), question(9, "Why?")]);
    import(&home, &settings, "milo.jsonl", &talk("Purple, I think.")).await;
    let ran = import(&home, &settings, "milo.jsonl", &talk("Purple, surely.")).await;
    assert_eq!((&ran["recorded"], &ran["already_there"]), (&json!(1), &json!(2)), "{ran}");
    assert_eq!(message_texts(&home, &settings).await, ["Which colour?", "Purple, surely.", "Why?"]);
    assert_eq!(versions(&home, &settings, 1).await, ["Purple, I think."]);
    undo(&home, &settings, &ran["run_id"]).await;
    assert_eq!(message_texts(&home, &settings).await, ["Which colour?", "Purple, I think.", "Why?"]);

    // A format that has message ids.
    let telegram = |text: &str| {
        json!({"name": "Milo", "type": "personal_chat", "id": 7, "messages": [
            {"id": 1, "type": "message", "date": "2024-05-01T10:00:00", "date_unixtime": "1714557600", "from": "Milo",
             "from_id": "user7", "text": text, "text_entities": [{"type": "plain", "text": text}]},
            {"id": 2, "type": "message", "date": "2024-05-01T10:01:00", "date_unixtime": "1714557660", "from": "Nora",
             "from_id": "user1", "text": "Yes", "text_entities": [{"type": "plain", "text": "Yes"}]}]})
        .to_string()
    };
    let (home, settings) = (Home::new(), Settings::offline());
    let import = async |text: &str| {
        let file = write(&home, "result.json", &telegram(text));
        let arguments = ["import", &file, "--me", "Nora", "--them", "Milo", "--yes", "--json"];
        run(&home, &settings, &arguments).await.json()
    };
    import("Shall we met at six?").await;
    let ran = import("Shall we meet at six?").await;
    assert_eq!((&ran["recorded"], &ran["already_there"]), (&json!(1), &json!(1)), "{ran}");
    assert_eq!(message_texts(&home, &settings).await, ["Shall we meet at six?", "Yes"]);
    let older = import("Shall we met at six?").await;
    assert_eq!((&older["recorded"], &older["already_there"]), (&json!(0), &json!(2)), "{older}");
    assert_eq!(message_texts(&home, &settings).await, ["Shall we meet at six?", "Yes"]);
    // Text in square brackets is not a reference to a file.
    for text in ["[image] of a cake: six?", "[at seven]", "[at eight]"] {
        let ran = import(text).await;
        assert_eq!((&ran["recorded"], &ran["already_there"]), (&json!(1), &json!(1)), "{text}: {ran}");
        assert_eq!(message_texts(&home, &settings).await, [text, "Yes"]);
    }
}

fn tree(shown: &str, nodes: &[(&str, Option<&str>, &str, f64, &str)]) -> String {
    let mapping: serde_json::Map<String, Value> = nodes
        .iter()
        .map(|(id, parent, role, at, text)| {
            let children: Vec<&str> =
                nodes.iter().filter(|node| node.1 == Some(id)).map(|node| node.0).collect();
            let message = json!({"id": id, "author": {"role": role}, "create_time": at,
                "content": {"content_type": "text", "parts": [text]}});
            ((*id).to_owned(), json!({"id": id, "parent": parent, "children": children, "message": message}))
        })
        .collect();
    json!([{"title": "Cake", "create_time": 1_714_557_400.0, "conversation_id": "c-1", "current_node": shown,
        "mapping": mapping}])
    .to_string()
}

const BEFORE: [(&str, Option<&str>, &str, f64, &str); 4] = [
    ("u1", None, "user", 1_714_557_500.0, "How long does the cake bake?"),
    ("a1", Some("u1"), "assistant", 1_714_557_510.0, "Forty minutes."),
    ("u2", Some("a1"), "user", 1_714_557_520.0, "And how hot?"),
    ("a2", Some("u2"), "assistant", 1_714_557_530.0, "At 180 degrees."),
];

#[tokio::test(flavor = "multi_thread")]
async fn another_answer_takes_the_place_of_the_first() {
    let (home, settings) = (Home::new(), Settings::offline());
    import(&home, &settings, "conversations.json", &tree("a2", &BEFORE)).await;
    let again =
        [&BEFORE[..], &[("b2", Some("u2"), "assistant", 1_714_557_900.0, "At 200 degrees.")]].concat();
    let ran = import(&home, &settings, "conversations.json", &tree("b2", &again)).await;
    assert_eq!((&ran["recorded"], &ran["already_there"]), (&json!(1), &json!(3)), "{ran}");
    assert_eq!(message_texts(&home, &settings).await[2..], ["And how hot?", "At 200 degrees."]);
    assert_eq!(versions(&home, &settings, 3).await, ["At 180 degrees."]);
    // The user returns to the first swipe.
    let back = import(&home, &settings, "conversations.json", &tree("a2", &again)).await;
    assert_eq!(back["recorded"], json!(0), "{back}");
    assert_eq!(message_texts(&home, &settings).await[2..], ["And how hot?", "At 180 degrees."]);
    assert_eq!(versions(&home, &settings, 3).await, ["At 200 degrees."]);
}

#[tokio::test(flavor = "multi_thread")]
async fn branch_that_an_edited_question_left_is_not_shown_any_more() {
    let (home, settings) = (Home::new(), Settings::offline());
    let first = import(&home, &settings, "conversations.json", &tree("a2", &BEFORE)).await;
    let edited = [
        &BEFORE[..],
        &[
            ("v1", None, "user", 1_714_558_000.0, "How long does the bread bake?"),
            ("b1", Some("v1"), "assistant", 1_714_558_010.0, "Fifty minutes."),
        ],
    ]
    .concat();
    // Both questions have the same parent: the root, which has no text.
    let rooted = |shown: &str, nodes: &[(&str, Option<&str>, &str, f64, &str)]| {
        let under_root: Vec<_> =
            nodes.iter().map(|node| (node.0, node.1.or(Some("r")), node.2, node.3, node.4)).collect();
        tree(shown, &[&[("r", None, "system", 1_714_557_400.0, "")], &under_root[..]].concat())
    };
    let ran = import(&home, &settings, "conversations.json", &rooted("b1", &edited)).await;
    assert_eq!(ran["recorded"], json!(2), "{ran}");
    assert_eq!(message_texts(&home, &settings).await, ["How long does the bread bake?", "Fifty minutes."]);
    let left = versions(&home, &settings, 0).await;
    for (.., text) in BEFORE {
        assert!(left.iter().any(|version| version == text), "{text}: {left:?}");
    }
    let found = run(&home, &settings, &["recall", "degrees", "--json"]).await.json().to_string();
    assert!(!found.contains("180 degrees"), "{found}");
    let again = import(&home, &settings, "conversations.json", &rooted("b1", &edited)).await;
    assert_eq!(again["recorded"], json!(0), "{again}");
    // Our own export stores the branch as a branch.
    let out = write(&home, "out.json", "");
    std::fs::remove_file(&out).unwrap();
    run(&home, &settings, &["export", &out, "--format", "chatgpt"]).await.well();
    let other = Home::new();
    run(&other, &settings, &["import", &out, "--yes"]).await.well();
    assert_eq!(message_texts(&other, &settings).await, ["How long does the bread bake?", "Fifty minutes."]);
    assert_eq!(versions(&other, &settings, 0).await, left);
    let older = import(&home, &settings, "conversations.json", &tree("a2", &BEFORE)).await;
    assert_eq!((&older["recorded"], &older["already_there"]), (&json!(0), &json!(4)), "{older}");

    undo(&home, &settings, &ran["run_id"]).await;
    assert_eq!(message_texts(&home, &settings).await, BEFORE.map(|node| node.4));
    assert!(!is_anywhere(&home, "bread"), "words of the import that was taken back are left");
    let found = run(&home, &settings, &["recall", "degrees", "--json"]).await.json().to_string();
    assert!(found.contains("180 degrees"), "{found}");
    let whole = run(&home, &settings, &["doctor", "--json"]).await.out;
    assert!(whole.contains("intact"), "{whole}");

    // Undoing the first import as well leaves nothing.
    import(&home, &settings, "conversations.json", &rooted("b1", &edited)).await;
    for run_id in [&first["run_id"], &older["run_id"], &again["run_id"]] {
        undo(&home, &settings, run_id).await;
    }
    let left = message_texts(&home, &settings).await;
    assert!(left.iter().all(|text| !text.contains("cake") && !text.contains("degrees")), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn new_version_of_a_known_message_is_kept_and_goes_with_its_import() {
    let (home, settings) = (Home::new(), Settings::offline());
    let talk = |swipes: Value| {
        tavern(&[question(0, "Which colour?"), reply(5, "Green.", json!({"swipes": swipes, "swipe_id": 0}))])
    };
    import(&home, &settings, "milo.jsonl", &talk(json!(["Green."]))).await;
    let ran = import(&home, &settings, "milo.jsonl", &talk(json!(["Green.", "Turquoise."]))).await;
    assert_eq!((&ran["recorded"], &ran["already_there"]), (&json!(0), &json!(2)), "{ran}");
    assert_eq!(versions(&home, &settings, 1).await, ["Turquoise."]);
    undo(&home, &settings, &ran["run_id"]).await;
    assert!(versions(&home, &settings, 1).await.is_empty());
    assert!(!is_anywhere(&home, "Turquoise."));
}

#[tokio::test(flavor = "multi_thread")]
async fn taking_an_import_back_does_not_bring_back_what_was_erased() {
    let (home, settings) = (Home::new(), Settings::offline());
    let before = [question(0, "Which colour?"), reply(5, "Purple.", json!({}))];
    import(&home, &settings, "milo.jsonl", &tavern(&before)).await;
    let more = json!({"swipes": ["Purple.", "Green."], "swipe_id": 1});
    let later = [question(0, "Which colour?"), reply(5, "Green.", more)];
    let ran = import(&home, &settings, "milo.jsonl", &tavern(&later)).await;
    run(&home, &settings, &["memory", "forget", "--text", "Purple", "--with-messages", "--yes"]).await.well();
    undo(&home, &settings, &ran["run_id"]).await;
    assert_eq!(message_texts(&home, &settings).await, ["Which colour?"]);
    assert!(!is_anywhere(&home, "Purple"));
}

/// A message that arrived late is placed before another one of the same minute.
#[tokio::test(flavor = "multi_thread")]
async fn message_that_comes_between_replaces_nothing() {
    let (home, settings) = (Home::new(), Settings::offline());
    let import = async |lines: &[&str]| {
        let lines: Vec<String> =
            lines.iter().map(|text| format!("01/03/2024, 14:03 - Milo: {text}")).collect();
        let text = format!("01/03/2024, 14:02 - Nora: hello\n{}\n", lines.join("\n"));
        let file = write(&home, "chat.txt", &text);
        let arguments =
            ["import", &file, "--format", "whatsapp", "--me", "Nora", "--them", "Milo", "--yes", "--json"];
        run(&home, &settings, &arguments).await.json()
    };
    import(&["one", "three"]).await;
    let ran = import(&["one", "two", "three"]).await;
    assert_eq!((&ran["recorded"], &ran["already_there"]), (&json!(1), &json!(3)), "{ran}");
    let texts = message_texts(&home, &settings).await;
    assert!(["one", "two", "three"].iter().all(|text| texts.contains(&(*text).to_owned())), "{texts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_that_were_replaced_twice_are_taken_back_one_by_one() {
    let telegram = |text: &str| {
        json!({"name": "Milo", "type": "personal_chat", "id": 7, "messages": [
            {"id": 1, "type": "message", "date": "2024-05-01T10:00:00", "date_unixtime": "1714557600", "from": "Nora",
             "from_id": "user1", "text": text, "text_entities": [{"type": "plain", "text": text}]},
            {"id": 2, "type": "message", "date": "2024-05-01T10:01:00", "date_unixtime": "1714557660", "from": "Milo",
             "from_id": "user7", "text": "Yes", "text_entities": [{"type": "plain", "text": "Yes"}]}]})
        .to_string()
    };
    let import = async |home: &Home, settings: &Settings, text: &str| {
        let file = write(home, "result.json", &telegram(text));
        let arguments = ["import", &file, "--me", "Nora", "--them", "Milo", "--yes", "--json"];
        run(home, settings, &arguments).await.json()["run_id"].clone()
    };
    // The second of three imports is undone: the text of the third one stays.
    let (home, settings) = (Home::new(), Settings::offline());
    import(&home, &settings, "We meet at six").await;
    let second = import(&home, &settings, "We meet at seven").await;
    let third = import(&home, &settings, "We meet at eight").await;
    assert_eq!(versions(&home, &settings, 0).await, ["We meet at six", "We meet at seven"]);
    undo(&home, &settings, &second).await;
    assert_eq!(message_texts(&home, &settings).await, ["We meet at eight", "Yes"]);
    assert_eq!(versions(&home, &settings, 0).await, ["We meet at six"]);
    assert!(!is_anywhere(&home, "at seven"));
    undo(&home, &settings, &third).await;
    assert_eq!(message_texts(&home, &settings).await, ["We meet at six", "Yes"]);
    assert!(!is_anywhere(&home, "at eight"));

    // A user has edited the message here since, so their text stays.
    let second = import(&home, &settings, "We meet at seven").await;
    let daemon = Daemon::start(&home, &settings).await;
    let history = daemon.get("/api/chat/history").await;
    let id = history["messages"][1]["id"].as_str().unwrap();
    let edit = daemon
        .request(reqwest::Method::PATCH, &format!("/api/chat/messages/{id}"))
        .json(&json!({"content": "We meet at noon"}));
    edit.send().await.unwrap().error_for_status().unwrap();
    run(&home, &settings, &["stop"]).await.well();
    drop(daemon);
    undo(&home, &settings, &second).await;
    assert_eq!(message_texts(&home, &settings).await, ["We meet at noon", "Yes"]);
    assert_eq!(versions(&home, &settings, 0).await, ["We meet at six"]);
    assert!(!is_anywhere(&home, "at seven"));

    // The first of two imports is undone: its messages keep the later text, which the later file also contains.
    let (home, settings) = (Home::new(), Settings::offline());
    let first = import(&home, &settings, "We meet at six").await;
    import(&home, &settings, "We meet at eight").await;
    undo(&home, &settings, &first).await;
    assert!(message_texts(&home, &settings).await.is_empty());
    assert!(!is_anywhere(&home, "We meet at"));
    import(&home, &settings, "We meet at eight").await;
    assert_eq!(message_texts(&home, &settings).await, ["We meet at eight", "Yes"]);
}

/// The same chat, exported with its pictures and without them.
#[tokio::test(flavor = "multi_thread")]
async fn other_names_of_files_are_no_other_text() {
    let (home, settings) = (Home::new(), Settings::offline());
    let import = async |photo: &str| {
        let chat = json!({"name": "Milo", "type": "personal_chat", "id": 7, "messages": [
            {"id": 1, "type": "message", "date": "2024-05-01T10:00:00", "date_unixtime": "1714557600", "from": "Milo",
             "from_id": "user7", "photo": photo, "text": "Look", "text_entities": [{"type": "plain", "text": "Look"}]},
            {"id": 2, "type": "message", "date": "2024-05-01T10:01:00", "date_unixtime": "1714557660", "from": "Nora",
             "from_id": "user1", "text": "Yes", "text_entities": [{"type": "plain", "text": "Yes"}]}]});
        let file = write(&home, "result.json", &chat.to_string());
        let arguments = ["import", &file, "--me", "Nora", "--them", "Milo", "--yes", "--json"];
        run(&home, &settings, &arguments).await.json()
    };
    import("photos/photo_1.jpg").await;
    let ran = import("(File not included. Change data exporting settings to download.)").await;
    assert_eq!((&ran["recorded"], &ran["already_there"]), (&json!(0), &json!(2)), "{ran}");
    assert!(versions(&home, &settings, 0).await.is_empty());
}

/// A branch of a chat is a copy of its file up to the branch, with a date of its own.
#[tokio::test(flavor = "multi_thread")]
async fn old_branch_of_a_chat_does_not_double_what_they_share() {
    let (home, settings) = (Home::new(), Settings::offline());
    let shared = [question(0, "Which colour?"), reply(5, "Purple.", json!({}))];
    let one = [&shared[..], &[question(20, "Why?")]].concat();
    import(&home, &settings, "milo.jsonl", &tavern(&one)).await;
    let branch = tavern(&[&shared[..], &[question(30, "Since when?")]].concat())
        .replace("2024-03-01@10h00m00s", "2024-04-01@12h00m00s");
    let ran = import(&home, &settings, "branch.jsonl", &branch).await;
    assert_eq!((&ran["recorded"], &ran["already_there"]), (&json!(1), &json!(2)), "{ran}");
    assert_eq!(message_texts(&home, &settings).await, ["Which colour?", "Purple.", "Why?", "Since when?"]);
    // A branch that shows another swipe does not change the chat that it was copied from.
    let swiped = reply(5, "Green.", json!({"swipes": ["Purple.", "Green."], "swipe_id": 1}));
    let branch = tavern(&[question(0, "Which colour?"), swiped])
        .replace("2024-03-01@10h00m00s", "2024-05-01@12h00m00s");
    let ran = import(&home, &settings, "green.jsonl", &branch).await;
    assert_eq!((&ran["recorded"], &ran["already_there"]), (&json!(1), &json!(1)), "{ran}");
    let texts = message_texts(&home, &settings).await;
    assert!(["Purple.", "Green."].iter().all(|text| texts.contains(&(*text).to_owned())), "{texts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_greeting_takes_the_place_of_the_first() {
    let (home, settings) = (Home::new(), Settings::offline());
    let talk = |shown: usize| {
        let greetings = ["Hello.", "Good evening."];
        let times = ["2024-03-01T10:00:05.000Z", "2024-03-01T10:00:45.000Z"];
        let info = times.map(|time| json!({"send_date": time}));
        let more = json!({"swipes": greetings, "swipe_id": shown, "swipe_info": info});
        tavern(&[reply([5, 45][shown], greetings[shown], more), question(50, "Hello!")])
    };
    import(&home, &settings, "milo.jsonl", &talk(0)).await;
    let ran = import(&home, &settings, "milo.jsonl", &talk(1)).await;
    assert_eq!((&ran["recorded"], &ran["already_there"]), (&json!(1), &json!(1)), "{ran}");
    assert_eq!(message_texts(&home, &settings).await, ["Good evening.", "Hello!"]);
    assert_eq!(versions(&home, &settings, 0).await, ["Hello."]);
}

/// While the daemon runs: memories of the earlier text are erased, and the new text is extracted.
#[tokio::test(flavor = "multi_thread")]
async fn memories_follow_the_text_that_is_shown() {
    let (home, model) = (Home::new(), remembering_model().await);
    let settings = Settings::talking_to(&model);
    let _daemon = Daemon::start(&home, &settings).await;
    let talk = |text: &str| tavern(&[reply(0, "Where do you live now?", json!({})), question(5, text)]);
    let remembered = async |words: &str| {
        eventually("a memory of what is shown", async || {
            let events = run(&home, &settings, &["memory", "list", "events", "--json"]).await.json();
            let events = events["items"].as_array().unwrap().clone();
            (events.len() == 1 && events[0]["description"].as_str().unwrap().contains(words)).then_some(())
        })
        .await;
    };
    import(&home, &settings, "milo.jsonl", &talk("I moved to a flat in Porto in May")).await;
    remembered("Porto").await;
    let ran = import(&home, &settings, "milo.jsonl", &talk("I moved to a flat in Lisbon in May")).await;
    remembered("Lisbon").await;
    undo(&home, &settings, &ran["run_id"]).await;
    remembered("Porto").await;
}
