//! `echovessel daemons`: the daemons that share this home.

use jiff::Timestamp;
use memory::ports::Clock as _;
use reqwest::Method;
use serde_json::Value;

use crate::cli::SharedOptions;
use crate::client::Daemon;
use crate::home::Home;
use crate::system::SystemClock;

pub(crate) async fn daemons(shared: &SharedOptions, home: &Home) -> anyhow::Result<()> {
    let answer = Daemon::find(home)?.ask(Method::GET, "/api/admin/daemons", None).await?;
    if shared.json {
        println!("{answer}");
        return Ok(());
    }
    let header = ["ADDRESS", "STATE", "PERSONAS", "TURNS/MIN", "LAST SEEN", "VERSION"].map(str::to_owned);
    let listed = answer["daemons"].as_array().into_iter().flatten();
    let rows: Vec<[String; 6]> = std::iter::once(header).chain(listed.map(table_row)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: [usize; 6] = std::array::from_fn(width);
    for row in &rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        println!("{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    Ok(())
}

fn table_row(daemon: &Value) -> [String; 6] {
    let text = |key: &str| daemon[key].as_str().unwrap_or_default().to_owned();
    let number = |key: &str| daemon[key].as_u64().map_or_else(|| "-".to_owned(), |number| number.to_string());
    let seen = daemon["seen_at"].as_str().and_then(|seen| seen.parse::<Timestamp>().ok());
    let seconds = seen.map_or(0, |seen| SystemClock.now().duration_since(seen).as_secs().max(0));
    [
        text("address"),
        text("state").replace('_', " "),
        number("personas"),
        number("turns_per_minute"),
        format!("{seconds} s ago"),
        text("version"),
    ]
}
