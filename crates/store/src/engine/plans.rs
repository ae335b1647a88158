//! Query plans, for tests that no statement scans the past.

use std::path::Path;

use crate::engine::migrate::{MIGRATIONS, WHOLE_SCHEMA, migrate};
use crate::engine::sql::Connection;

/// An empty database with all tables and indexes.
pub(crate) fn empty_database() -> Connection {
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    migrate(&connection, Path::new("empty.db"), WHOLE_SCHEMA, MIGRATIONS).unwrap();
    connection.into()
}

/// The steps of a statement's plan, in one line.
pub(crate) fn explain_plan(connection: &Connection, statement: &str) -> String {
    let mut prepared =
        connection.sqlite().unwrap().prepare(&format!("EXPLAIN QUERY PLAN {statement}")).unwrap();
    let count = prepared.parameter_count();
    let blanks = rusqlite::params_from_iter(std::iter::repeat_n("", count));
    let steps: Vec<String> =
        prepared.query_map(blanks, |row| row.get(3)).unwrap().collect::<rusqlite::Result<_>>().unwrap();
    steps.join("; ")
}

#[test]
fn lists_are_read_from_their_index_in_its_order() {
    use crate::messages::outlines::{FIRST_OF_SPAN, LAST_OF_SPAN};
    use crate::nodes::node_queries;
    use crate::{slow_cycles, traces};

    let connection = empty_database();
    let by_place = "(scope=? AND (started_at,turn_id)<(?,?))";
    for (statement, index) in [
        (node_queries::IDENTITY_EVENTS[0], "concept_nodes_identity (scope=?)".to_owned()),
        (node_queries::IDENTITY_EVENTS[1], "concept_nodes_identity (scope=?)".to_owned()),
        (FIRST_OF_SPAN, "recall_messages_by_time (scope=? AND created_at>? AND created_at<?)".to_owned()),
        (LAST_OF_SPAN, "recall_messages_by_time (scope=? AND created_at>? AND created_at<?)".to_owned()),
        (traces::TURN_TRACES, format!("turn_details_of_scope {by_place}")),
        (slow_cycles::TRANSCRIPTS, "slow_cycles_told (scope=? AND (created_at,id)<(?,?))".to_owned()),
    ] {
        let plan = explain_plan(&connection, statement);
        assert!(plan.contains(&index), "{index}: {plan}");
        assert!(!plan.contains("SCAN") && !plan.contains("TEMP B-TREE"), "{plan}");
    }
}

#[test]
fn the_diary_reads_only_events_that_it_lacks() {
    let plan = explain_plan(&empty_database(), crate::hub::EVENTS_WITHOUT_DIARY_LINE);
    assert!(plan.starts_with("SCAN u; SEARCH n USING INTEGER PRIMARY KEY (rowid=?)"), "{plan}");
    assert_eq!(plan.matches("SCAN").count(), 1, "{plan}");
}
