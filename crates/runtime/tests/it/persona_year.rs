//! A year of a persona, generated from a seed, in seconds: several users and channels, moods, deaths and weddings,
//! silences, crashes, clocks that jump, a model with errors, people who edit, delete, erase, correct and merge. The
//! invariants are checked after each step and on each day.

mod year;
mod laws;
mod acts;
mod talk;
mod model;
mod house;
mod dice;

pub(crate) use dice::Dice;
use year::Year;

const DAYS: u32 = 365;
async fn live(seed: u64) {
    let mut year = Year::new(seed).await;
    for day in 1..=DAYS {
        if let Err(broken) = year.live_a_day().await {
            panic!("seed {seed}, day {day}: {broken}");
        }
    }
    if let Err(broken) = year.end().await {
        panic!("seed {seed}, at the end of the year: {broken}");
    }
}

#[tokio::test]
async fn a_year_keeps_every_law() {
    live(1).await;
}

/// Further years: `ECHOVESSEL_YEARS=2..100`, as in `make soak`.
#[tokio::test]
async fn other_years_keep_every_law() {
    let Ok(years) = std::env::var("ECHOVESSEL_YEARS") else { return };
    let (first, last) = years.split_once("..").expect("a range of seeds, as 2..100");
    for seed in first.parse().unwrap()..last.parse().unwrap() {
        live(seed).await;
        println!("seed {seed}: every law was kept");
    }
}
