//! The embedding model of the configuration, and notices about it.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use embed::{
    ALL_MINILM_L6_V2, EndpointEmbedder, EndpointSettings, FolderSettings, KNOWN_MODELS, LocalEmbedder,
    ModelDescription, ModelFolder, model_files,
};
use memory::ports::{Clock, Embedder, Store};
use secrecy::SecretString;
use server::EmbeddingState;

use crate::config::{Config, EmbeddingProvider};
use crate::home::Home;

/// Threads for embedding one text; turns of several users share the processors.
const THREADS: usize = 2;
/// A prefix of this name is what the model's own files say.
const AUTO_PREFIX: &str = "auto";

/// The source of vectors.
#[derive(Clone)]
pub(crate) enum EmbeddingSetup {
    /// Vectors are turned off.
    Off,
    /// A model in this process.
    Local {
        embedder: Arc<LocalEmbedder>,
        folder: PathBuf,
        /// Settings of the local model besides its files.
        settings: FolderSettings,
    },
    /// An endpoint that makes vectors.
    Endpoint {
        embedder: Arc<EndpointEmbedder>,
        /// The model that is asked for.
        model: String,
    },
}

impl EmbeddingSetup {
    /// Sets the source up without loading or asking anything.
    pub(crate) fn new(config: &Config, home: &Home, clock: Arc<dyn Clock>) -> anyhow::Result<Self> {
        let set = &config.embedding;
        let prefix = |prefix: &str| (prefix != AUTO_PREFIX).then(|| prefix.to_owned());
        let (query_prefix, passage_prefix) = (prefix(&set.query_prefix), prefix(&set.passage_prefix));
        let readable_scripts = set.readable_scripts.clone();
        match set.provider {
            EmbeddingProvider::None => Ok(Self::Off),
            EmbeddingProvider::OpenAi => {
                let variable = set.api_key_env.as_str();
                let key = (!variable.is_empty()).then(|| std::env::var(variable).ok()).flatten();
                let settings = EndpointSettings {
                    base_url: set.base_url.clone(),
                    model: set.model.clone(),
                    api_key: key.map(SecretString::from),
                    query_prefix: query_prefix.unwrap_or_default(),
                    passage_prefix: passage_prefix.unwrap_or_default(),
                    readable_scripts,
                    allow_insecure_http: set.allow_insecure_http,
                    ..EndpointSettings::default()
                };
                let embedder = Arc::new(EndpointEmbedder::new(settings, clock)?);
                Ok(Self::Endpoint { embedder, model: set.model.clone() })
            }
            _ => {
                let settings =
                    FolderSettings { query_prefix, passage_prefix, readable_scripts, uncalibrated: false };
                let folder = model_folder(config, home);
                let embedder = LocalEmbedder::with_settings(&folder, settings.clone(), THREADS);
                Ok(Self::Local { embedder: Arc::new(embedder), folder, settings })
            }
        }
    }

    /// The embedder of the memory; `None` if memories are found by words alone.
    pub(crate) fn embedder(&self) -> Option<Arc<dyn Embedder>> {
        match self {
            Self::Off => None,
            Self::Local { embedder, .. } => Some(embedder.clone()),
            Self::Endpoint { embedder, .. } => Some(embedder.clone()),
        }
    }

    /// The local model without calibration of its vectors; `None` if the model needs none.
    pub(crate) fn uncalibrated_model(&self) -> Option<LocalEmbedder> {
        let Self::Local { folder, settings, .. } = self else { return None };
        let found = ModelFolder::read(folder, settings).ok()?;
        found.description()?.calibration?;
        let settings = FolderSettings { uncalibrated: true, ..settings.clone() };
        Some(LocalEmbedder::with_settings(folder, settings, THREADS))
    }

    /// The embedder of the previous model, if its vectors are stored and its folder still exists. An endpoint is not
    /// used any more once it is removed from the configuration.
    pub(crate) async fn previous_model(&self, store: &dyn Store, home: &Home) -> Option<Arc<dyn Embedder>> {
        let current = self.embedder()?;
        if let Self::Local { embedder, .. } = self {
            // While it is missing, another known model is used.
            let _ = embedder.inspect_folder();
        }
        let mut models = store.embedding_models().await.ok()?;
        models.sort_by_key(|model| std::cmp::Reverse(model.vectors));
        for model in models {
            if model.vectors == 0 || model.fingerprint == current.fingerprint() {
                continue;
            }
            let embedder = match &model.source {
                Some(source) => LocalEmbedder::from_source(source, THREADS),
                None if model.fingerprint == ALL_MINILM_L6_V2.fingerprint => {
                    Some(LocalEmbedder::new(home.model(ALL_MINILM_L6_V2.name), THREADS))
                }
                None => None,
            };
            let Some(embedder) = embedder else { continue };
            if embedder.inspect_folder().is_ok() && embedder.fingerprint() == model.fingerprint {
                return Some(Arc::new(embedder));
            }
        }
        None
    }

