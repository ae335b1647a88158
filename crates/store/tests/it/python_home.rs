//! A home of the Python EchoVessel is copied to a home of this program: every row with its links, with new ids, in
//! UTC.

use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use memory::entities::EntityKind;
use memory::messages::Role;
use memory::nodes::NodeKind;
use memory::ports::{
    EntityStore as _, LedgerStore as _, MessageStore as _, NodeStore as _, PersonaStore as _, SessionFilter,
    SessionStore as _, UserStore as _,
};
use memory::sessions::SessionStatus;
use memory::{PersonaId, Scope, UserId};
use rusqlite::Connection;
use store::{HomeStore, StoreOptions, inspect_python_home, read_python_home};
use testkit::SequentialIds;

/// The tables of the Python program's version 0.7, without the indexes.
const TABLES: &str = "
    CREATE TABLE personas (id VARCHAR PRIMARY KEY, display_name VARCHAR NOT NULL, occupation VARCHAR, timezone VARCHAR,
        created_at DATETIME, updated_at DATETIME, deleted_at DATETIME, episodic_state JSON NOT NULL);
    CREATE TABLE users (id VARCHAR PRIMARY KEY, display_name VARCHAR NOT NULL, created_at DATETIME, deleted_at DATETIME,
        timezone VARCHAR);
    CREATE TABLE external_identities (channel_id VARCHAR, external_id VARCHAR, internal_user_id VARCHAR, created_at DATETIME);
    CREATE TABLE core_blocks (id INTEGER PRIMARY KEY, persona_id VARCHAR, user_id VARCHAR, label VARCHAR, content VARCHAR,
        version INTEGER, last_edited_by VARCHAR, created_at DATETIME, updated_at DATETIME, deleted_at DATETIME);
    CREATE TABLE sessions (id VARCHAR PRIMARY KEY, persona_id VARCHAR, user_id VARCHAR, channel_id VARCHAR, status VARCHAR,
        started_at DATETIME, last_message_at DATETIME, closed_at DATETIME, extracted BOOLEAN, extracted_events BOOLEAN,
        trivial BOOLEAN, message_count INTEGER, total_tokens INTEGER, close_trigger VARCHAR, deleted_at DATETIME);
    CREATE TABLE recall_messages (id INTEGER PRIMARY KEY, session_id VARCHAR, persona_id VARCHAR, user_id VARCHAR,
        channel_id VARCHAR, role VARCHAR, content VARCHAR, token_count INTEGER, day DATE, turn_id VARCHAR,
        created_at DATETIME, deleted_at DATETIME);
    CREATE TABLE concept_nodes (id INTEGER PRIMARY KEY, persona_id VARCHAR, user_id VARCHAR, type VARCHAR,
        description VARCHAR, emotional_impact INTEGER, emotion_tags JSON, relational_tags JSON, access_count INTEGER,
        last_accessed_at DATETIME, source_session_id VARCHAR, source_turn_id VARCHAR, event_time_start DATETIME,
        event_time_end DATETIME, subject VARCHAR, superseded_by_id INTEGER, mention_count INTEGER, source_turn_ids JSON,
        created_at DATETIME, deleted_at DATETIME);
    CREATE TABLE concept_node_filling (id INTEGER PRIMARY KEY, parent_id INTEGER, child_id INTEGER, orphaned BOOLEAN,
        created_at DATETIME, orphaned_at DATETIME);
    CREATE TABLE entities (id INTEGER PRIMARY KEY, persona_id VARCHAR, user_id VARCHAR, canonical_name VARCHAR, kind VARCHAR,
        description VARCHAR, merge_status VARCHAR, merge_target_id INTEGER, owner_override BOOLEAN, created_at DATETIME,
        updated_at DATETIME, deleted_at DATETIME);
    CREATE TABLE entity_aliases (alias VARCHAR, entity_id INTEGER, PRIMARY KEY (alias, entity_id));
    CREATE TABLE concept_node_entities (node_id INTEGER, entity_id INTEGER, PRIMARY KEY (node_id, entity_id));
    CREATE TABLE llm_calls (id INTEGER PRIMARY KEY, timestamp DATETIME, provider VARCHAR, model VARCHAR, feature VARCHAR,
        tier VARCHAR, tokens_in INTEGER, tokens_out INTEGER, cost_usd FLOAT, cache_read_input_tokens INTEGER, turn_id VARCHAR);";

