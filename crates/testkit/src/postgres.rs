//! Databases for tests, on the server that `scripts/with-postgres` starts.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Number of databases from which those of ended tests are dropped: each takes ten megabytes of disk, and dropping
/// several together costs one checkpoint.
const DATABASES_MAX: usize = 24;

/// Creates an empty database and returns its address; `None` if `ECHOVESSEL_TEST_POSTGRES` names no server.
///
/// # Errors
/// When the server refuses, or its programs are not installed.
pub fn fresh_database() -> io::Result<Option<String>> {
    create_database(&[])
}

/// Creates a database with the schema of a new home and returns its address, like [`fresh_database`]. This takes half
/// the time of creating the schema.
///
/// # Errors
///
/// As [`fresh_database`].
pub fn fresh_home() -> io::Result<Option<String>> {
    create_database(&["--template=home", "--strategy=file_copy"])
}

fn create_database(options: &[&str]) -> io::Result<Option<String>> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let Ok(server) = std::env::var("ECHOVESSEL_TEST_POSTGRES") else { return Ok(None) };
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    if number == 0 {
        drop_ended(&server)?;
    }
    let name = format!("test_{}_{number}", std::process::id());
    let output =
        Command::new("createdb").args(["-h", &server, "-U", "echovessel", &name]).args(options).output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Ok(Some(format!("postgres:///{name}?host={server}&user=echovessel")))
}

/// The address of the same database behind the socket in this folder, such as that of a proxy.
#[must_use]
pub fn at_socket(database: &str, folder: &Path) -> String {
    let name = database.trim_start_matches("postgres:///").split('?').next().unwrap_or_default();
    format!("postgres:///{name}?host={}&user=echovessel", folder.display())
}

/// The rows of a query, columns separated by `|`, read without the program under test.
///
/// # Errors
///
/// When the query fails, with the server's error.
pub fn query(database: &str, statement: &str) -> io::Result<Vec<String>> {
    let output =
        Command::new("psql").args(["-qAt", "-v", "ON_ERROR_STOP=1", "-c", statement, database]).output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

/// Drops the databases of processes that have ended. A killed test can't do that itself.
fn drop_ended(server: &str) -> io::Result<()> {
    let all = format!("postgres:///postgres?host={server}&user=echovessel");
    let names = query(&all, r"SELECT datname FROM pg_database WHERE datname LIKE 'test\_%'")?;
    if names.len() < DATABASES_MAX {
        return Ok(());
    }
    for name in names {
        let process = name.split('_').nth(1).unwrap_or_default();
        let is_running = Command::new("kill").args(["-0", process]).stderr(Stdio::null()).status()?.success();
        if !is_running {
            // Another test may drop the same one at this moment.
            let _gone = query(&all, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
        }
    }
    Ok(())
}
