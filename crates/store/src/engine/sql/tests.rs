use super::*;

fn empty_database() -> Connection {
    rusqlite::Connection::open_in_memory().unwrap().into()
}

#[test]
fn values_come_back_as_they_were_given() {
    let connection = empty_database();
    let row = connection.query_row(
        "SELECT ?1, ?2, ?3, ?4, ?5, ?6",
        params![i64::MIN, 0.25_f64, "安心", [7_u8; 16], true, None::<u32>],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?)),
    );
    let expected = (i64::MIN, 0.25_f64, "安心".to_owned(), [7_u8; 16], true, None::<u32>);
    assert_eq!(row.unwrap(), expected);
}

#[test]
fn values_that_do_not_fit_are_refused_with_their_column() {
    let connection = empty_database();
    let number: Result<u32> = connection.query_row("SELECT 'a', -1", [], |row| row.get(1));
    assert_eq!(number.unwrap_err().to_string(), "column 1: -1 is too large for a column");
    let text: Result<String> = connection.query_row("SELECT 1", [], |row| row.get(0));
    assert_eq!(text.unwrap_err().to_string(), "column 0: the value is an integer, not text");
    let id: Result<[u8; 16]> = connection.query_row("SELECT x'00'", [], |row| row.get(0));
    assert_eq!(id.unwrap_err().to_string(), "column 0: a value of 1 bytes is too large for a column");
    assert!(matches!(connection.execute("SELECT ?1", [u64::MAX]), Err(Error::OutOfRange(_))));
    let column: Result<i64> = connection.query_row("SELECT 1", [], |row| row.get(1));
    assert!(column.is_err());
}

#[test]
fn number_of_parameters_must_match() {
    let connection = empty_database();
    let mut statement = connection.prepare_cached("SELECT ?1, ?2").unwrap();
    for error in [statement.exists([1]).unwrap_err(), statement.exists([]).unwrap_err()] {
        assert!(matches!(error, Error::ParameterCount { wanted: 2, .. }), "{error}");
    }
    assert!(statement.exists([1, 2, 3]).is_err());
    assert!(statement.exists((1, "two")).unwrap());
}

#[test]
fn missing_row_is_none_and_insert_returns_the_number() {
    let connection = empty_database();
    connection.execute_batch("CREATE TABLE one (number INTEGER PRIMARY KEY, text TEXT)").unwrap();
    let mut insert = connection.prepare_cached("INSERT INTO one (text) VALUES (?1)").unwrap();
    assert_eq!((insert.insert(["a"]).unwrap(), insert.insert(["b"]).unwrap()), (1, 2));
    let mut find = connection.prepare_cached("SELECT number FROM one WHERE text = ?1").unwrap();
    let mut number = |text: &str| find.query_row([text], |row| row.get::<i64>(0)).optional().unwrap();
    assert_eq!((number("b"), number("c")), (Some(2), None));
    let nothing = connection.prepare_cached("DELETE FROM one WHERE text = ?1").unwrap().insert(["c"]);
    assert!(matches!(nothing, Err(Error::ChangedRows(0))));
}

#[test]
fn driver_is_named_in_the_engine_alone() {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![source.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && path != source.join("engine") {
                folders.push(path);
            } else if path.is_file() {
                assert!(!std::fs::read_to_string(&path).unwrap().contains("rusqlite"), "{}", path.display());
            }
        }
    }
}
