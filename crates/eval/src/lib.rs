//! Measures retrieval on public data that anybody can download, through the product's own code.
//!
//! [`data`] holds a publisher's data, [`replay`] captures every unit as a message with its own time and asks the
//! questions after the last one, [`measure`] compares the ranking with the gold units, [`report`] prints it and
//! [`plot`] draws it. [`tune`] fits the ranking's weights, [`calibrate`] measures the distribution of a model's
//! vectors, [`absence`] the threshold of honest absence, and [`cases`] are our own.

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
