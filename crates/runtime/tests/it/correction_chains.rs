//! Generated lives in both languages: a value that changes one to five times among chatter and retellings.

use std::sync::{Arc, Mutex};

use memory::nodes::NodeKind;
use serde_json::json;
use testkit::Reply;

use crate::corrected::{handle_of, stale};
use crate::persona_year::Dice;
use crate::world::{HOUR, WEB, World, section, settings};

/// Lives of one run; `ECHOVESSEL_LIVES` asks for more.
const SEEDS: u64 = 6;

/// How a life tells its value in one language.
struct Language {
    values: &'static [&'static str],
    said: fn(&str, bool) -> String,
    remembered: fn(&str) -> String,
    retold: fn(&str) -> String,
    chatter: &'static [&'static str],
    asked: &'static str,
    asked_before: &'static str,
    unrelated: &'static [&'static str],
}

const ENGLISH: Language = Language {
    values: &["Berlin", "Lyon", "Porto", "Oslo", "Krakow", "Dublin"],
    said: |value, first| match first {
        true => format!("i have news: i live in {value}, in a small flat"),
        false => format!("no, i live in {value} now, in a small flat"),
    },
    remembered: |value| format!("The user lives in a small flat in {value}"),
    retold: |value| format!("my aunt still thinks that i have that flat in {value}"),
    chatter: &["it rained all day", "what a long week", "hello again"],
    asked: "where do i live, where is my small flat?",
    asked_before: "where did i live before, where was my small flat?",
    unrelated: &["i have a piano named Otto", "i have a sister named Mila", "i have a bicycle named Blitz"],
};

const CHINESE: Language = Language {
    values: &["小黑", "小白", "豆豆", "团子", "毛毛", "芝麻"],
    said: |value, first| match first {
        true => format!("我养了一只猫，叫{value}"),
        false => format!("我的猫改名了，现在叫{value}"),
    },
    remembered: |value| format!("用户的猫叫{value}"),
    retold: |value| format!("我妈还是管我的猫叫{value}"),
    chatter: &["今天一直下雨", "这周好长", "又见面了"],
    asked: "我的猫叫什么？",
    asked_before: "我的猫以前叫什么？",
    unrelated: &["我叫小明，我弹钢琴", "我有一个姐姐叫米拉", "我喜欢在河边跑步"],
};

/// What a good model would make of the session that ends next: an event, and which one it replaces.
type Script = Arc<Mutex<Option<(String, String, Vec<String>)>>>;

fn follow(world: &World, script: &Script) {
    let script = Arc::clone(script);
    world.model.on("extraction", move |request| {
        let Some((said, description, older)) = script.lock().unwrap().take() else {
            return Reply::json(json!({"events": [], "self_check_notes": ""}));
        };
        let supersedes: Vec<String> = older.iter().filter_map(|older| handle_of(request, older)).collect();
        Reply::json(json!({"self_check_notes": "", "events": [{
            "type": "event", "description": description, "emotional_impact": 1, "supersedes": supersedes,
            "evidence": [{"message": "m1", "quote": said}],
        }]}))
    });
}

#[derive(Debug, Default)]
struct Figures {
    lives: usize,
    stale: usize,
    current: usize,
    former: usize,
}

async fn live(language: &Language, seed: u64, figures: &mut Figures) {
    let mut dice = Dice::new(seed);
    let settings = runtime::RuntimeSettings { recent_window: 1 + 3 * (seed % 4) as u32, ..settings() };
    let mut world = World::with(settings, None).await;
    let script = Script::default();
    follow(&world, &script);
    for said in language.unrelated {
        *script.lock().unwrap() = Some(((*said).to_owned(), (*said).to_owned(), Vec::new()));
        world.talk(WEB, said).await;
        world.silence().await;
    }
    let changes = 1 + dice.below(5);
    let first = dice.below(language.values.len());
    let values: Vec<&str> =
        (0..=changes).map(|at| language.values[(first + at) % language.values.len()]).collect();
    for (at, value) in values.iter().enumerate() {
        let said = (language.said)(value, at == 0);
        let older = at.checked_sub(1).map(|before| (language.remembered)(values[before]));
        *script.lock().unwrap() =
            Some((said.clone(), (language.remembered)(value), older.into_iter().collect()));
        world.talk(WEB, &said).await;
        world.silence().await;
        world.pass(30 * HOUR).await;
        if dice.chance(60) {
            let line: &&str = dice.pick(language.chatter);
            world.talk(WEB, line).await;
            world.silence().await;
        }
        if at > 0 && dice.chance(50) {
            world.talk(WEB, &(language.retold)(values[dice.below(at)])).await;
            world.silence().await;
        }
    }
    let (current, former) = values.split_last().unwrap();
    figures.lives += 1;
    world.talk(WEB, language.asked).await;
    let prompt = world.last_prompt();
    figures.current += usize::from(section(&prompt, "Recent things you remember happened").contains(current));
    let found: Vec<&str> = former.iter().flat_map(|value| stale(&prompt, value)).collect();
    assert!(found.is_empty(), "seed {seed}: {found:?}\n{prompt}");
    figures.stale += found.len();
    world.talk(WEB, language.asked_before).await;
    let prompt = world.last_prompt();
    let section_of_past = section(&prompt, "What is no longer so");
    let dated = |value: &&&str| {
        section_of_past.lines().any(|line| line.contains(**value) && line.contains("- until 2026-"))
    };
    figures.former += usize::from(former.iter().filter(dated).count() == former.len());
    let kept = world.nodes(NodeKind::Event).await;
    for said in language.unrelated {
        assert!(kept.iter().any(|node| node.description == *said && node.superseded_by.is_none()), "{said}");
    }
}

#[tokio::test]
async fn generated_lives_are_told_what_is_current() {
    let seeds = std::env::var("ECHOVESSEL_LIVES").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(SEEDS);
    for language in [&ENGLISH, &CHINESE] {
        let mut figures = Figures::default();
        for seed in 0..seeds {
            live(language, seed, &mut figures).await;
        }
        println!("{figures:?}");
        let share = |count: usize| count as f64 / figures.lives as f64;
        assert_eq!(figures.stale, 0, "{figures:?}");
        assert!(share(figures.current) >= 0.95, "{figures:?}");
        assert!(share(figures.former) >= 0.9, "{figures:?}");
    }
}