const ROWS: &str = r#"
    INSERT INTO personas VALUES ('default', 'Luna', 'painter', 'Asia/Shanghai', '2026-01-01 00:00:00', NULL, NULL,
        '{"mood": "warm", "energy": 7, "last_user_signal": "tired", "updated_at": "2026-01-06T09:30:00.500000"}');
    INSERT INTO users VALUES ('self', '安', '2026-01-01 00:00:00', NULL, 'Asia/Shanghai');
    INSERT INTO external_identities VALUES ('discord', '4711', 'self', '2026-01-01 00:00:00');
    INSERT INTO core_blocks VALUES (1, 'default', NULL, 'persona', 'You are Luna.', 3, 'user', '2026-01-01 00:00:00',
        '2026-01-02 00:00:00', NULL);
    INSERT INTO core_blocks VALUES (2, 'default', NULL, 'self', 'I doubt myself at night.', 1, 'reflection',
        '2026-01-01 00:00:00', '2026-01-02 00:00:00', NULL);
    INSERT INTO core_blocks VALUES (3, 'default', 'self', 'user', 'Ann paints too.', 1, 'user', '2026-01-01 00:00:00',
        '2026-01-02 00:00:00', NULL);
    INSERT INTO core_blocks VALUES (4, 'default', NULL, 'mood', 'calm', 1, 'system', '2026-01-01 00:00:00', NULL, NULL);
    INSERT INTO sessions VALUES ('s_0a1b2c3d4e5f', 'default', 'self', 'web', 'closed', '2026-01-05 20:00:00.000001',
        '2026-01-05 20:05:00.000000', '2026-01-05 20:40:00.000000', 1, 1, 0, 4, 40, 'idle', NULL);
    INSERT INTO sessions VALUES ('s_open', 'default', 'self', 'discord', 'open', '2026-01-06 09:00:00.000000',
        '2026-01-06 09:00:00.000000', NULL, 0, 0, 0, 1, 5, NULL, NULL);
    INSERT INTO recall_messages VALUES (1, 's_0a1b2c3d4e5f', 'default', 'self', 'web', 'user', '我养了只白猫,叫小黑', 12,
        '2026-01-05', '01KEA', '2026-01-05 20:00:00.250000', NULL);
    INSERT INTO recall_messages VALUES (2, 's_0a1b2c3d4e5f', 'default', 'self', 'web', 'persona', 'What a name for a white cat!', 8,
        '2026-01-05', '01KEA', '2026-01-05 20:00:03.000000', NULL);
    INSERT INTO recall_messages VALUES (3, 's_0a1b2c3d4e5f', 'default', 'self', 'web', 'user', 'a secret', 2, '2026-01-05', '01KEB',
        '2026-01-05 20:01:00.000000', '2026-01-05 21:00:00.000000');
    INSERT INTO recall_messages VALUES (4, 's_0a1b2c3d4e5f', 'default', 'self', 'web', 'system', 'reloaded', 1, '2026-01-05', NULL,
        '2026-01-05 20:02:00.000000', NULL);
    INSERT INTO recall_messages VALUES (5, 's_open', 'default', 'self', 'discord', 'user', 'Morning!', NULL, '2026-01-06', NULL,
        '2026-01-06 09:00:00.000000', NULL);
    INSERT INTO concept_nodes VALUES (7, 'default', 'self', 'event', 'The user has a white cat called 小黑', 4, '["joy"]',
        '["pet"]', 3, '2026-01-06 10:00:00.000000', 's_0a1b2c3d4e5f', '01KEA', NULL, NULL, 'user', NULL, 2, '["01KEA"]',
        '2026-01-05 12:41:00', NULL);
    INSERT INTO concept_nodes VALUES (8, 'default', 'self', 'event', 'The user lives in Lyon', 0, '[]', '[]', 0, NULL,
        's_0a1b2c3d4e5f', NULL, '2026-01-05 00:00:00.000000', '2026-01-06 00:00:00.000000', 'user', 9, 1, '[]',
        '2026-01-05 12:41:00', NULL);
    INSERT INTO concept_nodes VALUES (9, 'default', 'self', 'event', 'The user lives in Nice', 0, '[]', '[]', 0, NULL, NULL, NULL,
        NULL, NULL, 'user', NULL, 1, '[]', '2026-01-06 01:00:00', NULL);
    INSERT INTO concept_nodes VALUES (10, 'default', 'self', 'thought', 'The user likes animals', 3, '[]', '[]', 0, NULL, NULL,
        NULL, NULL, NULL, 'user', NULL, 1, '[]', '2026-01-06 02:00:00', NULL);
    INSERT INTO concept_nodes VALUES (11, 'default', 'self', 'event', 'forgotten', 0, '[]', '[]', 0, NULL, NULL, NULL, NULL, NULL,
        'user', NULL, 1, '[]', '2026-01-06 02:00:00', '2026-01-06 03:00:00');
    INSERT INTO concept_node_filling VALUES (1, 10, 7, 0, '2026-01-06 02:00:00', NULL);
    INSERT INTO concept_node_filling VALUES (2, 10, 11, 1, '2026-01-06 02:00:00', '2026-01-06 03:00:00');
    INSERT INTO entities VALUES (1, 'default', 'self', '小黑', 'pet', 'A white cat.', 'confirmed', NULL, 0, '2026-01-05 12:41:00',
        '2026-01-05 12:41:00', NULL);
    INSERT INTO entities VALUES (2, 'default', 'self', 'Blackie', 'pet', NULL, 'uncertain', 1, 0, '2026-01-05 12:41:00',
        '2026-01-05 12:41:00', NULL);
    INSERT INTO entity_aliases VALUES ('little black', 1);
    INSERT INTO concept_node_entities VALUES (7, 1);
    INSERT INTO llm_calls VALUES (1, '2026-01-05 20:00:02.000000', 'anthropic', 'model-1', 'chat', 'main', 900, 30, 0.0123, 100,
        '01KEA');"#;

