//! The prompt templates: built in, replaceable from the data folder, identified by their hash.

use std::collections::BTreeSet;
use std::path::Path;

use llm::ModelTier;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior, Value};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// Why a prompt can't be used.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// The file of a prompt override exists but can't be read.
    #[error("the prompt {file} can't be read: {reason}. Make it readable or take it away; nothing was asked")]
    Unreadable {
        file: String,
        /// The error of the operating system.
        reason: String,
    },
    /// A template, or its front matter, is invalid.
    #[error("the prompt {file}, line {line}: {reason}. Correct it or take it away to use the built-in one")]
    Broken {
        file: String,
        /// The line, from 1.
        line: usize,
        /// The error in the template.
        reason: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PromptName {
    /// Extracts memories from a session.
    Extraction,
    /// Compares newer statements with older ones.
    Reconciliation,
    /// Derives thoughts from recent events.
    Reflection,
    /// Derives thoughts between two sessions.
    SlowCycle,
    /// Drafts a persona from material.
    PersonaDraft,
    /// Summarises a week, a month or a year.
    RollUp,
    /// Extracts relationships from new memories.
    Graph,
    /// Writes a proactive message.
    Proactive,
    /// The system part of a reply's prompt, which rarely changes.
    ReplySystem,
    /// The user part of a reply's prompt, which changes with each turn.
    ReplyUser,
}

impl PromptName {
    pub const ALL: [Self; 10] = [
        Self::Extraction,
        Self::Reconciliation,
        Self::Reflection,
        Self::SlowCycle,
        Self::PersonaDraft,
        Self::RollUp,
        Self::Graph,
        Self::Proactive,
        Self::ReplySystem,
        Self::ReplyUser,
    ];

    /// The name of the prompt's file, without extension.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Extraction => "extraction",
            Self::Reconciliation => "reconciliation",
            Self::Reflection => "reflection",
            Self::SlowCycle => "slow_cycle",
            Self::PersonaDraft => "persona_draft",
            Self::RollUp => "rollup",
            Self::Graph => "graph",
            Self::Proactive => "proactive",
            Self::ReplySystem => "reply_system",
            Self::ReplyUser => "reply_user",
        }
    }

    fn built_in(self) -> &'static str {
        match self {
            Self::Extraction => include_str!("../prompts/extraction.md"),
            Self::Reconciliation => include_str!("../prompts/reconciliation.md"),
            Self::Reflection => include_str!("../prompts/reflection.md"),
            Self::SlowCycle => include_str!("../prompts/slow_cycle.md"),
            Self::PersonaDraft => include_str!("../prompts/persona_draft.md"),
            Self::RollUp => include_str!("../prompts/rollup.md"),
            Self::Graph => include_str!("../prompts/graph.md"),
            Self::Proactive => include_str!("../prompts/proactive.md"),
            Self::ReplySystem => include_str!("../prompts/reply_system.md"),
            Self::ReplyUser => include_str!("../prompts/reply_user.md"),
        }
    }

    /// The task in the contract table.
    fn task(self) -> &'static str {
        match self {
            Self::Extraction => "extraction",
            Self::Reconciliation => "reconciliation",
            Self::Reflection => "reflection",
            Self::SlowCycle => "slow_cycle",
            Self::PersonaDraft => "persona_draft",
            Self::RollUp => "rollup",
            Self::Graph => "graph",
            Self::Proactive => "proactive",
            Self::ReplySystem | Self::ReplyUser => "reply",
        }
    }

    /// The contract of the answer; `text` for free text.
    fn schema(self) -> &'static str {
        match self {
            Self::Extraction => "extraction",
            Self::Reconciliation => "reconciliation",
            Self::Reflection => "reflection",
            Self::SlowCycle => "slow_cycle",
            Self::PersonaDraft => "persona_draft",
            Self::RollUp => "rollup",
            Self::Graph => "graph",
            Self::Proactive => "proactive",
            Self::ReplySystem | Self::ReplyUser => "text",
        }
    }

    /// True if the template has a `system` and a `user` block rather than one text.
    fn has_blocks(self) -> bool {
        matches!(
            self,
            Self::Extraction
                | Self::Reconciliation
                | Self::Reflection
                | Self::SlowCycle
                | Self::PersonaDraft
                | Self::RollUp
                | Self::Graph
                | Self::Proactive
        )
    }
}

