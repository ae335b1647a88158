//! Short constructors for memories, and the mock provider.

mod scripted;

use hub::Granularity;
use hub::graph::{KnownEntity, UnreadEvent, UnreadSession};
use hub::ports::SummaryRequest;
use jiff::Timestamp;
use jiff::tz::{self, TimeZone};
use memory::core_blocks::CoreBlocks;
use memory::entities::{Entity, EntityKind, MergeStatus};
use memory::identifiers::{EntityId, MessageId, NodeId, SessionId};
use memory::messages::{Message, Role};
use memory::nodes::{EventTime, Node, NodeKind, Subject};
use memory::ports::{EntityToDescribe, ExtractionInput, ReflectionInput, SlowCycleInput};
use memory::sessions::{CloseTrigger, Session, SessionStatus};
use memory::{PersonaId, Scope, UserId};
use uuid::Uuid;

pub(crate) use scripted::{Ledger, Setting, Ticking, USAGE, answering, setting};

/// The channel of all messages and sessions here; no prompt may contain it.
pub(crate) const CHANNEL: &str = "discord:77#web";

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(crate) fn shanghai() -> TimeZone {
    TimeZone::fixed(tz::offset(8))
}

pub(crate) fn id(number: u128) -> Uuid {
    Uuid::from_u128(0x0195_0000_0000_7000_8000_0000_0000_0000 + number)
}

pub(crate) fn scope() -> Scope {
    Scope::new(PersonaId::new("persona-9").unwrap(), UserId::new("user-9").unwrap())
}

pub(crate) fn message(number: i64, role: Role, when: &str, content: &str) -> Message {
    let created_at = at(when);
    Message {
        id: MessageId(id(number as u128)),
        seq: number,
        scope: scope(),
        session_id: SessionId(id(9_000)),
        turn_id: None,
        channel_id: CHANNEL.to_owned(),
        role,
        speaker: None,
        model: None,
        content: content.to_owned(),
        token_count: 1,
        day: created_at.to_zoned(shanghai()).date(),
        created_at,
        incomplete: false,
    }
}

pub(crate) fn node(number: i64, kind: NodeKind, created: &str, description: &str) -> Node {
    Node {
        id: NodeId(id(number as u128)),
        seq: number,
        kind,
        description: description.to_owned(),
        emotional_impact: 3,
        emotion_tags: Vec::new(),
        relational_tags: Vec::new(),
        subject: Subject::User,
        event_time: None,
        source_session_id: Some(SessionId(id(9_000))),
        mention_count: 1,
        superseded_by: None,
        pinned: false,
        access_count: 0,
        last_accessed_at: None,
        created_at: at(created),
    }
}

pub(crate) fn due(node: Node, start: &str) -> Node {
    Node { event_time: Some(EventTime { start: at(start), end: None }), ..node }
}

pub(crate) fn entity(
    number: u128,
    name: &str,
    aliases: &[&str],
    kind: EntityKind,
    about: Option<&str>,
) -> Entity {
    Entity {
        id: EntityId(id(number)),
        canonical_name: name.to_owned(),
        kind,
        description: about.map(str::to_owned),
        owner_override: false,
        merge_status: MergeStatus::Confirmed,
        merge_target: None,
        aliases: std::iter::once(&name).chain(aliases).map(|alias| (*alias).to_owned()).collect(),
        created_at: at("2026-01-01T00:00:00Z"),
        updated_at: at("2026-01-01T00:00:00Z"),
    }
}

pub(crate) fn session(number: u128, last: &str, summary: Option<&str>) -> Session {
    Session {
        id: SessionId(id(number)),
        scope: scope(),
        channel_id: CHANNEL.to_owned(),
        status: SessionStatus::Closed,
        message_count: 4,
        total_tokens: 400,
        first_message_at: at(last),
        last_message_at: at(last),
        closed_at: None,
        close_trigger: Some(CloseTrigger::Idle),
        extracted: true,
        reflected: true,
        extracted_events: 1,
        trivial: false,
        summary: summary.map(str::to_owned),
        title: None,
        attempts: 0,
        last_error: None,
        retry_at: None,
    }
}

/// Two messages, m1 of the user and m2 of the persona; one known node, k1.
pub(crate) fn extraction_input() -> ExtractionInput {
    ExtractionInput {
        persona_name: "Mira".to_owned(),
        core_blocks: CoreBlocks::default(),
        messages: vec![
            message(1, Role::User, "2026-03-03T12:00:00Z", "I moved to Oslo with Biscuit, my beagle."),
            message(2, Role::Persona, "2026-03-03T12:01:00Z", "I'll ask you on Friday how you settled in."),
        ],
        known_entities: Vec::new(),
        entities_in_doubt: Vec::new(),
        known_nodes: vec![node(50, NodeKind::Event, "2025-06-01T00:00:00Z", "The user lives in Bergen.")],
        zone: shanghai(),
        failures: Vec::new(),
    }
}