fn python_home(folder: &Path) {
    let connection = Connection::open(folder.join("memory.db")).unwrap();
    connection.execute_batch(TABLES).unwrap();
    connection.execute_batch(ROWS).unwrap();
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[tokio::test]
async fn every_row_arrives_with_its_links_in_utc() {
    let folder = tempfile::tempdir().unwrap();
    python_home(folder.path());
    let found = inspect_python_home(folder.path()).unwrap();
    assert_eq!((found.messages, found.nodes, found.entities, found.calls), (4, 4, 2, 1));
    let path = folder.path().join("home.db");
    let zone = TimeZone::get("Asia/Shanghai").unwrap();
    let now = at("2026-03-01T00:00:00Z");
    let taken = read_python_home(folder.path(), &zone, &SequentialIds::new(1), now, &path).unwrap();
    assert_eq!((taken.messages, taken.nodes, taken.entities, taken.calls), (3, 4, 2, 1));
    let left_out: Vec<_> = taken.left_out.iter().map(|(what, count)| (*what, *count)).collect();
    assert_eq!(
        left_out,
        [
            ("core blocks that this program does not have", 1),
            ("deleted memories", 1),
            ("deleted messages", 1),
            ("messages of the program itself", 1)
        ]
    );

    let store = HomeStore::open(&path, StoreOptions::default()).unwrap();
    assert!(store.check().await.unwrap().is_intact());
    let scope = Scope::new(PersonaId::new("default").unwrap(), UserId::new("self").unwrap());
    let messages = store.messages_before(&scope, None, 10).await.unwrap();
    let [morning, reply, cat] = &messages[..] else { panic!("{messages:?}") };
    assert_eq!((cat.content.as_str(), cat.role), ("我养了只白猫,叫小黑", Role::User));
    assert_eq!(
        (cat.created_at, cat.day.to_string()),
        (at("2026-01-05T12:00:00.25Z"), "2026-01-05".to_owned())
    );
    assert_eq!((reply.role, reply.turn_id), (Role::Persona, cat.turn_id));
    assert!(cat.turn_id.is_some());
    let waiting = store.session(morning.session_id).await.unwrap().unwrap();
    assert_eq!(
        (waiting.status, waiting.extracted),
        (SessionStatus::Closing, false),
        "its memories are made here"
    );
    let closed = store.session(cat.session_id).await.unwrap().unwrap();
    assert_eq!((closed.status, closed.message_count, closed.extracted_events), (SessionStatus::Closed, 2, 2));
    assert_eq!(
        store.sessions(SessionFilter { limit: 9, ..SessionFilter::default() }).await.unwrap().len(),
        2
    );

    let mut events = store.nodes_before(&scope, &[NodeKind::Event], None, 10).await.unwrap();
    events.sort_by_key(|node| node.seq);
    let [pet, lyon, nice] = &events[..] else { panic!("{events:?}") };
    assert_eq!((pet.emotional_impact, pet.mention_count, pet.access_count), (4, 2, 3));
    assert_eq!(pet.created_at, at("2026-01-05T12:41:00Z"), "the database had stamped it, in UTC");
    assert_eq!(lyon.superseded_by, Some(nice.id));
    assert_eq!(lyon.event_time.unwrap().start, at("2026-01-04T16:00:00Z"));
    let evidenced = store.node(pet.id).await.unwrap().unwrap();
    let quotes: Vec<&str> = evidenced.evidence.iter().map(|quote| quote.quote.as_str()).collect();
    assert_eq!(quotes, ["我养了只白猫,叫小黑"]);
    let thoughts = store.nodes_before(&scope, &[NodeKind::Thought], None, 10).await.unwrap();
    let thought = store.node(thoughts[0].id).await.unwrap().unwrap();
    assert_eq!(thought.filling, [pet.id]);
}

#[tokio::test]
async fn people_names_moods_and_costs_arrive() {
    let folder = tempfile::tempdir().unwrap();
    python_home(folder.path());
    let (path, zone) = (folder.path().join("home.db"), TimeZone::get("Asia/Shanghai").unwrap());
    let now = at("2026-03-01T00:00:00Z");
    read_python_home(&folder.path().join("memory.db"), &zone, &SequentialIds::new(1), now, &path).unwrap();
    let store = HomeStore::open(&path, StoreOptions::default()).unwrap();
    let scope = Scope::new(PersonaId::new("default").unwrap(), UserId::new("self").unwrap());
    let events = store.nodes_before(&scope, &[NodeKind::Event], None, 10).await.unwrap();
    let pet = events.iter().find(|event| event.description.contains("cat")).unwrap();
    let entities = store.entities(&scope, 9).await.unwrap();
    let named = |name: &str| entities.iter().find(|entity| entity.canonical_name == name).unwrap();
    let cat = named("小黑");
    assert_eq!((cat.kind, cat.description.as_deref()), (EntityKind::Pet, Some("A white cat.")));
    assert!(cat.aliases.iter().any(|alias| alias == "little black"), "{cat:?}");
    assert_eq!(named("Blackie").merge_target, Some(cat.id));
    assert_eq!(store.entities_of_nodes(&[pet.id]).await.unwrap(), [(pet.id, cat.id)]);

    let blocks = store.core_blocks(&scope).await.unwrap();
    assert_eq!(blocks.persona, "You are Luna.\n\nI doubt myself at night.");
    assert_eq!((blocks.user.as_str(), blocks.style.as_str()), ("Ann paints too.", ""));
    let facts = store.persona_facts(&scope.persona).await.unwrap();
    assert_eq!(facts.occupation.as_deref(), Some("painter"));
    let mood = store.mood(&scope).await.unwrap().unwrap();
    assert_eq!((mood.mood.as_str(), mood.energy, mood.updated_at), ("warm", 7, at("2026-01-06T01:30:00.5Z")));
    let user = store.user(&scope.user).await.unwrap().unwrap();
    assert_eq!((user.display_name.as_deref(), user.identities.len()), (Some("安"), 1));
    let spent = store.call_sums_since(Timestamp::UNIX_EPOCH).await.unwrap();
    assert_eq!((spent[0].calls, spent[0].usage.input_tokens, spent[0].cost_usd), (1, 900, 0.0123));
}

#[test]
fn other_databases_are_no_python_home_and_a_broken_one_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(inspect_python_home(folder.path()), None);
    let own = folder.path().join("own.db");
    drop(HomeStore::open(&own, StoreOptions::default()).unwrap());
    assert_eq!(inspect_python_home(&own), None);
    python_home(folder.path());
    let whole = std::fs::read(folder.path().join("memory.db")).unwrap();
    std::fs::write(folder.path().join("memory.db"), &whole[..whole.len() / 2]).unwrap();
    let path = folder.path().join("home.db");
    let (ids, now) = (SequentialIds::new(1), Timestamp::UNIX_EPOCH);
    let broken = read_python_home(folder.path(), &TimeZone::UTC, &ids, now, &path);
    let error = broken.unwrap_err().to_string();
    assert!(error.contains("memory.db") && error.contains("nothing was changed"), "{error}");
    assert!(!path.exists());
}
