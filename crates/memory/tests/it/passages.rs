//! Verbatim passages and their ranking.

use std::sync::Mutex;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use memory::Scope;
use memory::messages::Role::{self, Persona, User};
use memory::ports::{Corpus, EmbedError, Embedder, Embedding};
use memory::recall::{
    Query, RecallRequest, RecallResult, RecallSettings, SpeakerNames, rank_messages, recall,
};
use memory::vector_index::VectorIndex;

use crate::home::{Home, run, scope};
use crate::recall::NOW;

fn talk(home: &Home, scope: &Scope, session: u128, lines: &[(Role, &str)]) -> Vec<i64> {
    let start = NOW - SignedDuration::from_hours(24 * (100 - session as i64));
    let at = |line: usize| -> Timestamp { start + SignedDuration::from_secs(30 * line as i64) };
    lines
        .iter()
        .enumerate()
        .map(|(n, (role, text))| home.add_message(scope, session, *role, text, at(n)))
        .collect()
}

fn ask(home: &Home, scope: &Scope, text: &str, window: Vec<i64>) -> RecallResult {
    let request =
        RecallRequest { scope: scope.clone(), text: text.to_owned(), now: NOW, zone: TimeZone::UTC, window };
    run(recall(&home.store, &VectorIndex::default(), None, &RecallSettings::default(), request)).unwrap()
}

fn ranking(home: &Home, scope: &Scope, text: &str, names: SpeakerNames) -> Vec<i64> {
    let settings = RecallSettings { speaker_names: names, ..RecallSettings::default() };
    run(async {
        let query = Query::new(text, NOW, &TimeZone::UTC, &settings, None).await;
        let ranked =
            rank_messages(&home.store, &VectorIndex::default(), scope, &query, &[], &settings, 50).await;
        ranked.unwrap().into_iter().map(|ranked| ranked.message.seq).collect()
    })
}

#[test]
fn a_passage_is_verbatim_with_its_neighbours_and_speakers() {
    let (home, me) = (Home::new(), scope("me"));
    let seqs = talk(
        &home,
        &me,
        1,
        &[
            (User, "今天下班好累"),
            (Persona, "想聊聊吗"),
            (User, "我爷爷以前总带我去钓鱼"),
            (Persona, "听起来很温暖"),
            (User, "晚饭吃了面"),
        ],
    );
    talk(&home, &me, 2, &[(User, "周末打算去看电影"), (Persona, "看什么片子")]);
    let recalled = ask(&home, &me, "还记得我爷爷吗", Vec::new());
    assert_eq!(recalled.passages.len(), 1);
    let passage = &recalled.passages[0];
    assert_eq!(passage.hit_seq, seqs[2]);
    let shown: Vec<(Role, &str)> = passage.messages.iter().map(|m| (m.role, m.content.as_str())).collect();
    assert_eq!(shown, [(Persona, "想聊聊吗"), (User, "我爷爷以前总带我去钓鱼"), (Persona, "听起来很温暖")]);
    let candidate = recalled.candidates.iter().find(|candidate| candidate.used).unwrap();
    assert_eq!((candidate.type_name.as_str(), candidate.relevance), ("user", None));
    let parts = candidate.parts.as_ref().unwrap();
    assert!((parts.values().sum::<f64>() - candidate.total).abs() < 1e-9);
}

#[test]
fn nothing_of_the_window_is_repeated() {
    let (home, me) = (Home::new(), scope("me"));
    let seqs =
        talk(&home, &me, 1, &[(User, "my violin broke"), (Persona, "oh no"), (User, "the violin again")]);
    let recalled = ask(&home, &me, "my violin", seqs[1..].to_vec());
    let shown: Vec<i64> = recalled.passages.iter().flat_map(|p| p.messages.iter().map(|m| m.seq)).collect();
    assert_eq!(shown, [seqs[0]]);
    assert!(ask(&home, &me, "my violin", seqs).passages.is_empty());
}

#[test]
fn an_answer_is_found_by_the_question_before_it() {
    let (home, me) = (Home::new(), scope("me"));
    talk(&home, &me, 1, &[(User, "I bought new shoes"), (Persona, "Lovely")]);
    let seqs = talk(
        &home,
        &me,
        2,
        &[(Persona, "Where did you go on vacation?"), (User, "Lisbon, with Ann"), (Persona, "How nice")],
    );
    // Both passages contain the word, the answer through the question that it follows; but the question only asks.
    assert_eq!(ranking(&home, &me, "vacation", SpeakerNames::default())[..2], [seqs[1], seqs[0]]);
    let recalled = ask(&home, &me, "my vacation", Vec::new());
    assert!(recalled.passages[0].messages.iter().any(|message| message.content == "Lisbon, with Ann"));
}