/// Three events, e1 to e3.
pub(crate) fn reflection_input() -> ReflectionInput {
    ReflectionInput {
        session_id: SessionId(id(9_000)),
        persona_name: "Mira".to_owned(),
        core_blocks: CoreBlocks::default(),
        events: (1..=3)
            .map(|number| node(number, NodeKind::Event, "2026-03-03T12:00:00Z", &format!("Event {number}.")))
            .collect(),
        zone: shanghai(),
    }
}

pub(crate) fn slow_cycle_input() -> SlowCycleInput {
    let reflection = reflection_input();
    let pet = entity(70, "Biscuit", &["Bis"], EntityKind::Pet, Some("A dog."));
    let about = node(4, NodeKind::Event, "2026-03-02T12:00:00Z", "Biscuit is afraid of thunder.");
    SlowCycleInput {
        session_id: reflection.session_id,
        persona_name: reflection.persona_name,
        core_blocks: reflection.core_blocks,
        now: at("2026-03-03T13:04:00Z"),
        zone: reflection.zone,
        elapsed: None,
        events: reflection.events,
        thoughts: Vec::new(),
        expectations: Vec::new(),
        salient_questions: Vec::new(),
        entities: vec![EntityToDescribe { entity: pet, events: vec![about] }],
        answer_tokens: 1_000,
    }
}

/// A week, summarised from two days.
pub(crate) fn roll_up_input() -> SummaryRequest {
    SummaryRequest {
        granularity: Granularity::Weekly,
        period: "2026-W10".to_owned(),
        persona: "Mira".to_owned(),
        identity: vec![
            ("Who you are".to_owned(), "Keeps a lighthouse.\nDry and warm.".to_owned()),
            ("About Jonas".to_owned(), "A nurse.".to_owned()),
        ],
        sources: vec![
            ("2026-03-02".to_owned(), "- Jonas moved to Oslo with Biscuit. [via:home]".to_owned()),
            (
                "2026-03-04".to_owned(),
                "- First night shift; he was tired. [via:phone]\n- I promised to ask on Friday. [via:home]"
                    .to_owned(),
            ),
        ],
    }
}

pub(crate) fn unread_session() -> UnreadSession {
    let known = |number: u128, name: &str, aliases: &[&str], kind| KnownEntity {
        id: EntityId(Uuid::from_u128(number)),
        name: name.to_owned(),
        aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
        kind,
    };
    let event = |number: u128, description: &str, quotes: &[&str]| UnreadEvent {
        node: NodeId(Uuid::from_u128(number)),
        description: description.to_owned(),
        quotes: quotes.iter().map(|quote| (*quote).to_owned()).collect(),
    };
    UnreadSession {
        scope: Scope::new(PersonaId::new("mira").unwrap(), UserId::new("jonas").unwrap()),
        session: SessionId(Uuid::from_u128(90)),
        persona: "Mira".to_owned(),
        user: Some("Jonas".to_owned()),
        events: vec![
            event(
                1,
                "The user moved to Oslo with their dog Biscuit.",
                &["I moved to Oslo last week,\nBis came along", "he hates the stairs"],
            ),
            event(2, "The user wants to learn Norwegian with Ingrid.", &["Ingrid teaches me Norwegian"]),
        ],
        entities: vec![
            known(50, "Biscuit", &["Bis"], EntityKind::Pet),
            known(51, "Oslo", &[], EntityKind::Place),
        ],
    }
}

/// Renders with the built-in templates.
pub(crate) fn rendered(input: &mind::ReplyInput, budget: mind::ReplyBudget) -> mind::RenderedReply {
    mind::reply::render(&mind::Prompts::load(None).unwrap(), input, &budget).unwrap()
}

