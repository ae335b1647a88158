//! EchoVessel: a self-hosted engine for digital personas that remember.
//!
//! This binary holds no logic: it reads the command line and the configuration, puts the rooms together, runs, stops.

#[macro_use]
mod output;
mod cli;
mod commands;
mod config;
mod live_config;
mod home;
mod system;
mod wiring;
mod embedding;
mod lifecycle;
mod relay;
mod client;
mod telemetry;

use std::process::ExitCode;

use cli::{Cli, Command, Run, Shared};
use config::ConfigError;
use home::{Home, HomeInUse};

/// Recall makes and drops thousands of small rows on several threads; the system's allocator took a tenth of its time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse_or_exit();
    let level = if matches!(cli.command, None | Some(Command::Run(_))) { "info" } else { "warn" };
    telemetry::start(level, cli.shared.json);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return report_error(&anyhow::anyhow!("the system gives no threads: {error}"), false),
    };
    let json = cli.shared.json;
    match runtime.block_on(dispatch(cli)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report_error(&error, json),
    }
}

async fn dispatch(cli: Cli) -> anyhow::Result<()> {
    let Cli { shared, command } = cli;
    let home = Home::locate(shared.home.clone())?;
    match command.unwrap_or(Command::Run(Run::default())) {
        Command::Demo => commands::demo::demo().await,
        Command::Init(asked) => commands::init::init(&shared, &home, &asked),
        Command::Completions { shell } => {
            commands::completions::completions(shell);
            Ok(())
        }
        Command::Config { command } => commands::config::config(&shared, &home, &command),
        Command::Doctor => commands::doctor::doctor(&shared, &home).await,
        Command::Sync { command } => commands::sync::sync(&shared, &home, &command).await,
        Command::Status => commands::status::status(&shared, &home).await,
        Command::Stop => commands::stop::stop(&shared, &home).await,
        Command::Reload => commands::reload::reload(&shared, &home).await,
        Command::Token { command } => commands::token::token(&shared, &home, command).await,
        command => with_config(&shared, &home, command).await,
    }
}

async fn with_config(shared: &Shared, home: &Home, command: Command) -> anyhow::Result<()> {
    let config = config::load(&home.config(), std::env::vars())?;
    match command {
        Command::Chat(asked) => commands::chat::chat(shared, &config, home, &asked).await,
        Command::Recall(asked) => commands::recall::recall(shared, &config, home, &asked).await,
        Command::Model { command } => commands::model::model(shared, &config, home, command).await,
        Command::Memory { command } => commands::memory::memory(shared, &config, home, &command).await,
        Command::Eval(asked) => commands::eval::eval(shared, &config, home, &asked).await,
        Command::Mcp(asked) => commands::mcp::mcp(&config, home, &asked).await,
        Command::Run(asked) => commands::run::run(shared, &config, home, &asked).await,
        _ => Ok(()),
    }
}

/// Says what went wrong, once, in words or as JSON, with the exit code that `--help` documents.
fn report_error(error: &anyhow::Error, json: bool) -> ExitCode {
    if json {
        eprintln!("{}", serde_json::json!({"error": format!("{error:#}")}));
    } else {
        eprintln!("echovessel: {error:#}");
    }
    if error.is::<ConfigError>() {
        ExitCode::from(2)
    } else if error.is::<HomeInUse>() {
        ExitCode::from(3)
    } else if error.is::<client::NoDaemon>() {
        ExitCode::from(4)
    } else {
        ExitCode::FAILURE
    }
}
