//! The program: its state, settings, models, access and metrics.

pub(crate) mod audit;
pub(crate) mod config;
pub(crate) mod daemon;
pub(crate) mod metrics;
pub(crate) mod model;
pub(crate) mod tokens;
