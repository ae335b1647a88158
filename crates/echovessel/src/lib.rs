//! EchoVessel: a self-hosted engine for AI personas with long-term memory.
//!
//! This crate has no logic of its own: it reads the command line and the configuration, connects the crates, runs and
//! stops. [`run`] is the whole program; [`Installation`] provides its parts for measurements.

#[macro_use]
mod output;
mod cli;
mod commands;
mod config;
mod live_config;
mod language_model;
mod channel_setup;
mod model_setup;
mod secrets;
mod followed_hub;
mod former_peers;
mod home;
mod system;
mod outbound;
mod owner;
mod shared_owner;
mod voice_setup;
mod database;
mod daemons;
mod wiring;
mod embedding;
mod lifecycle;
mod relay;
mod age_file;
mod client;
mod installation;
mod telemetry;

use std::process::ExitCode;

use cli::{AuditCommand, Cli, Command, Run, SyncCommand};
use config::ConfigError;
use futures_util::FutureExt as _;
use home::{Home, HomeInUse};
pub use installation::{Installation, ScratchHome, ScratchRuntime, create_private_file};
use tracing_subscriber::filter::LevelFilter;

/// Recall makes and drops thousands of small rows on several threads; the system's allocator took a tenth of its time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs the program with the arguments of this process; the exit code is the one that `--help` documents.
pub fn run() -> ExitCode {
    let cli = Cli::parse_or_exit();
    let level = match cli.command {
        None | Some(Command::Run(_)) => LevelFilter::INFO,
        // Its output describes everything, so it needs no log.
        Some(Command::Demo(_)) => LevelFilter::ERROR,
        Some(_) => LevelFilter::WARN,
    };
    telemetry::start(level, cli.shared.json);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            return report_error(
                &anyhow::anyhow!("the operating system refused to start threads: {error}"),
                false,
            );
        }
    };
    let json = cli.shared.json;
    // Boxed, so that it is compiled once: otherwise tokio's two schedulers would each have a copy of every command.
    match runtime.block_on(dispatch(cli).boxed()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report_error(&error, json),
    }
}

async fn dispatch(Cli { shared, command }: Cli) -> anyhow::Result<()> {
    let home = Home::locate(shared.home.clone())?;
    if shared.home.is_some() && !command.as_ref().is_none_or(works_without_home) {
        home.check_exists()?;
    }
    let (shared, home) = (&shared, &home);
    let config = || config::load(&home.config(), std::env::vars());
    match command.unwrap_or(Command::Run(Run::default())) {
        Command::Run(args) => commands::run::run(shared, &config()?, home, &args).await,
        Command::Chat(args) => commands::chat::chat(shared, &config()?, home, &args).await,
        Command::Demo(args) => commands::demo::demo(&args).await,
        Command::Init(args) => commands::init::init(shared, home, &args),
        Command::Recall(args) => commands::recall::recall(shared, &config()?, home, &args).await,
        Command::Memory { command } => commands::memory::memory(shared, &config()?, home, &command).await,
        Command::Model { command } => commands::model::model(shared, &config()?, home, command).await,
        Command::Config { command } => commands::config::config(shared, home, &command),
        Command::Mcp(args) => commands::mcp::mcp(&config()?, home, &args).await,
        Command::Doctor => commands::doctor::doctor(shared, home).await,
        Command::Import(args) => commands::import::import(shared, &config()?, home, &args).await,
        Command::Export(args) => commands::export::export(shared, &config()?, home, &args).await,
        Command::Backup(args) => commands::backup::backup(shared, &config()?, home, &args).await,
        Command::Restore(args) => commands::restore::restore(shared, &config()?, home, &args).await,
        Command::Status => commands::status::status(shared, home).await,
        Command::Daemons => commands::daemons::daemons(shared, home).await,
        Command::Storage { command } => commands::storage::storage(shared, &config()?, home, &command).await,
        Command::Sync { command } => commands::sync::sync(shared, &config()?, home, command).await,
        Command::Stop => commands::stop::stop(shared, home).await,
        Command::Channel { command } => commands::channel::channel(shared, home, &command).await,
        Command::Open => commands::run::open(home).await,
        Command::Reload => commands::reload::reload(shared, home).await,
        Command::Token { command } => commands::token::token(shared, home, command).await,
        Command::Logins { command } => commands::access::logins(shared, home, command).await,
        Command::Audit { command: AuditCommand::Export } => commands::access::export_audit(home).await,
        Command::Completions { shell } => {
            commands::completions::completions(shell);
            Ok(())
        }
    }
}

/// True if a command creates a home, needs none, or reports by itself that no daemon runs there. For all other
/// commands a missing home is most likely a typing error.
fn works_without_home(command: &Command) -> bool {
    matches!(
        command,
        Command::Run(_)
            | Command::Init(_)
            | Command::Demo(_)
            | Command::Import(_)
            | Command::Restore(_)
            | Command::Storage { .. }
            | Command::Completions { .. }
            | Command::Config { .. }
            | Command::Token { .. }
            | Command::Sync { command: SyncCommand::Connect(_) }
            | Command::Doctor
            | Command::Mcp(_)
            | Command::Model { .. }
            | Command::Status
            | Command::Daemons
            | Command::Stop
            | Command::Reload
            | Command::Open
            | Command::Channel { .. }
    )
}

/// Prints the error once, as text or as JSON, and returns the exit code that `--help` documents.
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
    } else if error.is::<commands::run::HomeHeldElsewhere>() {
        ExitCode::from(5)
    } else {
        ExitCode::FAILURE
    }
}
