//! The configuration of a running daemon. The API, the command line and SIGHUP read, change and reload it in the same
//! way.

use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use channels::Channels;
use llm::Provider as _;
use memory::UserId;
use memory::ledger::Prices;
use runtime::{Ledger, ReloadableModel, Runtime};
use serde_json::{Map, Value as Json, json};
use server::{
    ConfigAuthor, ConfigUpdate, Configuration, ConfigurationError, InstallationFiles, ServerSettings,
    VoiceProgram,
};
use store::HomeDatabase;
use tokio::sync::Mutex;
use toml::{Table, Value};

use crate::config::{self, Config, ConfigChange, Protection, is_live, known_keys};
use crate::database::home_database;
use crate::followed_hub::followed_hub;
use crate::home::{Home, replace_file};
use crate::language_model::connect;
use crate::voice_setup::{self, voice_settings};
use crate::wiring::{configured_prices, own_instance, runtime_settings, server_settings};

/// The daemon's configuration and the parts that use it.
pub(crate) struct LiveConfig {
    pub(crate) home: Home,
    pub(crate) runtime: Runtime,
    pub(crate) model: Arc<ReloadableModel>,
    pub(crate) prices: Arc<ArcSwap<Prices>>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) server: Arc<ArcSwap<ServerSettings>>,
    /// The channels; `None` in a program that runs one command only.
    pub(crate) channels: Option<Channels>,
    /// Locked from the comparison until the file is written, so that two changes at the same time do not overwrite
    /// each other.
    pub(crate) state: Mutex<ConfigState>,
    /// Locked while a model is chosen or a bot is set up, because keys and configuration change together.
    pub(crate) choosing: Mutex<()>,
}

/// The configuration in effect, and the one in the file.
pub(crate) struct ConfigState {
    /// The configuration in use.
    running: Config,
    /// The configuration to be used after a restart.
    pub(crate) wanted: Config,
}

impl ConfigState {
    pub(crate) fn new(config: Config) -> Self {
        Self { running: config.clone(), wanted: config }
    }
}

#[async_trait]
impl Configuration for LiveConfig {
    async fn settings(&self) -> Result<Map<String, Json>, ConfigurationError> {
        let state = self.state.lock().await;
        settings_body(&state.running, &state.wanted)
    }

    async fn files(&self) -> InstallationFiles {
        let database = match home_database(&self.running_config().await, &self.home) {
            Ok(HomeDatabase::File(path)) => Some(path),
            Ok(HomeDatabase::Server(_)) | Err(_) => None,
        };
        InstallationFiles { folder: self.home.folder().to_owned(), config: self.home.config(), database }
    }

    async fn change(&self, wanted: Json, author: ConfigAuthor) -> Result<ConfigUpdate, ConfigurationError> {
        let wishes =
            config::changes_in(&wanted, &known_keys_or_defect()?).map_err(ConfigurationError::NotAKey)?;
        for wish in &wishes {
            let refusal = Protection::from_key(&wish.key).refusal(&wish.key, author);
            refusal.map_or(Ok(()), |reason| Err(ConfigurationError::Protected(reason)))?;
        }
        self.apply(wanted, None).await
    }

    async fn voice_programs(&self) -> Vec<VoiceProgram> {
        voice_setup::voice_programs(&self.home)
    }

    async fn use_voice_program(&self, name: &str) -> Result<ConfigUpdate, ConfigurationError> {
        match voice_setup::config_changes(&self.home, name) {
            Some(wanted) => self.apply(wanted, None).await,
            None => Err(ConfigurationError::NotAKey(format!("{name} is not installed; nothing was changed"))),
        }
    }

    async fn reload(&self) -> Result<ConfigUpdate, ConfigurationError> {
        let mut state = self.state.lock().await;
        let config = config::load(&self.home.config(), std::env::vars())
            .map_err(|error| ConfigurationError::BadValue(format!("{error}; nothing was changed")))?;
        let changed = self.apply_config(&mut state, config, None, None).await?;
        tracing::info!(
            reloaded = changed.reloaded.join(" "),
            restart_required = changed.restart_required.join(" "),
            "configuration reloaded"
        );
        Ok(changed)
    }
}

