//! How well it finds, measured on public data that anybody can fetch, through the product's real path.
//!
//! [`data`] reads a publisher's own format, [`replay`] captures every unit as a message with its own time and asks the
//! questions after the last one, [`measure`] compares the ranking with the gold units, [`report`] prints it and [`plot`]
//! draws it. [`tune`] fits the ranking's weights, [`calibrate`] measures how a model's vectors lie, [`absence`] measures from where nothing is known, [`cases`] are our
//! own.

pub mod data;
pub mod loading;
pub mod replay;
pub mod measure;
pub mod passages;
pub mod report;

pub mod absence;
pub mod tune;
pub mod calibrate;
pub mod plot;
pub mod cases;

mod jsonl;
mod locomo;
mod longmemeval;
