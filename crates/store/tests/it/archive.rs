//! Archives and the schema: every column is exported or left out for a reason.

use std::collections::BTreeSet;

use rusqlite::Connection;

use crate::home::Home;

#[tokio::test]
async fn every_table_is_archived_or_left_out_for_a_reason() {
    let home = Home::open().await;
    let connection = Connection::open(&home.path).unwrap();
    let mut statement = connection
        .prepare(
            "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'",
        )
        .unwrap();
    let tables: BTreeSet<String> =
        statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    let (archived, left_out) = store::archived_tables();
    let known: BTreeSet<String> =
        archived.into_iter().chain(left_out.iter().map(|(table, _)| *table)).map(str::to_owned).collect();
    assert_eq!(tables.symmetric_difference(&known).collect::<Vec<_>>(), [""; 0]);
}
