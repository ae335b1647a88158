//! `kill -9` during a thousand writes to the hub: each acknowledged write is stored once, database and files agree,
//! and no file is incomplete.
//!
//! `ECHOVESSEL_SOAK_SEED` repeats a run's random choices.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

use crate::daemon::{Home, PATIENCE, Settings, command, pause};
use crate::program::Program;

const WRITES: usize = 1_000;
const KILLS: usize = 10;
/// Number of concurrent writes.
const AT_ONCE: usize = 6;

/// The writes by number: alternately a line of a daily log, a line of an identity document, and an event.
fn write(number: usize) -> Value {
    let (tool, arguments) = match number % 3 {
        0 => (
            "memory_create",
            json!({"granularity": "daily", "date": format!("2026-03-{:02}", number % 28 + 1), "instanceId": "home",
                   "content": format!("- fact {number} end [chat:c{number}] [via:home]")}),
        ),
        1 => (
            "identity_append",
            json!({"category": "self", "filename": format!("notes{}.md", number % 5), "instanceId": "home",
                   "content": format!("- fact {number} end")}),
        ),
        _ => (
            "memory_create",
            json!({"granularity": "significant", "date": "2026-04-01", "slug": format!("event{number}"),
                   "instanceId": "home", "content": format!("# An event\n\nfact {number} end\n")}),
        ),
    };
    json!({"name": tool, "arguments": arguments})
}

/// Writes until this many writes are acknowledged, then kills the process after a moment. Returns the acknowledged
/// ones.
async fn write_until(
    program: &mut Program,
    numbers: &mut VecDeque<usize>,
    enough: usize,
    moment: Duration,
) -> BTreeSet<usize> {
    let mut under_way: BTreeMap<u64, usize> = BTreeMap::new();
    let mut acknowledged = BTreeSet::new();
    let take = |answer: &Value, under_way: &mut BTreeMap<u64, usize>, acknowledged: &mut BTreeSet<usize>| {
        let Some(number) = answer["id"].as_u64().and_then(|id| under_way.remove(&id)) else { return };
        assert_eq!(answer["result"]["structuredContent"]["success"], true, "{answer}");
        acknowledged.insert(number);
    };
    while acknowledged.len() < enough {
        while under_way.len() < AT_ONCE
            && let Some(number) = numbers.pop_front()
        {
            under_way.insert(program.send("tools/call", &write(number)), number);
        }
        let answer = program.answers.recv_timeout(PATIENCE).unwrap();
        take(&answer, &mut under_way, &mut acknowledged);
    }
    pause(moment).await;
    program.kill();
    while let Ok(answer) = program.answers.recv_timeout(PATIENCE) {
        take(&answer, &mut under_way, &mut acknowledged);
    }
    acknowledged
}

/// Files of the folders below, by path.
fn files_below(folder: &Path, found: &mut BTreeMap<String, String>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => files_below(&entry.path(), found),
            false => {
                let name = format!(
                    "{}/{}",
                    folder.file_name().unwrap().to_str().unwrap(),
                    entry.file_name().to_str().unwrap()
                );
                found.insert(name, std::fs::read_to_string(entry.path()).unwrap());
            }
        }
    }
}

/// All documents in the database, each with the content of its file.
fn documents(home: &Home, program: &mut Program) -> Vec<String> {
    let mut files = BTreeMap::new();
    files_below(&home.file("identity"), &mut files);
    files_below(&home.file("memories"), &mut files);
    let pulled = program.call("sync_pull", &json!({"instanceId": "home"}));
    let mut texts = Vec::new();
    let mut compare = |path: String, content: &Value| {
        let content = content.as_str().unwrap();
        let file = files.remove(&path).unwrap_or_else(|| panic!("{path} has no file"));
        let (head, text) = file.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
        assert!(head.contains("digest: "), "{path}: {head}");
        assert_eq!(text, content, "{path}");
        texts.push(content.to_owned());
    };
    for category in ["self", "user", "relationship", "custom"] {
        for item in pulled["identityFiles"][category].as_array().unwrap() {
            compare(format!("{category}/{}", item["filename"].as_str().unwrap()), &item["content"]);
        }
    }
    for item in pulled["memories"].as_array().unwrap() {
        let (kind, date) = (item["granularity"].as_str().unwrap(), item["date"].as_str().unwrap());
        let rest = item["slug"].as_str().unwrap_or("home");
        compare(format!("{kind}/{date}_{rest}.md"), &item["content"]);
    }
    assert!(files.is_empty(), "files that no document has: {:?}", files.keys());
    texts
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_writes_survive_being_killed() {
    let home = Home::new();
    let settings = Settings::offline().key("hub.instance", "home").key("hub.catch_up", false);
    let seed = std::env::var("ECHOVESSEL_SOAK_SEED").map_or(7, |seed| seed.parse().unwrap());
    let mut random = StdRng::seed_from_u64(seed);
    let mut places: Vec<usize> = (0..KILLS).map(|_| random.random_range(1..WRITES)).collect();
    places.sort_unstable();
    let mut numbers: VecDeque<usize> = (0..WRITES).collect();
    let (mut acknowledged, mut places) = (BTreeSet::new(), VecDeque::from(places));
    while !numbers.is_empty() {
        let mut program = Program::start(&home, &settings);
        documents(&home, &mut program);
        let place = places.pop_front().unwrap_or(usize::MAX);
        let enough = place.saturating_sub(acknowledged.len()).min(numbers.len());
        let moment = Duration::from_micros(random.random_range(0..8_000));
        acknowledged.extend(write_until(&mut program, &mut numbers, enough, moment).await);
    }
    println!("seed {seed}: {KILLS} kills, {} of {WRITES} writes acknowledged", acknowledged.len());
    assert!(acknowledged.len() > WRITES * 9 / 10);

    let mut program = Program::start(&home, &settings);
    let texts = documents(&home, &mut program).join("\n");
    let mut times: BTreeMap<usize, usize> = BTreeMap::new();
    for fact in texts.split("fact ").skip(1) {
        let (number, rest) = fact.split_once(' ').unwrap();
        assert!(rest.starts_with("end"), "half of a line: {fact}");
        *times.entry(number.parse().unwrap()).or_default() += 1;
    }
    for number in 0..WRITES {
        let count = times.get(&number).copied().unwrap_or(0);
        let is_right = count == 1 || count == 0 && !acknowledged.contains(&number);
        assert!(is_right, "write {number} is there {count} times");
    }
    drop(program);
    let output = command(&home, &settings, &["doctor", "--json"]).output().unwrap();
    let findings: Value = serde_json::from_slice(&output.stdout).unwrap();
    let database = findings.as_array().unwrap().iter().find(|finding| finding["what"] == "database").unwrap();
    assert_eq!(database["ok"], true, "{findings}");
}
