//! Reads a model's folder without loading the weights.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::architecture::Architecture;
use crate::calibration::Calibration;
use crate::description::{CONFIG_FILE, PACKED_FILE, TOKENIZER_FILE, WEIGHTS_FILE};
use crate::packed_file::PackedSizes;
use crate::pooling::Pooling;
use crate::readability::Scripts;
use crate::{ALL_MINILM_L6_V2, MULTILINGUAL_E5_SMALL, ModelDescription, ModelError, model_files};

/// Maximum word pieces of a text, whatever the model allows: attention costs their square.
const PIECES_MAX: usize = 512;
/// Maximum size of a JSON file of a model. The vocabulary of multilingual-e5 has 17 MB.
const JSON_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Number of places in the weights that are read to identify them: reading a large file whole would take seconds at
/// each start.
const WEIGHT_SAMPLES: u64 = 64;
/// Bytes to read in each place. A disk reads no less at a time.
const SAMPLE_BYTES: u64 = 4096;

/// Settings beside the files. By default nothing is set, and the files decide.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FolderSettings {
    /// Prefix of each query.
    pub query_prefix: Option<String>,
    /// Prefix of each passage.
    pub passage_prefix: Option<String>,
    /// Unicode's names of the scripts that the model reads; `None` if its vocabulary decides.
    pub readable_scripts: Vec<String>,
    /// True to get vectors without calibration, for measuring a [`Calibration`].
    pub uncalibrated: bool,
}

/// A folder with an embedding model of the BERT family: either one packed file, `e5-small-q4.bin`, or `config.json`,
/// `tokenizer.json` and `model.safetensors`. A model from sentence-transformers also has `modules.json`,
/// `1_Pooling/config.json`, `sentence_bert_config.json` and `config_sentence_transformers.json`.
#[derive(Clone, Debug)]
pub struct ModelFolder {
    pub(crate) directory: PathBuf,
    pub(crate) architecture: Architecture,
    pub(crate) pooling: Pooling,
    pub(crate) query_prefix: String,
    pub(crate) passage_prefix: String,
    pub(crate) max_pieces: usize,
    /// True if the model expects lower-case text and its tokenizer does not convert it.
    pub(crate) lower_case: bool,
    /// `None` if the vocabulary decides.
    pub(crate) scripts: Option<Scripts>,
    /// The packed file, if the model is in one.
    pub(crate) packed: Option<PathBuf>,
    pub(crate) calibration: Option<&'static Calibration>,
    fingerprint: String,
    description: Option<&'static ModelDescription>,
}

impl ModelFolder {
    /// Reads the small files, and samples of the weights to identify them.
    ///
    /// # Errors
    ///
    /// [`ModelError::Missing`] for a missing file; [`ModelError::Unusable`] with the file, the key and the reason for
    /// a model that this crate can't compute; [`ModelError::Io`].
    pub fn read(directory: &Path, settings: &FolderSettings) -> Result<Self, ModelError> {
        let packed = directory.join(PACKED_FILE);
        let mut folder = if packed.is_file() {
            Self::read_packed(directory, packed)?
        } else {
            Self::read_separate_files(directory)?
        };
        if !settings.readable_scripts.is_empty() {
            folder.scripts = Some(Scripts::from_settings(&settings.readable_scripts)?);
        }
        if settings.uncalibrated {
            folder.calibration = None;
        }
        let usual = (folder.query_prefix.clone(), folder.passage_prefix.clone());
        folder.query_prefix = settings.query_prefix.clone().unwrap_or(folder.query_prefix);
        folder.passage_prefix = settings.passage_prefix.clone().unwrap_or(folder.passage_prefix);
        folder.fingerprint = folder.make_fingerprint(usual, &settings.readable_scripts)?;
        Ok(folder)
    }

    /// Checks that a model is there, by the names of its files.
    ///
    /// # Errors
    ///
    /// [`ModelError::Missing`] with the first missing file.
    pub fn check_present(directory: &Path) -> Result<(), ModelError> {
        if directory.join(PACKED_FILE).is_file() {
            return Ok(());
        }
        model_files::check_present(directory, &ALL_MINILM_L6_V2)
    }

    fn read_packed(directory: &Path, packed: PathBuf) -> Result<Self, ModelError> {
        let architecture = PackedSizes::read(&packed)?.architecture();
        let is_known = model_files::has_pinned_files(directory, &MULTILINGUAL_E5_SMALL)?;
        let description = is_known.then_some(&MULTILINGUAL_E5_SMALL);
        Ok(Self {
            directory: directory.to_owned(),
            pooling: Pooling::Mean,
            query_prefix: description.map_or("", |known| known.query_prefix).to_owned(),
            passage_prefix: description.map_or("", |known| known.passage_prefix).to_owned(),
            max_pieces: description.map_or(PIECES_MAX, |known| known.max_pieces).min(architecture.max_tokens),
            lower_case: false,
            scripts: description.map(known_scripts).transpose()?,
            packed: Some(packed),
            calibration: description.and_then(|known| known.calibration),
            fingerprint: String::new(),
            architecture,
            description,
        })
    }

