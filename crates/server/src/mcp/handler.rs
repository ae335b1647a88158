//! The MCP protocol: initialize, list the tools, call one.

use std::sync::Arc;
use std::time::Duration;

use axum::http::request::Parts;
use futures_util::future::BoxFuture;
use memory::access::{AccessScope, AuditEntry};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, ServiceExt as _};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::context::ToolContext;
use super::speaker::Speaker;
use super::tool::{Effect, Tool, ToolError};
use super::{MESSAGE_BYTES_MAX, check, tools};
use crate::auth::Principal;
use crate::tasks::spawn;

/// Interval of progress notifications during long work. Clients cancel calls without any, the strictest after 60
/// seconds; people look sooner.
const PROGRESS_EVERY: Duration = Duration::from_secs(2);

const INSTRUCTIONS: &str = "The memory of a persona that is used in several programs at once. Each program \
    is an instance with its own name. At the start, read identity_get_all, and recall or memory_search what \
    the talk is about. While talking, note what happened with memory_create (granularity daily: `- ` \
    bullets, each ending with [chat:ID] [via:INSTANCE]), what must never be forgotten with granularity \
    significant, who the persona is with the identity tools, and people, places and topics with the graph \
    tools. Answers with success:false say why nothing was done. Nothing is lost by concurrent writing: \
    versions that can't be reconciled wait in conflict_list for a person.";

/// Handler of one connection, or of one request over HTTP.
#[derive(Clone)]
pub(super) struct Handler {
    context: Arc<ToolContext>,
    /// The caller; `None` over HTTP, where every request is authenticated.
    speaker: Option<Speaker>,
}

/// Boxed, so that the protocol is compiled once and not for each kind of stream.
pub type BoxedReader = Box<dyn AsyncRead + Send + Unpin>;
pub type BoxedWriter = Box<dyn AsyncWrite + Send + Unpin>;

/// Answers the messages of a stream until it ends, including running calls. Running calls are dropped when `stop` is
/// cancelled.
///
/// Boxed for the same reason as [`crate::serve_site`].
pub fn serve_stream(
    context: Arc<ToolContext>,
    speaker: Speaker,
    reader: BoxedReader,
    writer: BoxedWriter,
    stop: CancellationToken,
) -> BoxFuture<'static, ()> {
    Box::pin(serve_messages(context, speaker, reader, writer, stop))
}

async fn serve_messages(
    context: Arc<ToolContext>,
    speaker: Speaker,
    reader: BoxedReader,
    writer: BoxedWriter,
    stop: CancellationToken,
) {
    let handler = Handler { context, speaker: Some(speaker) };
    let transport = AsyncRwTransport::new(reader, writer).with_max_line_length(MESSAGE_BYTES_MAX);
    // A connection that ends cancels its own token only, so that the others continue.
    match handler.serve_with_ct(transport, stop.child_token()).await {
        Ok(running) => {
            if let Err(error) = running.waiting().await {
                tracing::warn!("an MCP connection failed: {error}");
            }
        }
        Err(error) => tracing::debug!("an MCP connection ended during initialization: {error}"),
    }
}

impl Handler {
    pub(super) fn over_http(context: Arc<ToolContext>) -> Self {
        Self { context, speaker: None }
    }

    fn speaker(&self, context: &RequestContext<RoleServer>) -> Option<Speaker> {
        if let Some(speaker) = &self.speaker {
            return Some(speaker.clone());
        }
        let principal = context.extensions.get::<Parts>()?.extensions.get::<Principal>()?;
        let own = self.context.instance();
        let Some(scopes) = &principal.scopes else { return Some(Speaker::owner(own)) };
        let instance = scopes.iter().find_map(|scope| match scope {
            AccessScope::Hub(instance) => instance.parse().ok(),
            _ => None,
        })?;
        let bound = Speaker::for_instance(instance);
        Some(Speaker { user: principal.user.clone(), name: principal.name.clone(), ..bound })
    }

