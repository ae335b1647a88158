//! Homes on a PostgreSQL server: refused states, and a schema equal to that of a file. `scripts/with-postgres` starts
//! the server.

mod clearing;
mod daemons;
mod faults;
mod hosts;
mod round_trips;
mod tls;

use std::collections::BTreeSet;

use memory::UserId;
use memory::ports::{StoreError, UserStore as _};
use store::{HomeStore, ServerAddress, StoreOptions};
use tempfile::TempDir;
use testkit::postgres::{fresh_database, query};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn database() -> Outcome<String> {
    fresh_database()?.ok_or_else(|| "run this test by scripts/with-postgres".into())
}

fn open(database: &str) -> Result<HomeStore, StoreError> {
    HomeStore::open_on_server(&ServerAddress::parse(database, None)?, StoreOptions::default())
}

/// The error of opening a database. Checks that no table has changed.
fn refusal(database: &str) -> Outcome<String> {
    let tables = "SELECT schemaname, tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 2";
    let before = query(database, tables)?;
    let error = open(database).err().ok_or("the database was opened")?;
    assert_eq!(query(database, tables)?, before);
    let reason = error.to_string();
    assert!(reason.contains("Nothing was changed"), "{reason}");
    Ok(reason)
}

#[tokio::test]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn schema_on_server_is_that_of_file() -> Outcome {
    let database = database()?;
    open(&database)?.close().await?;
    let folder = TempDir::new()?;
    let path = folder.path().join("home.db");
    HomeStore::open(&path, StoreOptions::default())?.close().await?;
    let file = rusqlite::Connection::open(&path)?;
    let names = |statement: &str| -> Outcome<BTreeSet<String>> {
        Ok(file.prepare(statement)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
    };
    let server = |statement: &str| -> Outcome<BTreeSet<String>> {
        Ok(query(&database, statement)?.into_iter().collect())
    };
    let columns = "SELECT t.name || '.' || c.name || ' ' ||
            CASE c.type WHEN 'INTEGER' THEN 'bigint' WHEN 'REAL' THEN 'double precision' WHEN 'BLOB' THEN 'bytea'
                        ELSE 'text' END || CASE WHEN c.\"notnull\" OR c.pk THEN '' ELSE ' or null' END ||
            CASE WHEN c.pk THEN ', key ' || c.pk ELSE '' END
        FROM sqlite_schema t, pragma_table_info(t.name) c
        WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%' AND t.name NOT LIKE '%\\_words%' ESCAPE '\\'";
    let on_server = "SELECT c.table_name || '.' || c.column_name || ' ' || c.data_type ||
            CASE c.is_nullable WHEN 'NO' THEN '' ELSE ' or null' END || coalesce(', key ' || k.place, '')
        FROM information_schema.columns c
        LEFT JOIN (SELECT i.indrelid::regclass::text AS table_name, a.attname AS column_name,
                       array_position(i.indkey::int2[], a.attnum) + 1 AS place
                   FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
                   WHERE i.indisprimary) k ON k.table_name = c.table_name AND k.column_name = c.column_name
        WHERE c.table_schema = 'public' AND c.table_name NOT LIKE '%\\_words'
            AND c.table_name NOT IN ('writer', 'daemons', 'shared_access')";
    assert_eq!(server(on_server)?, names(columns)?);
    for (kind, statement) in [
        (
            "index",
            "SELECT indexname FROM pg_indexes WHERE schemaname = 'public' AND indexname !~ '_(pkey|key|terms)$'",
        ),
        ("trigger", "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal"),
    ] {
        let own = format!("SELECT name FROM sqlite_schema WHERE type = '{kind}' AND name NOT LIKE 'sqlite%'");
        assert_eq!(server(statement)?, names(&own)?, "{kind}");
    }
    Ok(())
}

#[test]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
fn database_of_another_program_is_refused() -> Outcome {
    let database = database()?;
    query(&database, "CREATE TABLE invoices (number BIGINT)")?;
    let reason = refusal(&database)?;
    assert!(reason.contains("tables of another program"), "{reason}");
    Ok(())
}

#[tokio::test]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn schema_of_another_build_is_refused() -> Outcome {
    let database = database()?;
    open(&database)?.close().await?;
    query(&database, "UPDATE schema_migrations SET sha256 = 'other' WHERE number = 13")?;
    let reason = refusal(&database)?;
    assert!(reason.contains("created by a different build"), "{reason}");
    query(&database, "INSERT INTO schema_migrations VALUES (9999, 'later', '')")?;
    let reason = refusal(&database)?;
    assert!(reason.contains("written by a newer EchoVessel"), "{reason}");
    Ok(())
}