/// The front matter of a template.
#[derive(Clone, Debug)]
struct FrontMatter {
    tier: ModelTier,
    inputs: BTreeSet<String>,
}

/// All templates, checked at the start.
pub struct Prompts {
    environment: Environment<'static>,
    entries: Vec<Entry>,
}

struct Entry {
    name: PromptName,
    file: String,
    /// Number of lines of front matter before the template.
    line_offset: usize,
    front_matter: FrontMatter,
    hash: String,
}

impl Prompts {
    /// Like [`Prompts::load`], with the inputs for trying each template.
    pub(crate) fn load_and_try(
        overrides: Option<&Path>,
        sample_inputs: fn(PromptName) -> [Value; 2],
    ) -> Result<Self, PromptError> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        let mut prompts = Self { environment, entries: Vec::new() };
        // Tags on lines of their own leave no empty lines.
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        prompts
            .environment
            .set_syntax(syntax.map_err(|error| prompts.template_error(PromptName::Extraction, &error))?);
        for name in PromptName::ALL {
            prompts.add_template(name, overrides, &sample_inputs(name))?;
        }
        Ok(prompts)
    }

    /// SHA-256 of a template's file, in hexadecimal. It is stored with results to show which template was used.
    pub fn hash(&self, name: PromptName) -> &str {
        self.find_entry(name).map_or("", |entry| &entry.hash)
    }

    /// The tier that a template asks for.
    pub fn tier_of_template(&self, name: PromptName) -> ModelTier {
        self.find_entry(name).map_or(ModelTier::Large, |entry| entry.front_matter.tier)
    }

    /// Renders a template without blocks.
    pub(crate) fn render_text(
        &self,
        name: PromptName,
        context: impl Serialize,
    ) -> Result<String, PromptError> {
        self.render(name, Value::from(Serde(context)))
    }

    /// Renders a template's `system` and `user` blocks.
    pub(crate) fn render_blocks(
        &self,
        name: PromptName,
        context: impl Serialize,
    ) -> Result<(String, String), PromptError> {
        self.render_both(name, Value::from(Serde(context)))
    }

    fn add_template(
        &mut self,
        name: PromptName,
        overrides: Option<&Path>,
        samples: &[Value; 2],
    ) -> Result<(), PromptError> {
        let (file, source) = load_source(name, overrides)?;
        let (front_matter, line_offset) = front_matter(name, &file, &source)?;
        let body: String = source.split_inclusive('\n').skip(line_offset).collect();
        let hash = hex::encode(Sha256::digest(source.as_bytes()));
        self.entries.push(Entry { name, file, line_offset, front_matter, hash });
        self.environment
            .add_template_owned(name.as_str(), body)
            .map_err(|error| self.template_error(name, &error))?;
        self.check_inputs(name, &source, &samples[0])?;
        for context in samples.clone() {
            if name.has_blocks() {
                self.render_both(name, context)?;
            } else {
                self.render(name, context)?;
            }
        }
        Ok(())
    }

    /// Checks that the front matter lists every value that the template uses, and only existing ones.
    fn check_inputs(&self, name: PromptName, source: &str, full: &Value) -> Result<(), PromptError> {
        let Some(entry) = self.find_entry(name) else { return Ok(()) };
        let existing: BTreeSet<String> =
            full.try_iter().map(|keys| keys.map(|key| key.to_string()).collect()).unwrap_or_default();
        let wrong = |word: &str, reason: String| {
            let line = source.lines().position(|line| line.contains(word)).map_or(1, |index| index + 1);
            Err(PromptError::Broken { file: entry.file.clone(), line, reason })
        };
        if let Some(unknown) = entry.front_matter.inputs.difference(&existing).next() {
            return wrong(unknown, format!("there is no input `{unknown}`"));
        }
        let template = self
            .environment
            .get_template(name.as_str())
            .map_err(|error| self.template_error(name, &error))?;
        let mut used: Vec<String> = template.undeclared_variables(false).into_iter().collect();
        used.sort();
        match used.iter().find(|variable| !entry.front_matter.inputs.contains(*variable)) {
            Some(variable) => {
                wrong(variable, format!("`{variable}` is not among the inputs of the front matter"))
            }
            None => Ok(()),
        }
    }

    fn render(&self, name: PromptName, context: Value) -> Result<String, PromptError> {
        self.environment
            .get_template(name.as_str())
            .and_then(|template| template.render(context))
            .map(|text| tidy_blank_lines(&text))
            .map_err(|error| self.template_error(name, &error))
    }

    fn render_both(&self, name: PromptName, context: Value) -> Result<(String, String), PromptError> {
        let template = self.environment.get_template(name.as_str());
        template
            .and_then(|template| template.render_captured(context))
            .and_then(|mut rendered| {
                rendered.with_state_mut(|state| {
                    Ok((
                        tidy_blank_lines(&state.render_block("system")?),
                        tidy_blank_lines(&state.render_block("user")?),
                    ))
                })
            })
            .map_err(|error| self.template_error(name, &error))
    }

    fn find_entry(&self, name: PromptName) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    fn template_error(&self, name: PromptName, error: &minijinja::Error) -> PromptError {
        let (file, offset) =
            self.find_entry(name).map_or((String::new(), 0), |entry| (entry.file.clone(), entry.line_offset));
        let reason = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
        PromptError::Broken { file, line: offset + error.line().unwrap_or(1), reason }
    }
}