impl LiveConfig {
    /// The configuration in use.
    pub(crate) async fn running_config(&self) -> Config {
        self.state.lock().await.running.clone()
    }

    /// Changes the configuration. All settings of a section that is being connected, such as `channels.telegram.`,
    /// take effect at once.
    pub(crate) async fn apply(
        &self,
        wanted: Json,
        connecting: Option<&str>,
    ) -> Result<ConfigUpdate, ConfigurationError> {
        let mut state = self.state.lock().await;
        let wishes =
            config::changes_in(&wanted, &known_keys_or_defect()?).map_err(ConfigurationError::NotAKey)?;
        let path = self.home.config();
        let text = read(&path)?;
        let text = config::apply_changes(&text, &wishes)
            .map_err(|reason| ConfigurationError::BadValue(format!("{}: {reason}", path.display())))?;
        let config = config::parse(&text, &path, std::env::vars())
            .map_err(|error| ConfigurationError::BadValue(format!("{error}; nothing was changed")))?;
        let mut changed = self.apply_config(&mut state, config, Some(&text), connecting).await?;
        let touched = |key: &String| wishes.iter().any(|wish: &ConfigChange| wish.key == *key);
        changed.restart_required.retain(touched);
        changed.overridden = config::overridden_keys(std::env::vars()).into_iter().filter(touched).collect();
        changed.overridden.sort();
        changed.updated_fields = wishes.into_iter().map(|wish| wish.key).collect();
        Ok(changed)
    }

    /// Applies a new configuration. Steps that can fail come first, then the file is written, then the rest takes
    /// effect.
    async fn apply_config(
        &self,
        state: &mut ConfigState,
        wanted: Config,
        text: Option<&str>,
        connecting: Option<&str>,
    ) -> Result<ConfigUpdate, ConfigurationError> {
        let differing = differing_keys(&state.running, &wanted)?;
        let is_live =
            |key: &String| is_live(key) || connecting.is_some_and(|section| key.starts_with(section));
        let (live, waiting): (Vec<String>, Vec<String>) = differing.into_iter().partition(is_live);
        let running = with_keys_from(&state.running, &wanted, &live)?;
        let has = |section: &str| live.iter().any(|key| key.starts_with(section));
        let refused = |error: &dyn std::fmt::Display| {
            ConfigurationError::BadValue(format!("{error}; nothing was changed"))
        };
        let server = server_settings(&running, &self.server.load().url).map_err(|error| refused(&error))?;
        let model = match has("llm.") {
            true => Some(connect(&running, &self.home).await.map_err(|error| refused(&error))?),
            false => None,
        };
        let voice = match has("voice.") {
            true => Some(
                voice_settings(&running, &self.home, &self.runtime.shared_clock())
                    .map_err(|error| refused(&error))?,
            ),
            false => None,
        };
        let followed = match has("sync.") || has("hub.") {
            true => {
                let instance = own_instance(&running).map_err(|error| refused(&error))?;
                Some((followed_hub(&running, &self.home).map_err(|error| refused(&error))?, instance))
            }
            false => None,
        };
        let context_tokens = match &model {
            Some(model) => model.context_tokens(),
            None => self.model.context_tokens(),
        };
        let new_settings = runtime_settings(&running, context_tokens).map_err(|error| refused(&error))?;
        if let Some(text) = text {
            replace_file(&self.home.config(), text.as_bytes()).map_err(|error| {
                ConfigurationError::Unwritable(format!(
                    "{} can't be written: {error}; nothing was changed",
                    self.home.config().display()
                ))
            })?;
        }
        if has("persona.display_name") {
            self.rename(&running.persona.display_name).await?;
        }
        if let Some(model) = model {
            self.model.replace(model);
        }
        if let Some(voice) = voice {
            self.runtime.voice().change_settings(voice);
        }
        if let Some((followed, instance)) = followed {
            let followed = self.runtime.embodiment().follow_hub(followed, instance).await;
            followed.map_err(|error| ConfigurationError::Unwritable(error.to_string()))?;
        }
        if has("llm.prices") {
            self.prices.store(Arc::new(configured_prices(&running)));
        }
        if !live.is_empty() {
            self.runtime.change_settings(new_settings);
            self.server.store(Arc::new(server));
        }
        *state = ConfigState { running, wanted };
        if !(live.is_empty() && waiting.is_empty()) {
            self.runtime.publish_settings(UserId::owner(), live.clone(), waiting.clone()).await;
        }
        Ok(ConfigUpdate { reloaded: live, restart_required: waiting, ..ConfigUpdate::default() })
    }