/// A turn with content in every section, in English.
pub(crate) fn full_input() -> mind::ReplyInput {
    let now = "2026-03-03T13:04:00Z";
    let mut input = mind::ReplyInput::new("Mira", at(now), shanghai());
    input.core_blocks = CoreBlocks {
        persona: "IDENTITY Keeps a lighthouse.\n\n## Temper\nDry and warm.".to_owned(),
        user: "IDENTITY Nurse, lives in Oslo.".to_owned(),
        style: "IDENTITY Never says \"haha\".".to_owned(),
    };
    input.facts = mind::PersonaFacts {
        full_name: Some("Mira Holm".to_owned()),
        birth_date: Some("1994-05-17".to_owned()),
        life_stage: Some("new_parent".to_owned()),
        location: Some("Hammerfest".to_owned()),
        ..mind::PersonaFacts::default()
    };
    input.mood =
        Some(memory::mood::Mood::from_signal("wistful", 4, Some("tired, but reaching out"), at(now)));
    input.persona_zone = Some(TimeZone::fixed(tz::offset(1)));
    input.user_name = Some("Jonas".to_owned());
    input.named_entities = vec![
        entity(70, "Biscuit", &["Bis"], EntityKind::Pet, Some("Jonas's beagle, afraid of thunder.")),
        entity(71, "Oslo", &[], EntityKind::Place, None),
    ];
    input.uncertain = vec![mind::UncertainPair {
        entity: entity(72, "Scott", &[], EntityKind::Person, None),
        other: entity(73, "黄逸扬", &["Yiyang"], EntityKind::Person, None),
    }];
    let mut about_self = node(13, NodeKind::Thought, "2026-02-28T09:00:00Z", "I grow quiet when he hurries.");
    about_self.subject = Subject::Persona;
    input.recalled = vec![
        due(
            node(10, NodeKind::Event, "2026-03-01T09:00:00Z", "Jonas moved to Oslo."),
            "2026-02-27T16:00:00Z",
        ),
        node(11, NodeKind::Thought, "2026-03-01T09:00:00Z", "He tells good news in passing."),
        node(12, NodeKind::Event, "2026-02-20T09:00:00Z", "Biscuit ran away\nand came back."),
        about_self.clone(),
    ];
    input.pinned_thoughts = vec![
        node(11, NodeKind::Thought, "2026-03-01T09:00:00Z", "He tells good news in passing."),
        node(14, NodeKind::Thought, "2026-01-10T09:00:00Z", "He is kinder to others than to himself."),
    ];
    input.self_thoughts =
        vec![about_self, node(15, NodeKind::Thought, "2026-02-01T09:00:00Z", "I like being asked back.")];
    input.intentions = vec![
        node(16, NodeKind::Intention, "2026-03-01T09:00:00Z", "Mira will read him a poem."),
        due(
            node(17, NodeKind::Intention, "2026-03-01T09:00:00Z", "Mira will ask how the interview went."),
            "2026-03-06T01:00:00Z",
        ),
    ];
    input.expectations = vec![due(
        node(18, NodeKind::Expectation, "2026-03-01T09:00:00Z", "He will visit his father before Easter."),
        "2026-04-03T22:00:00Z",
    )];
    input.fulfilled = vec![due(
        node(
            19,
            NodeKind::Expectation,
            "2026-02-20T09:00:00Z",
            "the flat — he tells how the nights there are",
        ),
        "2026-03-08T22:00:00Z",
    )];
    add_talk(&mut input);
    input
}

fn add_talk(input: &mut mind::ReplyInput) {
    input.sessions = vec![
        session(80, "2026-03-02T10:00:00Z", Some("The new flat and the night shifts.")),
        session(81, "2026-02-01T10:00:00Z", Some("A quarrel with Scott.")),
        session(82, "2026-03-01T10:00:00Z", None),
    ];
    input.passages = vec![mind::Passage {
        lines: vec![
            passage_line(30, Role::User, "2026-02-11T12:00:00Z", "Bis hid under the bed again.\nPoor thing."),
            passage_line(31, Role::Persona, "2026-02-11T12:01:00Z", "Thunder?"),
        ],
    }];
    input.window = vec![
        message(44, Role::Persona, "2026-03-03T13:00:00Z", "Slept at all?"),
        message(40, Role::User, "2026-02-10T13:00:00Z", "Good night."),
        message(41, Role::Persona, "2026-02-28T13:00:00Z", "Good morning."),
        message(42, Role::User, "2026-03-02T13:00:00Z", "First night shift."),
        message(43, Role::User, "2026-03-03T02:00:00Z", "Home."),
        message(45, Role::User, "2026-03-03T13:03:00Z", "Three hours."),
        message(46, Role::User, "2026-03-03T13:04:00Z", "And Bis?\nDid I tell you?"),
    ];
    input.burst = vec![input.window[6].clone(), input.window[5].clone()];
    input.window[0].incomplete = true;
}

pub(crate) fn passage_line(number: u128, speaker: Role, when: &str, text: &str) -> mind::PassageLine {
    mind::PassageLine {
        message_id: MessageId(id(number)),
        speaker,
        name: None,
        at: at(when),
        text: text.to_owned(),
    }
}
