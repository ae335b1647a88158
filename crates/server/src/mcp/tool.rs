//! A tool: its name, its input, its effect.

use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use hub::{Caller, HubError};
use memory::ports::StoreError;
use rmcp::model::ToolAnnotations;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::context::ToolContext;
use super::schema;

/// The effect of a tool on stored data, as clients see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Reads,
    /// The tool reads, and notes that this instance has seen the result. A second call returns and notes the same.
    Notes,
    /// The tool adds data.
    Adds,
    /// The tool replaces something; the former text stays as a version.
    Changes,
    /// The tool deletes something.
    Destroys,
}

impl Effect {
    /// True if a second call has no further effect.
    pub(super) fn may_be_repeated(self) -> bool {
        matches!(self, Self::Reads | Self::Notes)
    }
}

/// Why a tool call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ToolError {
    /// The arguments are invalid; the text says which and what is allowed.
    Invalid(String),
    /// The caller may not do this, or its target does not exist.
    Refused(String),
    /// The call failed; the text says what was stored.
    Failed(String),
}

impl From<HubError> for ToolError {
    fn from(error: HubError) -> Self {
        match error {
            HubError::Invalid(reason) => Self::Invalid(reason),
            HubError::Refused(reason) => Self::Refused(reason),
            HubError::Store(error) => error.into(),
            HubError::Mirror(_) => Self::Failed(error.to_string()),
        }
    }
}

impl From<StoreError> for ToolError {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.to_string())
    }
}

type ToolFunction =
    dyn Fn(Arc<ToolContext>, Caller, Value) -> BoxFuture<'static, Result<Value, ToolError>> + Send + Sync;

/// The meaning of `instanceId` for a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InstanceField {
    /// The tool has no such field.
    Absent,
    Speaker,
    /// The instance whose daily is written or deleted: the caller's own.
    Owner,
    /// The instance whose daily is read: any.
    Reference,
}

pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) effect: Effect,
    /// True if it may take so long that the client needs progress notifications.
    pub(super) is_long: bool,
    /// Alternative names of arguments, each with the listed name.
    also: &'static [(&'static str, &'static str)],
    pub(super) schema: Arc<Map<String, Value>>,
    pub(super) instance: InstanceField,
    work: Arc<ToolFunction>,
}

/// Defines a tool with the arguments `Input`.
pub(super) fn tool<Input, Output, Failure, Doing>(
    name: &'static str,
    effect: Effect,
    description: &'static str,
    work: impl Fn(Arc<ToolContext>, Caller, Input) -> Doing + Send + Sync + 'static,
) -> Tool
where
    Input: DeserializeOwned + JsonSchema + Send + 'static,
    Output: Serialize,
    Failure: Into<ToolError>,
    Doing: Future<Output = Result<Output, Failure>> + Send + 'static,
{
    let work = Arc::new(work);
    let erased = move |context: Arc<ToolContext>, caller: Caller, arguments: Value| {
        let work = work.clone();
        let called: BoxFuture<'static, Result<Value, ToolError>> = Box::pin(async move {
            let input = serde_json::from_value::<Input>(arguments)
                .map_err(|error| ToolError::Invalid(error.to_string()))?;
            let output = work(context, caller, input).await.map_err(Into::into)?;
            serde_json::to_value(output).map_err(|error| ToolError::Failed(error.to_string()))
        });
        called
    };
    let (schema, requires_instance) = schema::input_schema::<Input>();
    let has_instance =
        schema.get("properties").is_some_and(|properties| properties.get("instanceId").is_some());
    let instance = match (has_instance, requires_instance, effect) {
        (false, ..) => InstanceField::Absent,
        (true, true, _) => InstanceField::Speaker,
        (true, false, Effect::Reads) => InstanceField::Reference,
        (true, false, _) => InstanceField::Owner,
    };
    Tool {
        name,
        description,
        effect,
        is_long: false,
        also: &[],
        schema: Arc::new(schema),
        instance,
        work: Arc::new(erased),
    }
}

impl Tool {
    /// Marks the tool as long-running.
    pub(super) fn long_running(self) -> Self {
        Self { is_long: true, ..self }
    }

    /// Adds alternative names of arguments, each with the name in the schema.
    pub(super) fn with_aliases(self, also: &'static [(&'static str, &'static str)]) -> Self {
        Self { also, ..self }
    }

    /// The arguments with alternative names replaced by those of the schema. If both are given, the listed one is
    /// used.
    pub(super) fn rename_to_listed(&self, arguments: &mut Map<String, Value>) {
        for (other, listed) in self.also {
            if let Some(value) = arguments.remove(*other) {
                arguments.entry(*listed).or_insert(value);
            }
        }
    }

    pub(super) fn call(
        &self,
        context: Arc<ToolContext>,
        caller: Caller,
        arguments: Value,
    ) -> BoxFuture<'static, Result<Value, ToolError>> {
        (self.work)(context, caller, arguments)
    }

    /// The definition of the tool for MCP clients.
    pub(super) fn to_mcp(&self) -> rmcp::model::Tool {
        let annotations = ToolAnnotations::new()
            .read_only(self.effect == Effect::Reads)
            .destructive(matches!(self.effect, Effect::Changes | Effect::Destroys))
            .idempotent(self.effect.may_be_repeated())
            .open_world(false);
        rmcp::model::Tool::new(self.name, self.description, self.schema.clone()).with_annotations(annotations)
    }
}

/// The arguments of tools that have none of their own.
#[derive(serde::Deserialize, JsonSchema)]
pub(super) struct NoArgs {}
