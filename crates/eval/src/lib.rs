//! How well it finds, measured on public data that anybody can fetch, through the product's real path.
//!
//! [`data`] reads a publisher's own format, [`replay`] captures every unit as a message with its own time and asks the
//! questions after the last one, [`measure`] compares the ranking with the gold units, [`report`] prints it.

pub mod data;
pub mod replay;
pub mod measure;
pub mod report;

mod jsonl;
mod locomo;