    fn read_separate_files(directory: &Path) -> Result<Self, ModelError> {
        model_files::check_present(directory, &ALL_MINILM_L6_V2)?;
        let is_known = model_files::has_pinned_files(directory, &ALL_MINILM_L6_V2)?;
        let description = is_known.then_some(&ALL_MINILM_L6_V2);
        let config = directory.join(CONFIG_FILE);
        let architecture = match (read_json::<Value>(&config)?, description) {
            (Some(value), _) => {
                Architecture::read(&value).map_err(|reason| ModelError::unusable(&config, reason))?
            }
            (None, Some(description)) => Architecture::from_description(description),
            (None, None) => return Err(damaged_folder(directory)),
        };
        let (pooling, length, prompts) = match description {
            Some(known) => (
                Pooling::Mean,
                TextLength { max_pieces: Some(known.max_pieces), lower_case: false },
                Prompts { query: known.query_prefix.to_owned(), passage: known.passage_prefix.to_owned() },
            ),
            None => (read_pooling(directory)?, TextLength::read(directory)?, Prompts::read(directory)?),
        };
        let max_pieces = length.max_pieces.unwrap_or(PIECES_MAX).min(architecture.max_tokens).min(PIECES_MAX);
        if max_pieces < 3 {
            return Err(ModelError::unusable(&config, "it leaves no room for text"));
        }
        Ok(Self {
            directory: directory.to_owned(),
            pooling,
            query_prefix: prompts.query,
            passage_prefix: prompts.passage,
            max_pieces,
            lower_case: length.lower_case,
            scripts: description.map(known_scripts).transpose()?,
            packed: None,
            calibration: description.and_then(|known| known.calibration),
            fingerprint: String::new(),
            architecture,
            description,
        })
    }

    /// Identifies everything that a vector depends on; see [`memory::ports::Embedder::fingerprint`]. The folder's
    /// path is not part of it, so a model can be moved.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Components of a vector.
    pub fn dimension(&self) -> usize {
        self.architecture.hidden
    }

    /// The description of the model, if its files match a known one.
    pub fn description(&self) -> Option<&'static ModelDescription> {
        self.description
    }

    /// A line about the model for people.
    pub fn summary(&self) -> String {
        let Architecture { family, layers, hidden, .. } = &self.architecture;
        let prefixes = match (self.query_prefix.as_str(), self.passage_prefix.as_str()) {
            ("", "") => "no prefixes".to_owned(),
            (query, passage) => format!("prefixes {query:?} for queries and {passage:?} for passages"),
        };
        format!(
            "{} with {layers} layers, {hidden} components, {} pooling, {} word pieces, {prefixes}",
            family.name(),
            self.pooling.name(),
            self.max_pieces
        )
    }

    /// Computes the fingerprint of the model in this folder. `usual` are the prefixes that its files declare.
    fn make_fingerprint(
        &self,
        usual: (String, String),
        readable_scripts: &[String],
    ) -> Result<String, ModelError> {
        let Some(known) = self.description else {
            let name = format!(
                "{}-{}/{}/{}{}/{}",
                self.architecture.family.name(),
                self.digest()?,
                self.pooling.name(),
                self.max_pieces,
                if self.lower_case { "-lower" } else { "" },
                self.dimension()
            );
            return Ok(name + &settings_digest(&self.query_prefix, &self.passage_prefix, readable_scripts));
        };
        let is_usual = readable_scripts.is_empty()
            && (self.query_prefix.as_str(), self.passage_prefix.as_str()) == (&*usual.0, &*usual.1);
        let settings = if is_usual {
            String::new()
        } else {
            settings_digest(&self.query_prefix, &self.passage_prefix, readable_scripts)
        };
        let uncalibrated = known.calibration.is_some() && self.calibration.is_none();
        Ok(known.fingerprint.to_owned() + &settings + if uncalibrated { "/uncalibrated" } else { "" })
    }

    /// A digest that identifies the model: of the whole vocabulary, and of the weights' size, header and samples.
    /// Samples are enough, because training changes every weight, and the whole may be gigabytes.
    fn digest(&self) -> Result<String, ModelError> {
        let mut digest = Sha256::new();
        digest.update(format!("{:?}", self.architecture));
        let path = match &self.packed {
            Some(packed) => packed.clone(),
            None => {
                let tokenizer = self.directory.join(TOKENIZER_FILE);
                digest.update(fs::read(&tokenizer).map_err(ModelError::io(&tokenizer))?);
                self.directory.join(WEIGHTS_FILE)
            }
        };
        let mut weights = File::open(&path).map_err(ModelError::io(&path))?;
        let size = weights.metadata().map_err(ModelError::io(&path))?.len();
        digest.update(size.to_le_bytes());
        let mut sample = Vec::new();
        for number in 0..WEIGHT_SAMPLES {
            sample.clear();
            weights.seek(SeekFrom::Start(size / WEIGHT_SAMPLES * number)).map_err(ModelError::io(&path))?;
            (&weights).take(SAMPLE_BYTES).read_to_end(&mut sample).map_err(ModelError::io(&path))?;
            digest.update(&sample);
        }
        Ok(short_digest(digest.finalize().as_slice()))
    }
}