#[test]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
fn server_that_only_reads_is_refused() -> Outcome {
    let database = database()?;
    let name = query(&database, "SELECT current_database()")?.join("");
    query(&database, &format!("ALTER DATABASE {name} SET default_transaction_read_only = on"))?;
    let reason = refusal(&database)?;
    assert!(reason.contains("is read-only"), "{reason}");
    Ok(())
}

#[test]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
fn wrong_password_and_missing_database_are_refused() -> Outcome {
    let database = database()?;
    query(&database, &format!("CREATE ROLE guest_{} LOGIN PASSWORD 'right'", std::process::id()))?;
    let guest = database.replace("user=echovessel", &format!("user=guest_{}", std::process::id()));
    for password in [None, Some("wrong")] {
        let address = ServerAddress::parse(&guest, password)?;
        let error =
            HomeStore::open_on_server(&address, StoreOptions::default()).err().ok_or("it was opened")?;
        let reason = error.to_string();
        assert!(reason.contains("password") && !reason.contains("wrong"), "{reason}");
    }
    let missing = database.replace("postgres:///", "postgres:///no_");
    let reason = open(&missing).err().ok_or("it was opened")?.to_string();
    assert!(reason.contains("does not exist on the server"), "{reason}");
    Ok(())
}

#[tokio::test]
#[ignore = "needs a PostgreSQL server: scripts/with-postgres"]
async fn lost_connections_are_made_again() -> Outcome {
    let database = database()?;
    let store = open(&database)?;
    let at = jiff::Timestamp::UNIX_EPOCH;
    store.ensure_user(&UserId::new("anna")?, at).await?;
    query(
        &database,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'echovessel'",
    )?;
    // The first use of each connection notices that it was lost.
    for _ in 0..10 {
        let _lost = store.ensure_user(&UserId::new("ben")?, at).await;
        let _lost = store.users(None, 10).await;
    }
    assert_eq!(store.users(None, 10).await?.len(), 2);
    store.close().await?;
    Ok(())
}

#[test]
fn addresses_with_passwords_or_without_database_are_refused() {
    for (url, wanted) in [
        ("postgres://anna:secret@host/home", "contains a password"),
        ("postgres://anna@host", "the database is missing"),
        ("postgres://anna@192.0.2.7/home?sslmode=prefer", "sslmode must be"),
        ("postgres://anna@host/home?sslrootcert=%2Fnowhere%2Froots.pem", "/nowhere/roots.pem"),
        ("mysql://anna@host/home", "not an address"),
        ("postgres://anna@one,two/home?port=5432,5433,5434", "one port for all hosts"),
        ("postgres://anna@one,two/home?target_session_attrs=read-only", "a home is written to"),
    ] {
        let reason = ServerAddress::parse(url, None).unwrap_err().to_string();
        assert!(reason.contains(wanted) && !reason.contains("secret"), "{reason}");
    }
    for url in [
        "postgres://anna@host/home",
        "postgres://anna@host/home?sslmode=require",
        "postgres://anna@host/home?sslmode=verify-full&connect_timeout=3",
        "postgres://anna@localhost,host/home",
        "postgres://anna@localhost/home?target_session_attrs=any",
    ] {
        ServerAddress::parse(url, None).unwrap();
    }
    for host in ["localhost", "127.0.0.1", "[::1]", "%2Frun%2Fserver"] {
        ServerAddress::parse(&format!("postgres://anna@{host}/home"), None).unwrap();
    }
    let url = "postgres://anna@host:5433/home?sslmode=disable";
    let address = ServerAddress::parse(url, Some("secret")).unwrap();
    assert_eq!(address.to_string(), "database \"home\" on the PostgreSQL server host");
    assert!(!format!("{address:?}").contains("secret"));
    for url in ["postgres://anna@one:5433,two:5434/home", "postgres:///home?host=one,two&user=anna&port=5433"]
    {
        let address = ServerAddress::parse(url, None).unwrap();
        assert_eq!(address.to_string(), "database \"home\" on the PostgreSQL servers one, two");
        assert!(address.is_on_another_machine());
    }
}