    async fn rename(&self, name: &str) -> Result<(), ConfigurationError> {
        let persona = self.runtime.settings().persona.clone();
        let renamed = self.runtime.store().rename_persona(&persona, name).await;
        renamed.map_err(|error| ConfigurationError::Unwritable(error.to_string()))
    }
}

fn read(path: &Path) -> Result<String, ConfigurationError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => {
            Err(ConfigurationError::Unwritable(format!("{} can't be read: {error}", path.display())))
        }
    }
}

fn defect_error(error: &dyn std::fmt::Display) -> ConfigurationError {
    ConfigurationError::Unwritable(format!("the configuration can't be shown: {error}"))
}

fn known_keys_or_defect() -> Result<Vec<(String, Value)>, ConfigurationError> {
    known_keys().map_err(|error| defect_error(&error))
}

fn to_table(config: &Config) -> Result<Table, ConfigurationError> {
    Table::try_from(config).map_err(|error| defect_error(&error))
}

fn value_at<'a>(table: &'a Table, key: &str) -> Option<&'a Value> {
    let (sections, name) = key.rsplit_once('.')?;
    sections.split('.').try_fold(table, |table, part| table.get(part)?.as_table())?.get(name)
}

/// Keys whose values differ, sorted.
fn differing_keys(one: &Config, other: &Config) -> Result<Vec<String>, ConfigurationError> {
    let (one, other) = (to_table(one)?, to_table(other)?);
    let mut keys: Vec<String> = known_keys_or_defect()?.into_iter().map(|(key, _)| key).collect();
    keys.retain(|key| value_at(&one, key) != value_at(&other, key));
    keys.sort();
    Ok(keys)
}

/// Copies these keys of another configuration into `config`.
fn with_keys_from(config: &Config, other: &Config, keys: &[String]) -> Result<Config, ConfigurationError> {
    let (mut table, other) = (to_table(config)?, to_table(other)?);
    for key in keys {
        let Some(value) = value_at(&other, key) else { continue };
        let mut place = &mut table;
        let mut parts = key.split('.').peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                place.insert(part.to_owned(), value.clone());
                break;
            }
            match place.get_mut(part) {
                Some(Value::Table(inner)) => place = inner,
                _ => break,
            }
        }
    }
    Value::Table(table).try_into().map_err(|error: toml::de::Error| defect_error(&error))
}

/// Every key with its current value, its default, and if it can change without a restart. `pending` holds values that
/// wait for one.
fn settings_body(running: &Config, wanted: &Config) -> Result<Map<String, Json>, ConfigurationError> {
    let (running, wanted) = (to_table(running)?, to_table(wanted)?);
    let mut settings = Map::new();
    for (key, default) in known_keys_or_defect()? {
        let (value, pending) = (value_at(&running, &key), value_at(&wanted, &key));
        let mut setting = json!({"value": value, "default": default, "live": is_live(&key)});
        if value != pending
            && let Some(fields) = setting.as_object_mut()
        {
            fields.insert("pending".to_owned(), json!(pending));
        }
        settings.insert(key, setting);
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_changed_differs_and_is_taken_over() {
        let old = Config::default();
        let mut new = Config::default();
        new.recall.k = 3;
        new.server.port = 1;
        new.llm.models.small = "tiny".to_owned();
        assert_eq!(differing_keys(&old, &new).unwrap(), ["llm.models.small", "recall.k", "server.port"]);
        let taken =
            with_keys_from(&old, &new, &["recall.k".to_owned(), "llm.models.small".to_owned()]).unwrap();
        assert_eq!((taken.recall.k, taken.server.port, taken.llm.models.small.as_str()), (3, 7777, "tiny"));
        let shown = settings_body(&taken, &new).unwrap();
        assert_eq!(shown["recall.k"], json!({"value": 3, "default": 10, "live": true}));
        assert_eq!(
            shown["server.port"],
            json!({"value": 7777, "default": 7777, "live": false, "pending": 1})
        );
    }
}