#[test]
fn a_question_of_the_log_ranks_below_its_answer() {
    let (home, me) = (Home::new(), scope("me"));
    let seqs = talk(
        &home,
        &me,
        1,
        &[(User, "Do you remember my dentist?"), (Persona, "Not yet"), (User, "My dentist is Dr. Moss")],
    );
    assert_eq!(ranking(&home, &me, "Do you remember my dentist?", SpeakerNames::default())[0], seqs[2]);
}

#[test]
fn a_named_speaker_is_preferred() {
    let (home, me) = (Home::new(), scope("me"));
    let mine = talk(&home, &me, 1, &[(User, "I adore sailing boats")])[0];
    let theirs = talk(&home, &me, 2, &[(Persona, "I adore sailing boats")])[0];
    let names = SpeakerNames { user: vec!["Caroline".to_owned()], persona: vec!["Mel".to_owned()] };
    assert_eq!(ranking(&home, &me, "What does Caroline adore?", names.clone()), [mine, theirs]);
    assert_eq!(ranking(&home, &me, "What does Mel adore?", names), [theirs, mine]);
}

#[test]
fn a_speaker_who_is_only_called_is_not_preferred() {
    let (home, me) = (Home::new(), scope("me"));
    let theirs = talk(&home, &me, 1, &[(Persona, "I adore sailing boats")])[0];
    let mine = talk(&home, &me, 2, &[(User, "I adore sailing boats")])[0];
    let names = SpeakerNames { user: Vec::new(), persona: vec!["Mel".to_owned()] };
    assert_eq!(ranking(&home, &me, "Mel, who adores sailing?", names.clone()), [mine, theirs]);
    assert_eq!(ranking(&home, &me, "Does Mel adore sailing?", names), [theirs, mine]);
}

#[test]
fn messages_of_the_named_time_are_preferred() {
    let (home, me) = (Home::new(), scope("me"));
    let seqs: Vec<i64> =
        (97..=99).flat_map(|day| talk(&home, &me, day, &[(User, "I baked a cake")])).collect();
    // Session n of these tests is 100 − n days old.
    let asked = ranking(&home, &me, "What did I bake two days ago?", SpeakerNames::default());
    assert_eq!(asked[0], seqs[1]);
    assert_eq!(ranking(&home, &me, "What did I bake?", SpeakerNames::default())[0], seqs[2]);
}

#[test]
fn a_question_for_a_time_prefers_what_tells_one() {
    let (home, me) = (Home::new(), scope("me"));
    let told = talk(&home, &me, 1, &[(User, "moved flat last weekend")])[0];
    let other = talk(&home, &me, 2, &[(User, "moved flat with Ann")])[0];
    let names = SpeakerNames::default;
    assert_eq!(ranking(&home, &me, "When did we move flat?", names()), [told, other]);
    assert_eq!(ranking(&home, &me, "Who moved flat?", names()), [other, told]);
}

#[test]
fn a_long_silence_parts_talks() {
    let (home, me) = (Home::new(), scope("me"));
    let later = NOW - SignedDuration::from_hours(50);
    home.add_message(
        &me,
        1,
        Persona,
        "Where did you spend the holidays",
        NOW - SignedDuration::from_hours(99),
    );
    let seq = home.add_message(&me, 1, User, "Lisbon is lovely", later);
    let found = ranking(&home, &me, "holidays", SpeakerNames::default());
    let ranked = ask(&home, &me, "holidays", Vec::new());
    assert!(found.contains(&seq));
    assert!(ranked.candidates.iter().all(|c| c.text != "Lisbon is lovely" || !c.used));
}

#[test]
fn the_order_of_writing_does_not_show() {
    let lines: Vec<(u128, &str)> =
        (1..=12).map(|n| (n, if n % 3 == 0 { "my cat sleeps" } else { "cat food" })).collect();
    let texts = |order: Vec<(u128, &str)>| {
        let (home, me) = (Home::new(), scope("me"));
        for (session, text) in order {
            talk(&home, &me, session, &[(User, text)]);
        }
        let candidates = ask(&home, &me, "does my cat sleep?", Vec::new()).candidates;
        candidates.into_iter().map(|c| (c.text, c.created_at, c.total)).collect::<Vec<_>>()
    };
    let reversed: Vec<(u128, &str)> = lines.iter().rev().copied().collect();
    assert_eq!(texts(lines), texts(reversed));
}

