//! Peers of a home, from when rows were exchanged between homes.

use memory::ports::StoreError;

use crate::engine::sql::{self, Connection};
use crate::home_store::HomeStore;

impl HomeStore {
    /// Removes and returns the names of former peers, to be logged once.
    pub async fn remove_former_peers(&self) -> Result<Vec<String>, StoreError> {
        if self.read(|connection| Ok(table_names(connection)?)).await?.is_empty() {
            return Ok(Vec::new());
        }
        self.write(|unit| {
            let names = table_names(unit.connection)?;
            unit.connection.execute("DELETE FROM former_peers", [])?;
            Ok(names)
        })
        .await
    }
}

fn table_names(connection: &Connection) -> sql::Result<Vec<String>> {
    connection
        .prepare_cached("SELECT name FROM former_peers ORDER BY name")?
        .query_map([], |row| row.get(0))?
        .collect()
}
