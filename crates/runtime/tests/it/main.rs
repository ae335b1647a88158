//! The runtime with a real database file and a clock that only tests advance.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test ends at the first thing that is not as it should be"
)]

mod inbox;
mod turns;
mod silence;
mod silenced;
mod crashes;
mod retries;
mod evidence;
mod truth;
mod corrections;
mod corrected;
mod corrected_elsewhere;
mod corrected_names;
mod correction_chains;
mod reconciliation;
mod defects;
mod reflection;
mod slow_cycle;
mod expectations;
mod traces;
mod mentions;
mod entities;
mod identity;
mod zones;
mod mood;
mod invariants;
mod recovery;
mod vectors;
mod changeover;
mod forgetting;
mod large_erasures;
mod diary;
mod plans;
mod proactive;
mod proactive_year;
mod phone;
mod facts;
mod ledger;
mod persona_year;

mod world;
mod workshop;
mod facts_of_lives;
mod embedders;