/// Error for a folder with only two files, which are not those of the default model.
fn damaged_folder(directory: &Path) -> ModelError {
    ModelError::unusable(
        &directory.join(WEIGHTS_FILE),
        format!(
            "it and {TOKENIZER_FILE} are not those of all-MiniLM-L6-v2 (damaged? `echovessel model fetch` brings them \
             again), and without {CONFIG_FILE} it can't be another model"
        ),
    )
}

/// Eight bytes of a digest: enough to tell the few models of a home apart.
fn short_digest(digest: &[u8]) -> String {
    hex::encode(digest.get(..8).unwrap_or(digest))
}

/// The part of a fingerprint that covers settings; empty if nothing is set.
pub(crate) fn settings_digest(
    query_prefix: &str,
    passage_prefix: &str,
    readable_scripts: &[String],
) -> String {
    if query_prefix.is_empty() && passage_prefix.is_empty() && readable_scripts.is_empty() {
        return String::new();
    }
    let all = serde_json::json!([query_prefix, passage_prefix, readable_scripts]).to_string();
    format!("/set-{}", short_digest(Sha256::digest(all.as_bytes()).as_slice()))
}

fn known_scripts(description: &'static ModelDescription) -> Result<Scripts, ModelError> {
    Scripts::from_names(description.readable_scripts.iter().copied())
        .map_err(|name| ModelError::Settings(format!("Unicode has no script called {name:?}")))
}

/// Reads a small JSON file; `None` if it does not exist.
fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, ModelError> {
    let mut bytes = Vec::new();
    match File::open(path) {
        Ok(file) => file.take(JSON_BYTES_MAX).read_to_end(&mut bytes).map_err(ModelError::io(path))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(ModelError::io(path)(error)),
    };
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|error| ModelError::unusable(path, format!("it can't be read: {error}")))
}

/// One step of a sentence-transformers model.
#[derive(Deserialize)]
struct PipelineModule {
    #[serde(default)]
    path: String,
    #[serde(rename = "type")]
    kind: String,
}

/// The pooling method of the folder; the mean by default.
fn read_pooling(directory: &Path) -> Result<Pooling, ModelError> {
    let modules_path = directory.join("modules.json");
    let modules: Option<Vec<PipelineModule>> = read_json(&modules_path)?;
    let mut folder = "1_Pooling".to_owned();
    for module in modules.iter().flatten() {
        match module.kind.rsplit('.').next().unwrap_or_default() {
            "Transformer" if module.path.is_empty() || module.path == "." => {}
            "Pooling" => folder.clone_from(&module.path),
            "Normalize" => {}
            other => {
                return Err(ModelError::unusable(
                    &modules_path,
                    format!(
                        "the module {other:?} (path {:?}) is not supported; Transformer, Pooling and Normalize are",
                        module.path
                    ),
                ));
            }
        }
    }
    let path = directory.join(folder).join(CONFIG_FILE);
    match read_json::<Value>(&path)? {
        Some(config) => Pooling::read(&config).map_err(|reason| ModelError::unusable(&path, reason)),
        None => Ok(Pooling::Mean),
    }
}

/// Maximum length and case of texts, from `sentence_bert_config.json`.
struct TextLength {
    max_pieces: Option<usize>,
    lower_case: bool,
}

impl TextLength {
    fn read(directory: &Path) -> Result<Self, ModelError> {
        let config: Value = read_json(&directory.join("sentence_bert_config.json"))?.unwrap_or(Value::Null);
        let said = config["max_seq_length"].as_u64();
        Ok(Self {
            max_pieces: said.and_then(|said| usize::try_from(said).ok()),
            lower_case: config["do_lower_case"].as_bool().unwrap_or(false),
        })
    }
}

/// Prefixes that the model expects before a text.
struct Prompts {
    query: String,
    passage: String,
}

impl Prompts {
    /// Reads `config_sentence_transformers.json`: `prompts.query`, and `prompts.passage` or `prompts.document`; else
    /// the one that `default_prompt_name` names.
    fn read(directory: &Path) -> Result<Self, ModelError> {
        let config: Value =
            read_json(&directory.join("config_sentence_transformers.json"))?.unwrap_or(Value::Null);
        let prompts = &config["prompts"];
        let usual = config["default_prompt_name"].as_str().and_then(|name| prompts[name].as_str());
        let named = |names: &[&str]| {
            let found = names.iter().find_map(|name| prompts[*name].as_str());
            found.or(usual).unwrap_or_default().to_owned()
        };
        Ok(Self { query: named(&["query"]), passage: named(&["passage", "document"]) })
    }
}
