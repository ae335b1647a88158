//! Recall as a whole: which memories it returns, which not, and why.

use async_trait::async_trait;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use memory::Scope;
use memory::messages::Role;
use memory::nodes::{EventTime, Node, NodeKind, RelationalTag, Subject};
use memory::ports::{Corpus, EmbedError, Embedder, Embedding};
use memory::recall::{RecallRequest, RecallResult, RecallSettings, recall};
use memory::vector_index::VectorIndex;
use proptest::prelude::*;

use crate::home::{FINGERPRINT, Home, blank_node, run, scope};

pub(crate) const NOW: Timestamp = Timestamp::constant(1_718_000_000, 0);

const UNRELATED: [&str; 10] = [
    "用户每天早上喝一杯黑咖啡",
    "用户在一家软件公司上班",
    "用户的妹妹在上海读大学",
    "用户最近在学吉他",
    "用户不喜欢吃香菜",
    "用户上个月搬到了杭州",
    "用户的父亲身体不太好",
    "用户周末常去爬山",
    "用户养过一盆小绿萝",
    "用户害怕打雷",
];

/// Embeds each text as the vector that was set for it.
struct FixedEmbedder(Vec<(&'static str, [f32; 3], f32)>);

#[async_trait]
impl Embedder for FixedEmbedder {
    fn dimension(&self) -> usize {
        3
    }

    fn fingerprint(&self) -> &str {
        FINGERPRINT
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        let of_text = |text: &String| {
            let known = self.0.iter().find(|(known, _, _)| known == text);
            let (_, vector, readability) =
                known.ok_or_else(|| EmbedError::Failed(format!("no vector for {text:?}")))?;
            Ok(Embedding { vector: vector.to_vec(), readability: *readability })
        };
        texts.iter().map(of_text).collect()
    }
}

pub(crate) fn ask(home: &Home, scope: &Scope, text: &str, embedder: Option<&dyn Embedder>) -> RecallResult {
    let request = RecallRequest {
        scope: scope.clone(),
        text: text.to_owned(),
        now: NOW,
        zone: TimeZone::UTC,
        window: Vec::new(),
    };
    run(recall(&home.store, &VectorIndex::default(), embedder, &RecallSettings::default(), request)).unwrap()
}

fn texts(recalled: &RecallResult) -> Vec<&str> {
    recalled.nodes.iter().map(|scored| scored.node.description.as_str()).collect()
}

fn event(home: &Home, scope: &Scope, text: &str) -> i64 {
    home.add_node(scope, NodeKind::Event, text, NOW)
}

#[test]
fn the_cat_comes_first_by_words_alone() {
    let (home, me) = (Home::new(), scope("me"));
    UNRELATED.iter().for_each(|text| {
        event(&home, &me, text);
    });
    event(&home, &me, "用户养了一只白猫,叫小黑");
    for question in ["你还记得我的猫吗", "小黑怎么样了", "我的白猫呢"] {
        let recalled = ask(&home, &me, question, None);
        assert_eq!(texts(&recalled).first(), Some(&"用户养了一只白猫,叫小黑"), "{question}");
    }
    assert_eq!(texts(&ask(&home, &me, "你还记得我的猫吗", None)).len(), 1);
    assert_eq!(texts(&ask(&home, &me, "我妹妹在哪里", None)), ["用户的妹妹在上海读大学"]);
}

#[test]
fn an_acknowledgement_brings_nothing() {
    let (home, me) = (Home::new(), scope("me"));
    UNRELATED.iter().for_each(|text| {
        event(&home, &me, text);
    });
    event(&home, &me, "嗯,用户说好的");
    for text in ["嗯", "好的", "ok", "", "你还记得吗?"] {
        let recalled = ask(&home, &me, text, None);
        assert!(recalled.nodes.is_empty() && recalled.passages.is_empty(), "{text}");
    }
}

/// Facts about the user, among many other memories.
fn somebody(identity: &[&str]) -> (Home, Scope) {
    let (home, me) = (Home::new(), scope("me"));
    for text in identity {
        let tags = vec![RelationalTag::IdentityBearing];
        let node = Node { description: (*text).to_owned(), relational_tags: tags, ..blank_node() };
        home.add(&me, Node { created_at: NOW - SignedDuration::from_hours(24 * 400), ..node });
    }
    UNRELATED.iter().for_each(|text| {
        event(&home, &me, text);
    });
    (home, me)
}

#[test]
fn questions_about_the_user_recall_their_identity() {
    let (home, me) = somebody(&["用户叫林晚，住在成都。", "用户是护士"]);
    for question in ["我叫什么名字？", "我叫什么", "你知道我是谁吗", "What's my name?", "我住在哪里"]
    {
        let recalled = ask(&home, &me, question, None);
        assert_eq!(texts(&recalled).first(), Some(&"用户叫林晚，住在成都。"), "{question}");
        assert!(!recalled.nothing_found, "{question}");
    }
    assert_eq!(texts(&ask(&home, &me, "我做什么工作", None)).first(), Some(&"用户是护士"));
    let (home, me) = somebody(&["The user is Mia and is a nurse in Lisbon.", "The user is 29 years old"]);
    for question in ["What's my name?", "我叫什么名字？", "What do I do for a living?"] {
        let recalled = ask(&home, &me, question, None);
        assert_eq!(
            texts(&recalled).first(),
            Some(&"The user is Mia and is a nurse in Lisbon."),
            "{question}"
        );
    }
    assert_eq!(texts(&ask(&home, &me, "How old am I?", None)).first(), Some(&"The user is 29 years old"));
    // Other questions return none of them.
    assert!(ask(&home, &me, "嗯", None).nodes.is_empty());
    assert!(ask(&home, &me, "Who is my dentist?", None).nodes.is_empty());
}

#[test]
fn a_name_that_was_never_said_is_not_known() {
    for identity in [&["用户今年二十九岁"][..], &[]] {
        let (home, me) = somebody(identity);
        for question in ["我叫什么", "我叫什么名字？", "What's my name?"] {
            assert!(ask(&home, &me, question, None).nothing_found, "{question}");
        }
    }
}

#[test]
fn a_name_in_the_log_is_found() {
    let (home, me) = (Home::new(), scope("me"));
    home.add_message(&me, 1, Role::User, "我叫王小明，今年28岁，是个程序员。", NOW);
    home.add_message(&me, 1, Role::Persona, "你好呀！", NOW);
    for question in ["我叫什么？", "我叫什么名字", "你记得我的名字吗"] {
        let recalled = ask(&home, &me, question, None);
        assert!(!recalled.nothing_found, "{question}: {}", recalled.support);
        assert!(recalled.passages.iter().any(|p| format!("{p:?}").contains("王小明")), "{question}");
    }
}

#[test]
fn an_unanswered_question_is_no_evidence_of_its_answer() {
    for (question, answers) in [
        (
            "What did I say about my accordion teacher?",
            [
                "I don't know that. Right now I can only answer from what I remember.",
                "I don't think you've told me about an accordion teacher. Would you like to?",
            ],
        ),
        (
            "我的手风琴老师叫什么名字",
            ["这个我不知道。我现在只能凭记得的事回答。", "你好像没跟我说过手风琴老师。她是谁呀？"],
        ),
    ] {
        for answer in answers {
            let (home, me) = (Home::new(), scope("me"));
            for _ in 0..2 {
                home.add_message(&me, 1, Role::User, question, NOW);
                home.add_message(&me, 1, Role::Persona, answer, NOW);
            }
            let recalled = ask(&home, &me, question, None);
            assert!(recalled.nothing_found && recalled.support < 1e-9, "{answer}: {}", recalled.support);
            home.add_message(&me, 2, Role::Persona, question, NOW);
            home.add_message(&me, 2, Role::User, "Anna, from Porto", NOW);
            assert!(!ask(&home, &me, question, None).nothing_found, "what answers it is evidence");
        }
    }
}

#[test]
fn a_grave_memory_does_not_surface_unasked() {
    let (home, me) = (Home::new(), scope("me"));
    let grave =
        Node { description: "The user's mother died".to_owned(), emotional_impact: -9, ..blank_node() };
    let grave = home.add(&me, Node { created_at: NOW, ..grave });
    let cat = event(&home, &me, "The user has a kitten");
    home.put_vector(Corpus::Nodes, grave, &[0.0, 1.0, 0.0], 1.0);
    home.put_vector(Corpus::Nodes, cat, &[0.6, 0.8, 0.0], 1.0);
    let embedder = FixedEmbedder(vec![("my cat?", [1.0, 0.0, 0.0], 1.0)]);
    let recalled = ask(&home, &me, "my cat?", Some(&embedder));
    assert_eq!(texts(&recalled), ["The user has a kitten"]);
    let fallen = recalled.candidates.iter().find(|candidate| !candidate.used).unwrap();
    assert!((fallen.vector_relevance.unwrap() - 0.293).abs() < 1e-3);
    assert_eq!(fallen.reason, "relevance 0.29 is below 0.4");
    assert_eq!(recalled.words_only, None);
}

#[test]
fn unreadable_texts_are_not_compared_by_vector() {
    let (home, me) = (Home::new(), scope("me"));
    for text in ["用户怀孕了", "用户离婚了"] {
        let seq = event(&home, &me, text);
        home.put_vector(Corpus::Nodes, seq, &[1.0, 0.0, 0.0], 0.1);
    }
    let embedder = FixedEmbedder(vec![("我怀孕的事", [1.0, 0.0, 0.0], 0.1)]);
    let recalled = ask(&home, &me, "我怀孕的事", Some(&embedder));
    assert_eq!(texts(&recalled), ["用户怀孕了"]);
    assert_eq!(recalled.candidates[0].vector_relevance, Some(0.0));
    // A readable question is not compared with an unreadable memory either.
    let embedder = FixedEmbedder(vec![("any news?", [1.0, 0.0, 0.0], 1.0)]);
    assert!(ask(&home, &me, "any news?", Some(&embedder)).nodes.is_empty());
}

#[test]
fn a_failing_embedder_leaves_words_and_is_noted() {
    let (home, me) = (Home::new(), scope("me"));
    event(&home, &me, "The user has a cat");
    let recalled = ask(&home, &me, "my cat", Some(&FixedEmbedder(Vec::new())));
    assert_eq!(texts(&recalled), ["The user has a cat"]);
    assert_eq!(recalled.words_only.as_deref(), Some("the embedding model failed: no vector for \"my cat\""));
}

#[test]
fn a_named_entity_brings_what_it_is_linked_to() {
    let (home, me) = (Home::new(), scope("me"));
    let fed = event(&home, &me, "用户昨晚忘了喂它");
    let other = event(&home, &me, "用户的狗爱吃骨头");
    home.add_entity(&me, &["小黑"], &[fed]);
    home.add_entity(&me, &["小黑狗"], &[other]);
    let recalled = ask(&home, &me, "小黑狗在干嘛", None);
    assert_eq!(recalled.entities.len(), 1, "the longest name counts");
    assert!(
        texts(&recalled).contains(&"用户的狗爱吃骨头") && !texts(&recalled).contains(&"用户昨晚忘了喂它")
    );
    assert_eq!(texts(&ask(&home, &me, "小黑呢", None)), ["用户昨晚忘了喂它"]);

    let ann = event(&home, &me, "She moved to Lisbon");
    home.add_entity(&me, &["Ann"], &[ann]);
    assert_eq!(texts(&ask(&home, &me, "ANN?", None)), ["She moved to Lisbon"]);
    assert!(ask(&home, &me, "planning", None).nodes.is_empty());
}

#[test]
fn a_fresh_thought_about_a_hit_comes_along_and_a_stale_one_does_not() {
    let (home, me) = (Home::new(), scope("me"));
    let cat = event(&home, &me, "The user adopted a cat, a kitten with a violet collar");
    let sibling = event(&home, &me, "The user bought a collar");
    let unrelated =
        Node { description: "The user's grandmother died".to_owned(), emotional_impact: -9, ..blank_node() };
    let unrelated = home.add(&me, Node { kind: NodeKind::Event, created_at: NOW, ..unrelated });
    let think = |text: &str, created_at, cited: &[i64]| {
        let thought = Node { kind: NodeKind::Thought, created_at, ..blank_node() };
        home.add_nodes(&me, vec![Node { description: text.to_owned(), ..thought }], cited)[0]
    };
    let fresh = think("A cat keeps them company", NOW, &[cat, sibling, unrelated]);
    think("Without the cat evenings were hard", NOW - SignedDuration::from_hours(24 * 30), &[cat]);
    // One of four words is not relevant enough to be selected.
    let recalled = ask(&home, &me, "cat kitten violet collar", None);
    let found = texts(&recalled);
    assert_eq!(found[0], "The user adopted a cat, a kitten with a violet collar");
    assert!(found.contains(&"A cat keeps them company") && found.contains(&"The user bought a collar"));
    assert!(!found.contains(&"Without the cat evenings were hard"));
    assert!(!found.contains(&"The user's grandmother died"), "feeling and a path bring nothing unrelated");
    let thought = recalled.nodes.iter().find(|scored| scored.node.seq == fresh).unwrap();
    assert_eq!((thought.score.path, thought.score.relational_bonus), (1.0, 0.5));
}

#[test]
fn a_named_time_brings_what_happened_then() {
    let (home, me) = (Home::new(), scope("me"));
    let yesterday = NOW - SignedDuration::from_hours(24);
    let dated = |text: &str, start: Timestamp| Node {
        description: text.to_owned(),
        event_time: Some(EventTime { start, end: None }),
        created_at: NOW,
        ..blank_node()
    };
    home.add(&me, dated("用户去看了牙医", yesterday));
    home.add(&me, dated("用户去了海边", NOW - SignedDuration::from_hours(24 * 9)));
    assert_eq!(texts(&ask(&home, &me, "我昨天做了什么", None)), ["用户去看了牙医"]);
    assert_eq!(texts(&ask(&home, &me, "what did I do yesterday?", None)), ["用户去看了牙医"]);
}

#[test]
fn near_duplicates_are_thinned() {
    let (home, me) = (Home::new(), scope("me"));
    let texts_and_vectors = [
        ("The user has a cat", [1.0, 0.0, 0.0]),
        ("THE USER HAS A CAT", [0.999, 0.0, 0.04]),
        ("A cat the user has", [0.999, 0.04, 0.0]),
        ("The user has one cat", [0.999, 0.0, 0.04]),
    ];
    for (text, vector) in texts_and_vectors {
        let seq = event(&home, &me, text);
        home.put_vector(Corpus::Nodes, seq, &vector, 1.0);
    }
    let embedder = FixedEmbedder(vec![("cat", [0.9, 0.1, 0.42], 1.0)]);
    let recalled = ask(&home, &me, "cat", Some(&embedder));
    // One of the first three stays: they have the same folded text, or the same words and almost the same vector. The
    // last one contains "one".
    assert_eq!(recalled.nodes.len(), 2);
    assert!(texts(&recalled).contains(&"The user has one cat"));
    let doubles = recalled.candidates.iter().filter(|candidate| candidate.reason == "repeats a better one");
    assert_eq!(doubles.count(), 2);
}

#[test]
fn the_best_ten_are_used_and_the_others_have_a_reason() {
    let (home, me) = (Home::new(), scope("me"));
    for n in 0..12 {
        let description = format!("The cat did trick number {n}");
        home.add(&me, Node { description, emotional_impact: n % 10, created_at: NOW, ..blank_node() });
    }
    let recalled = ask(&home, &me, "cat", None);
    assert_eq!(recalled.nodes.len(), 10);
    assert_eq!(texts(&recalled)[0], "The cat did trick number 9");
    assert!(recalled.nodes.is_sorted_by(|a, b| a.score.total >= b.score.total));
    let fallen: Vec<&str> =
        recalled.candidates.iter().filter(|candidate| !candidate.used).map(|c| c.reason.as_str()).collect();
    assert_eq!(fallen, ["10 better ones were found"; 2]);
}

#[test]
fn nothing_of_another_scope_is_seen() {
    let (home, me, other) = (Home::new(), scope("me"), scope("other"));
    let secret = event(&home, &other, "The user has a secret cat");
    home.put_vector(Corpus::Nodes, secret, &[1.0, 0.0, 0.0], 1.0);
    home.add_entity(&other, &["Shadow"], &[secret]);
    home.add_message(&other, 1, memory::messages::Role::User, "my cat Shadow", NOW);
    home.add_node(&other, NodeKind::Thought, "They love the cat", NOW);
    let embedder = FixedEmbedder(vec![("Shadow the cat", [1.0, 0.0, 0.0], 1.0)]);
    let recalled = ask(&home, &me, "Shadow the cat", Some(&embedder));
    assert!(recalled.candidates.is_empty() && recalled.entities.is_empty());
    assert!(recalled.pinned.about_user.is_empty());
    assert!(!ask(&home, &other, "Shadow the cat", Some(&embedder)).nodes.is_empty());
}

#[test]
fn pinned_thoughts_are_the_recent_and_weighty_ones() {
    let (home, me) = (Home::new(), scope("me"));
    let thought = |text: &str, impact: i8, days: i64| Node {
        kind: NodeKind::Thought,
        description: text.to_owned(),
        emotional_impact: impact,
        created_at: NOW - SignedDuration::from_hours(24 * days),
        ..blank_node()
    };
    for n in 0..12 {
        home.add(&me, thought(&format!("thought {n}"), 1, 1));
    }
    home.add(&me, thought("fresh and heavy", 8, 1));
    home.add(&me, thought("old and heavy", 8, 120));
    home.add(&me, Node { pinned: true, ..thought("kept by hand", 0, 300) });
    home.add(&me, Node { subject: Subject::Persona, ..thought("I was short with them", -3, 1) });
    let due = |hours: i64| {
        let time = EventTime { start: NOW + SignedDuration::from_hours(hours), end: None };
        Node { kind: NodeKind::Expectation, event_time: Some(time), ..thought(&format!("due {hours}"), 0, 1) }
    };
    [due(-1), due(48), due(2)].into_iter().for_each(|node| {
        home.add(&me, node);
    });
    home.add(&me, Node { kind: NodeKind::Intention, ..thought("I will ask about the exam", 0, 1) });
    let pinned = ask(&home, &me, "嗯", None).pinned;
    let shown = |nodes: &[Node]| nodes.iter().map(|node| node.description.clone()).collect::<Vec<_>>();
    assert_eq!(pinned.about_user.len(), 10);
    assert_eq!(shown(&pinned.about_user)[..2], ["kept by hand", "fresh and heavy"]);
    assert!(!shown(&pinned.about_user).contains(&"old and heavy".to_owned()));
    assert_eq!(shown(&pinned.about_self), ["I was short with them"]);
    assert_eq!(shown(&pinned.expectations), ["due 2", "due 48"]);
    assert_eq!(shown(&pinned.intentions), ["I will ask about the exam"]);
}

#[test]
fn of_a_long_message_the_best_sentence_counts() {
    let (home, me) = (Home::new(), scope("me"));
    event(&home, &me, "The user's sister plays the violin");
    let long = "Work was terrible today and the meeting about quarterly budgets lasted for hours without any result. \
                My sister called.";
    assert_eq!(texts(&ask(&home, &me, long, None)), ["The user's sister plays the violin"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_order_of_insertion_does_not_show(order in Just((0..14usize).collect::<Vec<_>>()).prop_shuffle()) {
        let memories: Vec<(String, i8)> = (0..14).map(|n| (format!("cat story {}", n % 12), (n % 3) as i8)).collect();
        let fill = |order: &[usize]| {
            let home = Home::shared();
            let me = home.new_scope();
            let node = |&n: &usize| {
                let (description, emotional_impact) = memories[n].clone();
                Node { description, emotional_impact, created_at: NOW, ..blank_node() }
            };
            home.add_nodes(&me, order.iter().map(node).collect(), &[]);
            let recalled = ask(home, &me, "my cat", None);
            recalled.nodes.iter().map(|scored| scored.node.description.clone()).collect::<Vec<_>>()
        };
        let in_order: Vec<usize> = (0..14).collect();
        prop_assert_eq!(fill(&order), fill(&in_order));
    }
}
