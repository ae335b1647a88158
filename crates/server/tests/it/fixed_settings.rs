//! Configuration, models, channels and backups of a home in tests: nothing external, and one key that can be changed.

use async_trait::async_trait;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use memory::ports::StoreError;
use serde_json::{Map, Value};
use server::{
    BackupCreated, BackupError, BackupList, Backups, ChannelSetup, ChannelSetupError, ConfigAuthor,
    ConfigUpdate, Configuration, ConfigurationError, DaemonState, DaemonStatus, Daemons, InstallationFiles,
    KeySource, LocalModelServer, ModelCheckResponse, ModelChoice, ModelConfiguration, ModelFault, ModelKey,
    ModelSetup, ModelSetupError, ModelTryEvent,
};

use crate::home::{llm, start};

/// A configuration of one key, `recall.k`.
pub(crate) struct FixedSettings;

#[async_trait]
impl Backups for FixedSettings {
    async fn list(&self) -> Result<BackupList, BackupError> {
        Ok(BackupList { folder: "backups".to_owned(), backups: Vec::new() })
    }

    async fn create(&self) -> Result<BackupCreated, BackupError> {
        Err(BackupError::NotMade("the folder cannot be written".to_owned()))
    }
}

#[async_trait]
impl Daemons for FixedSettings {
    async fn list(&self) -> Result<Vec<DaemonStatus>, StoreError> {
        let listed = |address: &str, state| DaemonStatus {
            address: address.to_owned(),
            version: "1.2.3".to_owned(),
            state,
            personas: 1,
            turns_per_minute: Some(4),
            started_at: start(),
            seen_at: start(),
        };
        Ok(vec![
            listed("http://192.0.2.1:7777", DaemonState::Serving),
            listed("http://192.0.2.2:7777", DaemonState::StandingBy),
        ])
    }
}

#[async_trait]
impl ChannelSetup for FixedSettings {
    async fn tokens(&self) -> Result<Vec<(&'static str, ModelKey)>, ChannelSetupError> {
        Ok(Vec::new())
    }

    async fn set_up(&self, channel_id: &str, token: Option<String>) -> Result<String, ChannelSetupError> {
        match (channel_id, token) {
            ("telegram", Some(token)) => Ok(token),
            ("telegram", None) => Err(ChannelSetupError::Token("it has no token".to_owned())),
            _ => Err(ChannelSetupError::Unknown),
        }
    }

    async fn switch_off(&self, _: &str) -> Result<(), ChannelSetupError> {
        Ok(())
    }
}

#[async_trait]
impl ModelSetup for FixedSettings {
    async fn show(&self) -> Result<ModelConfiguration, ModelSetupError> {
        Ok(ModelConfiguration {
            provider: "auto".to_owned(),
            base_url: String::new(),
            model: String::new(),
            key: ModelKey { source: KeySource::None, variable: String::new(), end: String::new() },
            environment_keys: Vec::new(),
            overridden_by_environment: Vec::new(),
            answering: llm(),
        })
    }

    async fn local_servers(&self) -> Vec<LocalModelServer> {
        Vec::new()
    }

    async fn list(&self, _: ModelChoice) -> Result<Vec<String>, ModelSetupError> {
        Err(ModelSetupError { fault: ModelFault::Key, detail: "the key is wrong".to_owned() })
    }

    async fn test_model(
        &self,
        choice: ModelChoice,
        _: String,
    ) -> Result<BoxStream<'static, ModelTryEvent>, ModelSetupError> {
        Ok(stream::iter([ModelTryEvent::Piece { text: choice.model }]).boxed())
    }

    async fn choose(&self, _: ModelChoice) -> Result<ModelConfiguration, ModelSetupError> {
        ModelSetup::show(self).await
    }

    async fn check(&self) -> ModelCheckResponse {
        ModelCheckResponse { ok: true, detail: "answers".to_owned(), llm: llm() }
    }
}

#[async_trait]
impl Configuration for FixedSettings {
    async fn settings(&self) -> Result<Map<String, Value>, ConfigurationError> {
        let setting = serde_json::json!({"value": 10, "default": 10, "live": true});
        Ok(Map::from_iter([("recall.k".to_owned(), setting)]))
    }

    async fn files(&self) -> InstallationFiles {
        let folder = std::env::temp_dir();
        InstallationFiles { config: folder.join("config.toml"), database: None, folder }
    }

    async fn change(&self, wanted: Value, _: ConfigAuthor) -> Result<ConfigUpdate, ConfigurationError> {
        match wanted.pointer("/recall/k").map(Value::as_u64) {
            None => Err(ConfigurationError::NotAKey("there is no such key".to_owned())),
            Some(None) => Err(ConfigurationError::BadValue("recall.k is a number".to_owned())),
            Some(Some(0)) => Err(ConfigurationError::Unwritable("the disk is full".to_owned())),
            Some(Some(_)) => {
                let keys = vec!["recall.k".to_owned()];
                Ok(ConfigUpdate { updated_fields: keys.clone(), reloaded: keys, ..ConfigUpdate::default() })
            }
        }
    }

    async fn reload(&self) -> Result<ConfigUpdate, ConfigurationError> {
        Ok(ConfigUpdate { restart_required: vec!["server.port".to_owned()], ..ConfigUpdate::default() })
    }
}
