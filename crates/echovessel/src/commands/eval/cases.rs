//! `echovessel eval cases`: EchoVessel's own cases, each lived on a scratch home with a clock that stands still.

use std::sync::Arc;

use ::eval::cases::{Outcome, Stage, StoryClock, run_case, shipped, table};
use anyhow::bail;
use jiff::Timestamp;

use super::scratch_home;
use crate::cli::{Eval, Shared};
use crate::config::Config;
use crate::home::Home;
use crate::system::SystemIdGenerator;
use crate::wiring::wire;

/// Where each case's clock stands before its first talk.
const START: Timestamp = Timestamp::UNIX_EPOCH;

pub(super) async fn cases(shared: &Shared, config: &Config, asked: &Eval) -> anyhow::Result<()> {
    let mut config = config.clone();
    // Vectors are made in the background, in time that a clock that stands still does not have.
    config.embedding.provider = "none".to_owned();
    if !asked.llm {
        config.llm.provider = "offline".to_owned();
    }
    let mut outcomes = Vec::new();
    for (name, case) in shipped()? {
        let scratch = scratch_home()?;
        let outcome = on_scratch(&config, &scratch, asked.llm, &name, &case).await;
        // The scratch home has served; an error here is not worth a word.
        let _ = std::fs::remove_dir_all(scratch.folder());
        outcomes.push(outcome?);
    }
    if shared.json {
        println!("{}", serde_json::to_string_pretty(&outcomes)?);
    } else {
        print!("{}", table(&outcomes));
    }
    let failed = outcomes.iter().filter(|outcome| !outcome.failures.is_empty()).count();
    if failed > 0 {
        bail!("{failed} of {} cases do not hold", outcomes.len());
    }
    Ok(())
}

async fn on_scratch(
    config: &Config,
    scratch: &Home,
    by_model: bool,
    name: &str,
    case: &::eval::cases::Case,
) -> anyhow::Result<Outcome> {
    let clock = Arc::new(StoryClock::new(START));
    let services = wire(config, scratch, clock.clone(), Arc::new(SystemIdGenerator::default())).await?;
    if by_model && services.model_state().is_offline() {
        bail!(
            "--llm needs a language model, and none is set up: set [llm] provider and base_url in config.toml, or leave --llm out"
        );
    }
    let mut stage = Stage::new(services.runtime.clone(), clock).await?;
    let outcome = run_case(name, case, &mut stage, by_model).await;
    stage.stop().await;
    services.close().await?;
    outcome
}
