//! `echovessel config`: validates and prints the configuration and its schema.

use anyhow::Context as _;

use crate::cli::{ConfigCommand, SharedOptions};
use crate::config::{self, Config};
use crate::home::Home;

pub(crate) fn config(shared: &SharedOptions, home: &Home, command: &ConfigCommand) -> anyhow::Result<()> {
    match command {
        ConfigCommand::Check => {
            config::load(&home.config(), std::env::vars())?;
            if shared.json {
                println!("{}", serde_json::json!({"ok": true, "path": home.config()}));
            } else if home.config().exists() {
                println!("{} is valid.", home.config().display());
            } else {
                println!("{} does not exist; using the defaults.", home.config().display());
            }
        }
        ConfigCommand::Show => {
            let config = config::load(&home.config(), std::env::vars())?;
            if shared.json {
                println!("{}", serde_json::to_string_pretty(&config)?);
            } else {
                print!("{}", toml::to_string(&config).context("the configuration can't be shown")?);
            }
        }
        ConfigCommand::Schema => {
            let mut schema = serde_json::to_value(schemars::schema_for!(Config))?;
            let keys = config::known_keys()?.into_iter().map(|(key, _)| key);
            let live: Vec<String> = keys.filter(|key| config::is_live(key)).collect();
            // Keys that a running daemon applies at once; the others need a restart.
            schema["x-live"] = serde_json::json!(live);
            println!("{}", serde_json::to_string_pretty(&schema)?);
        }
    }
    Ok(())
}
