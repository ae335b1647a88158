//! A character card becomes a persona, on the command line and over HTTP, with and without a running daemon.

use std::fs;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};

use crate::command_line::run;
use crate::daemon::{Daemon, Home, Settings};
use crate::import::is_anywhere;
use crate::owner_api::answer;
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;

fn card() -> Value {
    json!({"spec": "chara_card_v3", "spec_version": "3.0", "data": {
        "name": "Wren", "description": "{{char}} keeps the light at a northern lighthouse.", "personality": "dry, patient",
        "scenario": "", "first_mes": "The lamp is lit, {{user}}. Sit.", "mes_example": "<START>\n{{char}}: Storm by six.",
        "alternate_greetings": ["Back from the mainland?"], "creator_notes": "", "tags": [], "creator": "",
        "character_version": "", "system_prompt": "", "post_history_instructions": "", "extensions": {}}})
}

fn write(home: &Home, name: &str, text: &str) -> String {
    let path = home.path().parent().unwrap().join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn card_becomes_a_persona_that_speaks_first() {
    let (home, settings) = (Home::new(), Settings::offline());
    let file = write(&home, "wren.json", &card().to_string());
    let shown = run(&home, &settings, &["import", &file, "--look"]).await.well();
    assert!(shown.contains("Wren") && shown.contains("2. Back from the mainland?"), "{shown}");
    let shown = run(&home, &settings, &["import", &file, "--persona", "wren"]).await.well();
    assert!(shown.contains("keeps the light") && shown.contains("Pass --yes to save it"), "{shown}");
    let refused = run(&home, &settings, &["import", &file, "--persona", "wren", "--yes"]).await;
    assert!(refused.code == 1 && refused.err.contains("--create"), "{}", refused.err);
    run(&home, &settings, &["import", &file, "--persona", "wren", "--create", "--greeting", "2", "--yes"])
        .await
        .well();

    let daemon = Daemon::start(&home, &settings).await;
    let persona = daemon.get("/api/admin/persona?persona_id=wren").await;
    assert_eq!(persona["display_name"], "Wren");
    let blocks = &persona["core_blocks"];
    assert_eq!(
        blocks["persona"], "Wren keeps the light at a northern lighthouse.\n\nPersonality: dry, patient",
        "{persona}"
    );
    assert!(blocks["style"].as_str().unwrap().contains("Storm by six."), "{persona}");
    let history = daemon.get("/api/chat/history?persona_id=wren").await;
    let messages = history["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 1, "{history}");
    assert_eq!(
        (&messages[0]["role"], &messages[0]["content"]),
        (&json!("persona"), &json!("Back from the mainland?"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn written_persona_is_replaced_only_when_asked_for() {
    let (home, settings) = (Home::new(), Settings::offline());
    let daemon = Daemon::start(&home, &settings).await;
    let first = json!({"display_name": "Mira", "persona_block": "Mira paints.", "user_block": "Ann sails.", "style_block": ""});
    daemon.post("/api/admin/persona/onboarding", &first).await;
    let file = write(&home, "wren.json", &card().to_string());
    let refused = run(&home, &settings, &["import", &file, "--yes"]).await;
    assert!(refused.code == 1 && refused.err.contains("--replace"), "{}", refused.err);
    let persona = daemon.get("/api/admin/persona").await;
    assert_eq!(
        (&persona["display_name"], &persona["core_blocks"]["persona"]),
        (&json!("Mira"), &json!("Mira paints."))
    );
    let none = run(&home, &settings, &["import", &file, "--replace", "--greeting", "3", "--yes"]).await;
    assert!(none.code == 1 && none.err.contains("greeting 3 does not exist"), "{}", none.err);
    assert_eq!(daemon.get("/api/admin/persona").await["core_blocks"]["persona"], "Mira paints.");

    run(&home, &settings, &["import", &file, "--replace", "--yes"]).await.well();
    let persona = daemon.get("/api/admin/persona").await;
    assert_eq!(
        (&persona["display_name"], &persona["core_blocks"]["user"]),
        (&json!("Wren"), &json!("Ann sails."))
    );
    assert_eq!(daemon.get("/api/admin/imports").await["imports"], json!([]), "no upload is left");
}

/// A daemon that was killed before it deleted the upload finds it at the next start and imports it again.
#[tokio::test(flavor = "multi_thread")]
async fn greeting_is_said_once_though_saving_is_repeated() {
    let (home, settings) = (Home::new(), Settings::offline());
    let daemon = Daemon::start(&home, &settings).await;
    let body = format!(
        "--border\r\nContent-Disposition: form-data; name=\"file\"; filename=\"wren.json\"\r\n\r\n{}\r\n--border--\r\n",
        card()
    );
    let request = daemon.request(Method::POST, "/api/admin/imports").body(body);
    let uploaded =
        answer(request.header(CONTENT_TYPE, "multipart/form-data; boundary=border")).await.unwrap();
    let id = uploaded.body["run_id"].as_str().unwrap();
    let files = home.path().join("imports").join(id);
    let kept: Vec<_> = fs::read_dir(&files).unwrap().map(|file| file.unwrap().path()).collect();
    let kept: Vec<_> = kept.iter().map(|path| (path, fs::read(path).unwrap())).collect();
    let save = json!({"persona_block": "Wren keeps the light.", "greeting": 1});
    let path = format!("/api/admin/imports/{id}/character");
    let saved = daemon.post(&path, &save).await;
    daemon.kill();

    fs::create_dir(&files).unwrap();
    for (path, content) in kept {
        fs::write(path, content).unwrap();
    }
    let daemon = Daemon::start(&home, &settings).await;
    let again = daemon.post(&path, &save).await;
    assert_eq!((&saved["greeting_id"], saved["greeting_id"].is_string()), (&again["greeting_id"], true));
    let history = daemon.get("/api/chat/history").await;
    assert_eq!(history["messages"].as_array().unwrap().len(), 1, "{history}");
}

#[tokio::test(flavor = "multi_thread")]
async fn long_card_keeps_every_word_in_documents() {
    let (home, settings) = (Home::new(), Settings::offline());
    let mut long = card();
    let paragraph = "Wren knows each ship by the sound of its engine. ".repeat(20);
    long["data"]["description"] = json!([paragraph.trim(); 8].join("\n\n"));
    long["data"]["alternate_greetings"] = json!(["x".repeat(1_500), "y".repeat(1_500), "z".repeat(2_500)]);
    let file = write(&home, "wren.json", &long.to_string());
    let saved = run(&home, &settings, &["import", &file, "--yes", "--json"]).await.json();
    assert_eq!(saved["saved"]["documents"], json!(["self/character.md", "custom/greetings.md"]), "{saved}");
    let daemon = Daemon::start(&home, &settings).await;
    let rest = daemon.get("/api/hub/documents/self/character.md").await;
    let block = daemon.get("/api/admin/persona").await["core_blocks"]["persona"].clone();
    let ships = |text: &Value| text.as_str().unwrap().matches("each ship").count();
    assert_eq!(ships(&block) + ships(&rest["content"]), 160, "{rest}");
}

/// Memories that another program saved are used only after a person accepted them, and are erased with their import.
#[tokio::test(flavor = "multi_thread")]
async fn saved_memories_of_another_program_wait_for_a_person() {
    let (home, settings) = (Home::new(), Settings::offline());
    let conversations = json!([{"title": "Bees", "create_time": 1714557400.0, "conversation_id": "c-1", "current_node": "q",
        "mapping": {
            "ctx": {"id": "ctx", "parent": null, "children": ["q"], "message": {"id": "ctx", "author": {"role": "assistant"},
                "content": {"content_type": "model_editable_context", "model_set_context":
                    "1. [2024-04-05]. Has a dog named Pepper.\n\n2. [2024-05-01]. Allergic to walnuts.\n\n3. [2024-05-02]. Sails."}}},
            "q": {"id": "q", "parent": "ctx", "children": [], "message": {"id": "q", "author": {"role": "user"},
                "create_time": 1714557500.0, "content": {"content_type": "text", "parts": ["I keep bees in Lyon."]}}}}}]);
    let file = write(&home, "conversations.json", &conversations.to_string());
    let run_id = {
        let imported = run(&home, &settings, &["import", &file, "--yes", "--json"]).await.json();
        let counts = ["found", "recorded", "already_there", "proposed", "skipped_count", "sessions"];
        assert_eq!(counts.map(|name| imported[name].as_u64()), [4, 1, 0, 3, 0, 1].map(Some), "{imported}");
        imported["run_id"].as_str().unwrap().to_owned()
    };
    let again = run(&home, &settings, &["import", &file, "--yes", "--json"]).await.json();
    assert_eq!((&again["proposed"], &again["already_there"]), (&json!(0), &json!(4)), "{again}");

    let daemon = Daemon::start(&home, &settings).await;
    let waiting = async || {
        let listed = daemon.get("/api/admin/memory/rejected").await;
        listed["rejected"].as_array().unwrap().clone()
    };
    let proposals = waiting().await;
    assert_eq!(proposals.len(), 3, "{proposals:?}");
    assert!(
        proposals.iter().all(|one| one["kind"] == "proposal" && one["source"] == "ChatGPT"),
        "{proposals:?}"
    );
    let recalled = daemon.post("/api/admin/memory/recall", &json!({"text": "walnuts"})).await;
    assert!(
        !recalled.to_string().contains("walnuts."),
        "nothing is known before a person says so: {recalled}"
    );
    let walnuts = proposals.iter().find(|one| one["description"] == "Allergic to walnuts.").unwrap();
    let path = format!("/api/admin/memory/rejected/{}/approve", walnuts["id"].as_str().unwrap());
    let approved = daemon.post(&path, &json!({})).await;
    assert_eq!(approved["node"]["description"], "Allergic to walnuts.");
    assert!(approved["node"]["said_at"].as_str().unwrap().starts_with("2024-05-01"), "{approved}");
    let accepted = run(&home, &settings, &["import", "accept", &run_id]).await.well();
    assert!(accepted.contains("accepted 2 memories"), "{accepted}");
    assert!(waiting().await.is_empty());
    let events = daemon.get("/api/admin/memory/events").await.to_string();
    assert!(events.contains("Pepper") && events.contains("walnuts"), "{events}");
    let sessions = daemon.get("/api/admin/sessions").await["sessions"].as_array().unwrap().len();
    assert_eq!(sessions, 1, "saved memories are no conversation");

    let backup = home.path().parent().unwrap().join("backup.db");
    run(&home, &settings, &["backup", backup.to_str().unwrap()]).await.well();
    run(&home, &settings, &["import", "undo", &run_id, "--yes"]).await.well();
    run(&home, &settings, &["stop"]).await.well();
    drop(daemon);
    let nothing_is_left = || {
        for words in ["walnuts", "Pepper", "bees in Lyon"] {
            assert!(!is_anywhere(&home, words), "{words} is left");
        }
    };
    nothing_is_left();
    run(&home, &settings, &["restore", backup.to_str().unwrap(), "--yes"]).await.well();
    nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn openclaw_home_gives_a_persona_and_proposals_at_once() {
    let (home, settings) = (Home::new(), Settings::offline());
    let folder = home.path().parent().unwrap().join("workspace");
    fs::create_dir_all(&folder).unwrap();
    for (name, text) in [
        ("SOUL.md", "You are Mira, calm and curious."),
        ("USER.md", "Ann sails."),
        ("MEMORY.md", "# Memory\n\n- Ann's dog is called Pepper\n- Ann moved to Lyon"),
    ] {
        fs::write(folder.join(name), text).unwrap();
    }
    let said = run(&home, &settings, &["import", folder.to_str().unwrap(), "--yes"]).await.well();
    assert!(said.contains("2 proposed"), "{said}");
    let daemon = Daemon::start(&home, &settings).await;
    let persona = daemon.get("/api/admin/persona").await;
    assert_eq!(persona["core_blocks"]["persona"], "You are Mira, calm and curious.");
    assert_eq!(persona["core_blocks"]["user"], "Ann sails.");
    let waiting = daemon.get("/api/admin/memory/rejected").await;
    assert_eq!(waiting["rejected"].as_array().unwrap().len(), 2, "{waiting}");
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_of_an_unknown_file_are_named_on_the_command_line() {
    let settings = Settings::offline();
    for with_daemon in [false, true] {
        let home = Home::new();
        let daemon = if with_daemon { Some(Daemon::start(&home, &settings).await) } else { None };
        let file = write(
            &home,
            "talk.csv",
            "Wann;Wer;Nachricht\n05.01.2024 10:00;Ann;Hallo\n05.01.2024 10:01;Mira;Na du\n",
        );
        let unknown = run(&home, &settings, &["import", &file, "--look"]).await.well();
        assert!(unknown.contains("--field"), "{unknown}");
        let named =
            ["import", &file, "--field", "text=Nachricht", "--field", "from=Wer", "--field", "time=Wann"];
        let wrong = run(&home, &settings, &["import", &file, "--field", "words=Nachricht"]).await;
        assert!(wrong.code == 1 && wrong.err.contains("text=NAME"), "{}", wrong.err);
        let arguments = [&named[..], &["--me", "Ann", "--them", "Mira", "--yes", "--json"]].concat();
        let imported = run(&home, &settings, &arguments).await.json();
        assert_eq!((&imported["recorded"], &imported["undated"]), (&json!(2), &json!(0)), "{imported}");
        drop(daemon);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn talk_goes_to_no_persona_or_user_that_is_not_there() {
    let (home, settings) = (Home::new(), Settings::offline());
    let file = write(
        &home,
        "talk.jsonl",
        "{\"role\":\"user\",\"content\":\"Hello\",\"timestamp\":\"2024-03-01T10:00:00Z\"}\n",
    );
    for named in [["--persona", "miar"], ["--user", "ghost"]] {
        for with_daemon in [false, true] {
            let daemon = if with_daemon { Some(Daemon::start(&home, &settings).await) } else { None };
            let arguments = ["import", &file, named[0], named[1], "--yes"];
            let refused = run(&home, &settings, &arguments).await;
            assert!(refused.code == 1 && refused.err.contains(named[1]), "{}", refused.err);
            assert!(refused.err.contains("--create"), "{}", refused.err);
            drop(daemon);
        }
        run(&home, &settings, &["import", &file, named[0], named[1], "--yes", "--create"]).await.well();
    }
}

/// A PNG picture with the card in it.
fn card_picture(card: &Value) -> Vec<u8> {
    let chunk = |kind: &[u8], data: &[u8]| {
        let length = u32::try_from(data.len()).unwrap().to_be_bytes();
        // Readers do not check the checksum.
        [length.as_slice(), kind, data, &[0; 4]].concat()
    };
    let text = [b"ccv3\0".as_slice(), BASE64_STANDARD.encode(card.to_string()).as_bytes()].concat();
    [
        b"\x89PNG\r\n\x1a\n".to_vec(),
        chunk(b"IHDR", &[0; 13]),
        chunk(b"tEXt", &text),
        chunk(b"IDAT", b"x"),
        chunk(b"IEND", b""),
    ]
    .concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn persona_leaves_as_the_card_that_it_came_as() {
    let (home, settings) = (Home::new(), Settings::offline());
    let mut card = card();
    card["data"]["group_only_greetings"] = json!([]);
    card["data"]["extensions"] = json!({"depth_prompt": {"depth": 4, "prompt": "Gulls cry."}});
    card["data"]["character_book"] = json!({"name": "Coast", "extensions": {}, "entries": [
        {"keys": ["lamp"], "content": "The lamp of {{char}} burns oil.", "enabled": true, "insertion_order": 3,
         "name": "lamp", "use_regex": false, "position": "before_char", "extensions": {}}]});
    let file = home.path().parent().unwrap().join("wren.png");
    fs::write(&file, card_picture(&card)).unwrap();
    let file = file.to_str().unwrap();
    run(&home, &settings, &["import", file, "--persona", "wren", "--create", "--yes"]).await.well();
    let export = async |name: &str| {
        let path = home.path().parent().unwrap().join(name);
        let path = path.to_str().unwrap().to_owned();
        let outcome =
            run(&home, &settings, &["export", &path, "--format", "card", "--persona", "wren"]).await;
        (outcome, path)
    };
    let (outcome, path) = export("first.json").await;
    outcome.well();
    assert_eq!(fs::read_to_string(path).unwrap().parse::<Value>().unwrap(), card);
    let (outcome, picture) = export("first.png").await;
    outcome.well();
    let (outcome, archive) = export("first.charx").await;
    outcome.well();
    let (refused, path) = export("first.txt").await;
    assert!(refused.code == 1 && refused.err.contains(".charx"), "{}", refused.err);
    assert!(!fs::exists(path).unwrap());

    // Each export creates the same persona in another home, including the picture.
    let daemon = Daemon::start(&home, &settings).await;
    let persona = daemon.get("/api/admin/persona?persona_id=wren").await;
    for file in [picture, archive] {
        let other = Home::new();
        let shown =
            run(&other, &settings, &["import", &file, "--persona", "copy", "--create", "--yes"]).await.well();
        assert!(!shown.contains("picture without a card"), "{shown}");
        let elsewhere = Daemon::start(&other, &settings).await;
        let copy = elsewhere.get("/api/admin/persona?persona_id=copy").await;
        assert_eq!(copy["core_blocks"], persona["core_blocks"]);
        assert_eq!((&copy["display_name"], &copy["has_avatar"]), (&json!("Wren"), &json!(true)), "{copy}");
        let exported = elsewhere.get("/api/admin/export?format=card&persona_id=copy").await;
        let mut data = exported["data"].clone();
        data.as_object_mut().unwrap().remove("assets");
        assert_eq!(data, card["data"]);
    }

    // The second card has the changed texts and nothing about the user.
    let changed = json!({"persona_block": "Wren sails.", "user_block": "Tom has a limp."});
    daemon.post("/api/admin/persona?persona_id=wren", &changed).await;
    assert_eq!(daemon.try_delete("/api/admin/persona/avatar?persona_id=wren").await.status, 200);
    let text = daemon.get("/api/admin/export?format=card&persona_id=wren").await;
    assert_eq!(
        (&text["data"]["description"], &text["data"]["personality"]),
        (&json!("Wren sails."), &json!(""))
    );
    assert_eq!(text["data"]["character_book"], card["data"]["character_book"]);
    assert!(!text.to_string().contains("limp"));
    let named = json!({"id": "露\"娜", "display_name": "Luna", "persona_block": "", "style_block": ""});
    daemon.post("/api/admin/personas", &named).await;
    let luna = daemon.get("/api/admin/export?format=card&persona_id=%E9%9C%B2%22%E5%A8%9C").await;
    assert_eq!(luna["data"]["name"], "Luna");
    let (refused, path) = export("second.png").await;
    assert!(refused.code == 1 && refused.err.contains("no PNG picture"), "{}", refused.err);
    assert!(!fs::exists(path).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn erased_lorebook_entry_is_not_in_the_stored_card_either() {
    let (home, settings) = (Home::new(), Settings::offline());
    let mut card = card();
    card["data"]["character_book"] = json!({"name": "Coast", "entries": [
        {"keys": ["lamp"], "content": "The lamp burns oil.\n\"oil\"\nburns, gulls cry", "enabled": true, "insertion_order": 3, "name": "lamp"}]});
    let file = write(&home, "wren.json", &card.to_string());
    run(&home, &settings, &["import", &file, "--replace", "--yes"]).await.well();
    let mut daemon = Daemon::start(&home, &settings).await;
    assert!(home.holds("burns oil"));
    let asked = json!({"documents": ["custom/lore/coast-lamp"], "dry_run": true});
    let shown = daemon.post("/api/admin/memory/erase", &asked).await;
    let confirmed = json!({"documents": ["custom/lore/coast-lamp"], "confirm": shown["id"]});
    daemon.post("/api/admin/memory/erase", &confirmed).await;
    let left = daemon.get("/api/admin/export?format=card").await;
    assert!(
        left.to_string().contains("northern lighthouse") && !left.to_string().contains("burns oil"),
        "{left}"
    );
    run(&home, &settings, &["import", &file, "--replace", "--yes"]).await.well();
    let again = daemon.get("/api/admin/export?format=card").await;
    assert!(again.to_string().contains("burns oil"), "{again}");
    run(&home, &settings, &["memory", "forget", "--text", "\"oil\"\nburns", "--yes"]).await.well();
    run(&home, &settings, &["stop"]).await.well();
    assert!(daemon.ended().await);
    assert!(!home.holds("burns oil") && !home.holds("gulls cry"));
}
