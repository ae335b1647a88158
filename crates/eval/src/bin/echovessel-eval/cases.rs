//! `echovessel-eval cases`: runs EchoVessel's own cases, each on a temporary home with a simulated clock.

use std::sync::Arc;

use anyhow::bail;
use echovessel::{Installation, ScratchHome};
use eval::cases::{Case, Outcome, Stage, StoryClock, run_case, shipped_cases, table};
use jiff::Timestamp;

use super::Eval;

/// Time on each case's clock before its first conversation.
const START: Timestamp = Timestamp::UNIX_EPOCH;

pub(super) async fn run_cases(asked: &Eval, installation: &Installation) -> anyhow::Result<()> {
    let mut outcomes = Vec::new();
    for (name, case) in shipped_cases()? {
        outcomes.push(run_on_scratch_home(installation, asked.llm, &name, &case).await?);
    }
    if asked.json {
        println!("{}", serde_json::to_string_pretty(&outcomes)?);
    } else {
        print!("{}", table(&outcomes));
    }
    let failed = outcomes.iter().filter(|outcome| !outcome.failures.is_empty()).count();
    if failed > 0 {
        bail!("{failed} of {} cases failed", outcomes.len());
    }
    Ok(())
}

async fn run_on_scratch_home(
    installation: &Installation,
    by_model: bool,
    name: &str,
    case: &Case,
) -> anyhow::Result<Outcome> {
    let clock = Arc::new(StoryClock::new(START));
    let home = ScratchHome::create()?;
    let scratch = home.wire(installation, by_model, clock.clone()).await?;
    if by_model && scratch.is_offline() {
        bail!(
            "--llm needs a language model, but none is configured: set [llm] provider and base_url in \
                config.toml, or leave --llm out"
        );
    }
    let mut stage = Stage::new(scratch.runtime().clone(), clock).await?;
    let outcome = run_case(name, case, &mut stage, by_model).await;
    stage.stop().await;
    scratch.close().await?;
    outcome
}