    /// State of the current embedding model.
    pub(crate) fn embedding_state(&self) -> EmbeddingState {
        match self {
            Self::Off => EmbeddingState { provider: None, model: None, words_only: true },
            Self::Local { embedder, folder, settings: _ } => {
                let there = ModelFolder::check_present(folder).is_ok();
                let usable = there && embedder.inspect_folder().is_ok();
                EmbeddingState {
                    provider: Some("local".to_owned()),
                    model: usable.then(|| self.name()),
                    words_only: !usable,
                }
            }
            Self::Endpoint { embedder, .. } => EmbeddingState {
                provider: Some("openai".to_owned()),
                model: Some(self.name()),
                words_only: embedder.failure_reason().is_some(),
            },
        }
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Self::Off => "none".to_owned(),
            Self::Local { embedder, folder, .. } => {
                let known =
                    KNOWN_MODELS.iter().find(|known| embedder.fingerprint().starts_with(known.fingerprint));
                let own = || folder.file_name().map(|name| name.to_string_lossy().into_owned());
                let known = known.map(|known| known.name.to_owned());
                known.or_else(own).unwrap_or_else(|| folder.display().to_string())
            }
            Self::Endpoint { model, .. } => model.clone(),
        }
    }

    /// The host that receives texts to embed; `None` if they stay in the process.
    pub(crate) fn host(&self) -> Option<&str> {
        match self {
            Self::Endpoint { embedder, .. } => Some(embedder.host()),
            _ => None,
        }
    }

    /// A notice to print at the start; `None` if nothing is unusual.
    pub(crate) fn startup_notice(&self) -> Option<String> {
        match self {
            Self::Off => Some("off: memories are found only by their words".to_owned()),
            Self::Local { embedder, .. } => {
                let error = embedder.inspect_folder().err()?;
                Some(format!("memories are found only by their words: {error}"))
            }
            Self::Endpoint { embedder, model } => Some(format!("computed by {model} at {}", embedder.host())),
        }
    }

    /// Embeds a test sentence, and returns a description of the embedder.
    pub(crate) async fn try_embedder(&self) -> anyhow::Result<String> {
        match self {
            Self::Off => Ok("off: memories are found only by their words".to_owned()),
            Self::Local { folder, settings, .. } => {
                let found = ModelFolder::read(folder, settings)?;
                if let Some(known) = found.description() {
                    model_files::verify(folder, known)?;
                    return Ok("the model is installed and is the right one".to_owned());
                }
                let model = embed::Model::open_folder(found, THREADS)?;
                model.embed(&["hello"])?;
                Ok(format!(
                    "{} works: {}; languages: {}",
                    self.name(),
                    model.folder().summary(),
                    model.readable_scripts().join(", ")
                ))
            }
            Self::Endpoint { embedder, model } => {
                let fingerprint = embedder.identify().await.context("the endpoint returned no vector")?;
                let (dimension, host) = (embedder.dimension(), embedder.host());
                Ok(format!("{model} at {host} returns {dimension} components ({fingerprint})"))
            }
        }
    }
}

/// Refuses to fetch a model into a folder that holds another one.
pub(crate) fn check_fetchable(
    folder: &std::path::Path,
    wanted: &'static ModelDescription,
) -> anyhow::Result<()> {
    match ModelFolder::read(folder, &FolderSettings::default()) {
        Ok(found) if found.description().is_none_or(|known| known.name != wanted.name) => bail!(
            "{} contains another model ({}) and was not changed. `model fetch` installs only {}: unset \
                embedding.model_dir to use it",
            folder.display(),
            found.summary(),
            wanted.name
        ),
        _ => Ok(()),
    }
}

/// The known model that the configuration names, or the default one.
pub(crate) fn configured_model(config: &Config) -> &'static ModelDescription {
    let named = KNOWN_MODELS.into_iter().find(|known| known.name == config.embedding.model);
    named.unwrap_or(KNOWN_MODELS[0])
}

/// Folder of the embedding model: the configured one, `ECHOVESSEL_MODEL_DIR`, or the home's own. If no model is named
/// and the default one is missing, the folder of another known model that exists.
pub(crate) fn model_folder(config: &Config, home: &Home) -> PathBuf {
    let usual = model_folder_path(config, home, configured_model(config));
    if !config.embedding.model.is_empty() || ModelFolder::check_present(&usual).is_ok() {
        return usual;
    }
    let others = KNOWN_MODELS.iter().map(|known| model_folder_path(config, home, known));
    others.into_iter().find(|folder| ModelFolder::check_present(folder).is_ok()).unwrap_or(usual)
}

/// The folder of this model.
pub(crate) fn model_folder_path(config: &Config, home: &Home, model: &ModelDescription) -> PathBuf {
    if !config.embedding.model_dir.is_empty() {
        return PathBuf::from(&config.embedding.model_dir);
    }
    std::env::var_os("ECHOVESSEL_MODEL_DIR").map_or_else(|| home.model(model.name), PathBuf::from)
}