fn load_source(name: PromptName, overrides: Option<&Path>) -> Result<(String, String), PromptError> {
    let file = format!("{}.md", name.as_str());
    let built_in = || (format!("{file} (built in)"), name.built_in().to_owned());
    let Some(path) = overrides.map(|folder| folder.join(&file)) else { return Ok(built_in()) };
    match std::fs::read_to_string(&path) {
        Ok(source) => Ok((path.display().to_string(), source)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(built_in()),
        Err(error) => {
            Err(PromptError::Unreadable { file: path.display().to_string(), reason: error.to_string() })
        }
    }
}

/// Parses the `key: value` lines between two lines of `---`; also returns their number.
fn front_matter(name: PromptName, file: &str, source: &str) -> Result<(FrontMatter, usize), PromptError> {
    let broken = |line: usize, reason: String| PromptError::Broken { file: file.to_owned(), line, reason };
    let mut lines = source.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    if lines.next().is_none_or(|(_, line)| line != "---") {
        return Err(broken(1, "the file starts with a line of three dashes and front matter".to_owned()));
    }
    let mut tier = None;
    let mut inputs = BTreeSet::new();
    for (number, line) in lines {
        if line == "---" {
            let tier = tier.ok_or_else(|| broken(number, "the front matter names no `tier`".to_owned()))?;
            return Ok((FrontMatter { tier, inputs }, number));
        }
        let Some((key, value)) = line.split_once(':') else {
            return Err(broken(number, "front matter is written as `key: value`".to_owned()));
        };
        let value = value.trim();
        let expect = |expected: &str| {
            let reason = || broken(number, format!("`{}` must be `{expected}` here", key.trim()));
            if value == expected { Ok(()) } else { Err(reason()) }
        };
        match key.trim() {
            "task" => expect(name.task())?,
            "schema" => expect(name.schema())?,
            "tier" => {
                match [ModelTier::Small, ModelTier::Medium, ModelTier::Large]
                    .into_iter()
                    .find(|t| t.as_str() == value)
                {
                    Some(known) => tier = Some(known),
                    None => return Err(broken(number, "`tier` is small, medium or large".to_owned())),
                }
            }
            "inputs" => inputs = value.split(',').map(|input| input.trim().to_owned()).collect(),
            other => return Err(broken(number, format!("unknown key `{other}`"))),
        }
    }
    Err(broken(1, "the front matter has no end".to_owned()))
}

/// Trims the text, and reduces consecutive empty lines to one, so that an absent section leaves no gap.
fn tidy_blank_lines(text: &str) -> String {
    let mut tidied = String::with_capacity(text.len());
    let mut blank_before = true;
    for line in text.trim().lines() {
        let line = line.trim_end();
        if line.is_empty() && blank_before {
            continue;
        }
        blank_before = line.is_empty();
        tidied.push_str(line);
        tidied.push('\n');
    }
    tidied.truncate(tidied.trim_end().len());
    tidied
}

/// SHA-256, in hexadecimal, of the texts of a call and of the templates that they were rendered with.
pub(crate) fn digest(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        // The length first, so that different sequences of parts have different hashes.
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part.as_bytes());
    }
    hex::encode(hasher.finalize())
}
