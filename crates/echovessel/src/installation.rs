//! Parts of a configured program for `echovessel-eval`, which measures them on temporary homes.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use embed::LocalEmbedder;
use llm::ProviderKind;
use memory::ports::{Clock, Embedder};
use memory::recall::RecallSettings;
use runtime::Runtime;
use tracing_subscriber::filter::LevelFilter;

use crate::config::{self, Config, EmbeddingProvider};
use crate::embedding::EmbeddingSetup;
use crate::home::{Home, open_private};
use crate::system::{SystemClock, SystemIdGenerator, random_bytes};
use crate::telemetry;
use crate::wiring::{Services, recall_settings, wire};

/// A home and its configuration. Nothing is opened or written until a method asks for it.
pub struct Installation {
    config: Config,
    home: Home,
}

/// A temporary home; removed with its content when dropped.
pub struct ScratchHome(Home);

/// A runtime on a scratch home.
pub struct ScratchRuntime {
    services: Services,
}

impl Installation {
    /// Reads the configuration of this home, or of the default one, and starts logging warnings.
    ///
    /// # Errors
    ///
    /// If the configuration is not valid.
    pub fn open(home: Option<PathBuf>, json: bool) -> anyhow::Result<Self> {
        telemetry::start(LevelFilter::WARN, json);
        let home = Home::locate(home)?;
        Ok(Self { config: config::load(&home.config(), std::env::vars())?, home })
    }

    /// Creates the home's folder if it is not there.
    ///
    /// # Errors
    /// If the folder can't be created or closed to other users.
    pub fn create_folder(&self) -> anyhow::Result<&Path> {
        self.home.create()?;
        Ok(self.home.folder())
    }

    /// The configured embedding model; `None` if it is switched off.
    ///
    /// # Errors
    /// If its settings are not valid.
    pub fn embedder(&self) -> anyhow::Result<Option<Arc<dyn Embedder>>> {
        Ok(self.set_up_embedding()?.embedder())
    }

    /// The configured model without calibration; `None` if it has none, or is not in this process.
    ///
    /// # Errors
    /// If its settings are not valid.
    pub fn uncalibrated_embedder(&self) -> anyhow::Result<Option<LocalEmbedder>> {
        Ok(self.set_up_embedding()?.uncalibrated_model())
    }

    fn set_up_embedding(&self) -> anyhow::Result<EmbeddingSetup> {
        EmbeddingSetup::new(&self.config, &self.home, Arc::new(SystemClock))
    }

    /// The configured settings of recall.
    pub fn recall_settings(&self) -> RecallSettings {
        recall_settings(&self.config)
    }
}

impl ScratchHome {
    /// # Errors
    /// If the folder for temporary files can't be written.
    pub fn create() -> anyhow::Result<Self> {
        let suffix = hex::encode(&random_bytes()[..6]);
        let scratch =
            Self(Home::locate(Some(std::env::temp_dir().join(format!("echovessel-eval-{suffix}"))))?);
        scratch.0.create()?;
        Ok(scratch)
    }

    /// The path of the scratch home's database, for a test that opens a store itself.
    pub fn database(&self) -> PathBuf {
        self.0.database()
    }

    /// Creates a runtime on this home, without vectors: those are made in the background, in time that a stopped
    /// clock does not have. Without `with_model` the offline provider replies.
    ///
    /// # Errors
    ///
    /// If the database or the configured model can't be opened.
    pub async fn wire(
        &self,
        installation: &Installation,
        with_model: bool,
        clock: Arc<dyn Clock>,
    ) -> anyhow::Result<ScratchRuntime> {
        let mut config = installation.config.clone();
        config.embedding.provider = EmbeddingProvider::None;
        if !with_model {
            config.llm.provider = ProviderKind::Offline;
        }
        let services = wire(&config, &self.0, clock, Arc::new(SystemIdGenerator::default())).await?;
        Ok(ScratchRuntime { services })
    }
}

impl Drop for ScratchHome {
    fn drop(&mut self) {
        // The temporary home is no longer needed, so an error here does not matter.
        let _ = std::fs::remove_dir_all(self.0.folder());
    }
}

impl ScratchRuntime {
    /// The runtime. The caller starts and stops it.
    pub fn runtime(&self) -> &Runtime {
        &self.services.runtime
    }

    /// True if no language model replies.
    pub fn is_offline(&self) -> bool {
        self.services.model_state().is_offline()
    }

    /// Closes the database. Call it after [`Runtime::stop`].
    ///
    /// # Errors
    ///
    /// If the database could not be closed cleanly; nothing is lost.
    pub async fn close(self) -> anyhow::Result<()> {
        self.services.close().await
    }
}

/// Creates a file that only its owner can read; an existing one is emptied.
///
/// # Errors
/// Of the file system.
pub fn create_private_file(path: &Path) -> std::io::Result<File> {
    open_private(path, true)
}