/// Embeds every text as the same vector and records the texts.
struct Recording(Mutex<Vec<String>>);

#[async_trait::async_trait]
impl Embedder for Recording {
    fn dimension(&self) -> usize {
        2
    }

    fn fingerprint(&self) -> &str {
        crate::home::FINGERPRINT
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        self.0.lock().unwrap().extend(texts.iter().cloned());
        Ok(texts.iter().map(|_| Embedding { vector: vec![1.0, 0.0], readability: 1.0 }).collect())
    }
}

#[test]
fn messages_are_looked_for_in_the_first_person_and_nodes_as_asked() {
    let embedder = Recording(Mutex::default());
    let speaker_names = SpeakerNames { user: vec!["Ann".to_owned()], persona: Vec::new() };
    let settings = RecallSettings { speaker_names, ..RecallSettings::default() };
    let new = |text| run(Query::new(text, NOW, &TimeZone::UTC, &settings, Some(&embedder)));
    let query = new("Where does Ann's sister live?");
    assert_eq!(*embedder.0.lock().unwrap(), ["Where does Ann's sister live?", "Where does my sister live?"]);
    assert_eq!((query.vectors().count(), query.question.vectors.len()), (1, 1));
    embedder.0.lock().unwrap().clear();
    new("Where does my sister live?");
    assert_eq!(embedder.0.lock().unwrap().len(), 1);
}

#[test]
fn passages_keep_to_their_budget() {
    let (home, me) = (Home::new(), scope("me"));
    for session in 1..=8 {
        talk(
            &home,
            &me,
            session,
            &[(User, &format!("violin lesson {session} {}", "very long ".repeat(250)))],
        );
    }
    let recalled = ask(&home, &me, "violin", Vec::new());
    let tokens: u32 = recalled.passages.iter().flat_map(|p| &p.messages).map(|m| m.token_count).sum();
    assert!(!recalled.passages.is_empty() && tokens <= RecallSettings::default().passage_tokens);
    assert!(recalled.candidates.iter().any(|candidate| candidate.reason == "exceeds the token budget"));
}

#[test]
fn a_message_is_found_by_meaning_too() {
    let (home, me) = (Home::new(), scope("me"));
    let seqs = talk(&home, &me, 1, &[(User, "my kitten sleeps all day"), (User, "taxes are due")]);
    home.put_vector(Corpus::Messages, seqs[0], &[0.8, 0.6], 1.0);
    home.put_vector(Corpus::Messages, seqs[1], &[0.0, 1.0], 1.0);
    let settings = RecallSettings::default();
    let mut query = run(Query::new("cat", NOW, &TimeZone::UTC, &settings, None));
    query.question.vectors = vec![vec![1.0, 0.0]];
    query.fingerprint = Some(crate::home::FINGERPRINT.to_owned());
    let ranked =
        run(rank_messages(&home.store, &VectorIndex::default(), &me, &query, &[], &settings, 9)).unwrap();
    assert_eq!(ranked[0].message.seq, seqs[0]);
    assert!(ranked[0].vector > 0.4 && ranked[1].vector < 0.4);
}

#[test]
fn a_limit_leaves_the_best_and_changes_nothing_about_them() {
    let (home, me) = (Home::new(), scope("me"));
    let lines =
        ["my cat sleeps", "the cat's bowl is red", "a cat, a cat", "taxes are due", "where is my cat?"];
    talk(&home, &me, 1, &lines.map(|line| (User, line)));
    let settings = RecallSettings::default();
    let query = run(Query::new("Where does my cat sleep?", NOW, &TimeZone::UTC, &settings, None));
    let ranked = |limit| {
        run(rank_messages(&home.store, &VectorIndex::default(), &me, &query, &[], &settings, limit)).unwrap()
    };
    let all = ranked(9);
    assert_eq!(all.len(), lines.len());
    assert!(all[0].support > 0.4 && all.is_sorted_by(|a, b| a.total >= b.total));
    for limit in 0..=all.len() {
        assert_eq!(ranked(limit), all[..limit]);
    }
}
