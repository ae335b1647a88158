//! Sizes and options of a BERT-like encoder, from its `config.json`.

use serde_json::Value;

use crate::ModelDescription;
use crate::elementwise::Activation;
use crate::matmul::COLUMN_MULTIPLE;

/// Names of tensors, and the first position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TensorNaming {
    /// Devlin et al. 2018.
    Bert,
    /// Liu et al. 2019; also XLM-RoBERTa and CamemBERT. Positions begin after that of the padding.
    Roberta,
    /// Sanh et al. 2019: no types of text, tensors by other names.
    DistilBert,
}

impl TensorNaming {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bert => "bert",
            Self::Roberta => "roberta",
            Self::DistilBert => "distilbert",
        }
    }

    /// Prefixes of tensor names before `embeddings.`.
    pub(crate) fn embeddings_prefixes(self) -> &'static [&'static str] {
        match self {
            Self::Bert => &["", "bert."],
            Self::Roberta => &["", "roberta."],
            Self::DistilBert => &["", "distilbert."],
        }
    }
}

/// Sizes and options of the model besides its weights.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Architecture {
    pub(crate) family: TensorNaming,
    /// Components of a token's vector.
    pub(crate) hidden: usize,
    pub(crate) layers: usize,
    pub(crate) heads: usize,
    /// Added to the variance in layer normalisation.
    pub(crate) epsilon: f32,
    pub(crate) activation: Activation,
    /// The position vector of a text's first token.
    pub(crate) first_position: usize,
    /// Longest text in tokens.
    pub(crate) max_tokens: usize,
}

impl Architecture {
    /// Parses `config.json`.
    ///
    /// # Errors
    ///
    /// The key and what is wrong with it.
    pub(crate) fn read(config: &Value) -> Result<Self, String> {
        let family = match config["model_type"].as_str().unwrap_or("bert") {
            "bert" => TensorNaming::Bert,
            "roberta" | "xlm-roberta" | "camembert" => TensorNaming::Roberta,
            "distilbert" => TensorNaming::DistilBert,
            other => {
                return Err(format!(
                    "model_type is {other:?}; supported are bert, roberta, xlm-roberta, camembert and distilbert"
                ));
            }
        };
        let distilled = family == TensorNaming::DistilBert;
        let pick = |plain: &'static str, distilled_name: &'static str| {
            if distilled { distilled_name } else { plain }
        };
        let positions = positive_integer(config, "max_position_embeddings")?;
        let first_position = match family {
            TensorNaming::Roberta => 1 + config["pad_token_id"].as_u64().map_or(1, |id| id as usize),
            TensorNaming::Bert | TensorNaming::DistilBert => 0,
        };
        match config["position_embedding_type"].as_str() {
            None | Some("absolute") => {}
            Some(other) => {
                return Err(format!("position_embedding_type is {other:?}; only \"absolute\" is supported"));
            }
        }
        let architecture = Self {
            family,
            hidden: positive_integer(config, pick("hidden_size", "dim"))?,
            layers: positive_integer(config, pick("num_hidden_layers", "n_layers"))?,
            heads: positive_integer(config, pick("num_attention_heads", "n_heads"))?,
            epsilon: config["layer_norm_eps"].as_f64().unwrap_or(1e-12) as f32,
            activation: read_activation(config, pick("hidden_act", "activation"))?,
            first_position,
            max_tokens: positions.saturating_sub(first_position),
        };
        architecture.check_heads(pick("num_attention_heads", "n_heads"))?;
        Ok(architecture)
    }

    /// The sizes of a model whose folder has no `config.json`.
    pub(crate) fn from_description(description: &ModelDescription) -> Self {
        Self {
            family: TensorNaming::Bert,
            hidden: description.dimension,
            layers: description.layers,
            heads: description.attention_heads,
            epsilon: 1e-12,
            activation: Activation::Gelu,
            first_position: 0,
            max_tokens: 512,
        }
    }

    /// Checks that the size of an attention head is supported.
    pub(crate) fn check_heads(&self, key: &str) -> Result<(), String> {
        let size = self.hidden / self.heads.max(1);
        if size * self.heads == self.hidden && size.is_multiple_of(COLUMN_MULTIPLE) {
            return Ok(());
        }
        Err(format!(
            "{key} is {} for {} components; a head must have a multiple of {COLUMN_MULTIPLE}",
            self.heads, self.hidden
        ))
    }
}

fn positive_integer(config: &Value, key: &str) -> Result<usize, String> {
    let number = config[key].as_u64().and_then(|number| usize::try_from(number).ok());
    number
        .filter(|number| (1..=1 << 20).contains(number))
        .ok_or_else(|| format!("{key} is {} and should be a number of 1 or more", config[key]))
}

fn read_activation(config: &Value, key: &str) -> Result<Activation, String> {
    match config[key].as_str().unwrap_or("gelu") {
        "gelu" => Ok(Activation::Gelu),
        "gelu_new" | "gelu_fast" | "gelu_pytorch_tanh" => Ok(Activation::GeluByTanh),
        "relu" => Ok(Activation::Relu),
        other => Err(format!("{key} is {other:?}; supported are gelu, gelu_new, gelu_pytorch_tanh and relu")),
    }
}