    /// Runs a tool to its end, even if the client disconnects, so that nothing is left half-done.
    async fn run(
        &self,
        tool: &'static Tool,
        speaker: Speaker,
        arguments: Map<String, Value>,
    ) -> Result<Value, ToolError> {
        let context = self.context.clone();
        let work = async move {
            let mut arguments: Map<String, Value> =
                arguments.into_iter().filter(|(_, value)| !value.is_null()).collect();
            tool.rename_to_listed(&mut arguments);
            let problems = check::argument_errors(&tool.schema, &arguments);
            if !problems.is_empty() {
                return Err(ToolError::Invalid(problems.join("; ")));
            }
            let caller = speaker.identify_caller(&context, &mut arguments, tool.instance).await?;
            let answer = tool.call(context.clone(), caller, Value::Object(arguments)).await;
            match tool.effect {
                Effect::Reads | Effect::Notes => {}
                Effect::Destroys => record(&context, &speaker, tool.name, &answer).await,
                // Additions are frequent and lose nothing, so their answer does not wait for the log.
                Effect::Adds | Effect::Changes => {
                    let (context, done) = (context.clone(), answer.clone());
                    spawn(Box::pin(async move { record(&context, &speaker, tool.name, &done).await }));
                }
            }
            answer
        };
        match tokio::spawn(work).await {
            Ok(answer) => answer,
            Err(error) => {
                tracing::error!("the tool {} panicked: {error}", tool.name);
                Err(ToolError::Failed("this tool panicked; stored data is safe. Please report it".to_owned()))
            }
        }
    }
}

/// Records a change in the audit log, with its author and without its text.
async fn record(context: &ToolContext, speaker: &Speaker, tool: &str, answer: &Result<Value, ToolError>) {
    let done = answer.as_ref().is_ok_and(|answer| answer["success"] != json!(false));
    let act = AuditEntry {
        at: context.runtime.clock().now(),
        token: speaker.name.clone(),
        act: format!("MCP {tool}"),
        object: speaker.instance.to_string(),
        status: if done { 200 } else { 422 },
    };
    if let Err(error) = context.access.record_act(act).await {
        tracing::error!("an MCP call was not written to the audit log: {error}");
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let mut config = ServerConfig::new(capabilities).with_instructions(INSTRUCTIONS);
        config.server_info = Implementation::new("echovessel", env!("CARGO_PKG_VERSION"));
        config
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let described = tools::list_tools().iter().map(Tool::to_mcp).collect();
        Ok(ListToolsResult::with_all_items(described))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = tools::list_tools().iter().find(|tool| tool.name == request.name) else {
            return Ok(error_result(format!("MCP error -32602: Tool {} not found", request.name)).into());
        };
        let Some(speaker) = self.speaker(&context) else {
            return Err(ErrorData::invalid_request(
                "this token is not bound to an instance of the hub",
                None,
            ));
        };
        let arguments = request.arguments.unwrap_or_default();
        let progress = context.meta.get_progress_token().filter(|_| tool.is_long);
        let mut running = std::pin::pin!(self.run(tool, speaker, arguments));
        let Some(token) = progress else { return Ok(tool_result(tool.name, running.await).into()) };
        let mut step_number = 0.0;
        loop {
            // A client that closed its notifications still gets the answer.
            let step = ProgressNotificationParam::new(token.clone(), step_number).with_message(tool.name);
            let _ = context.peer.notify_progress(step).await;
            step_number += 1.0;
            tokio::select! {
                answer = &mut running => return Ok(tool_result(tool.name, answer).into()),
                () = self.context.runtime.clock().sleep(PROGRESS_EVERY) => {}
            }
        }
    }
}

/// A block of JSON, and the same as structured content.
fn tool_result(tool: &str, answer: Result<Value, ToolError>) -> CallToolResult {
    let value = match answer {
        Ok(value) => value,
        Err(ToolError::Refused(message)) => json!({"success": false, "message": message}),
        Err(ToolError::Invalid(problem)) => {
            return error_result(format!(
                "MCP error -32602: Input validation error: Invalid arguments for tool {tool}: {problem}"
            ));
        }
        Err(ToolError::Failed(message)) => return error_result(message),
    };
    let text = serde_json::to_string_pretty(&value).unwrap_or_default();
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.is_error = None;
    result.structured_content = Some(value);
    result
}

fn error_result(message: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(message)])
}
