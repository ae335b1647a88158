//! A scripted language model over real HTTP.

mod reply;
mod request;
mod serving;
mod dialect;
mod canned;
mod embeddings;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

pub use canned::{
    AskedPair, Pace, answer_plausibly, asked_pairs, echo, extraction, reconciliation_answer, user_messages,
};
pub use reply::Reply;
pub use request::RecordedRequest;

/// Task of a request without a name that is not streamed.
pub const UNNAMED_TASK: &str = "unnamed";

/// Task of a request for vectors.
pub const EMBEDDINGS: &str = "embeddings";

/// An HTTP server on loopback that simulates an OpenAI-compatible endpoint (`/v1/chat/completions`, `/v1/embeddings`,
/// `/v1/models`) and Anthropic's (`/v1/messages`) from a script, and records all requests.
///
/// A request for vectors has the task [`EMBEDDINGS`]; without a scripted answer it gets the vectors of
/// [`WordHashEmbedder`](crate::WordHashEmbedder). The text of a scripted answer is the whole body.
///
/// The task of a request is the name of its JSON schema; else that of the first matching
/// [`recognise`](Self::recognise) rule; else `"reply"` if it is streamed, else [`UNNAMED_TASK`]. It is answered by
/// the next reply queued for the task, else by the task's function, else with 404 and a message that names the task.
///
/// Dropping it stops the server and closes its connections soon after; [`stop`](Self::stop) waits until that is done.
pub struct ScriptedModel {
    address: SocketAddr,
    shared: Arc<SharedState>,
    accepting: JoinHandle<()>,
}

#[derive(Default)]
struct SharedState {
    script: Mutex<Script>,
    changed: Notify,
    stopping: Notify,
}

#[derive(Default)]
struct Script {
    queued: HashMap<String, VecDeque<Reply>>,
    functions: HashMap<String, AnswerFunction>,
    recognised: Vec<(String, RecogniseFunction)>,
    refused_formats: BTreeSet<String>,
    models: Vec<String>,
    key: Option<String>,
    requests: Vec<RecordedRequest>,
    hang_ups: usize,
}

type AnswerFunction = Arc<dyn Fn(&RecordedRequest) -> Reply + Send + Sync>;
type RecogniseFunction = Arc<dyn Fn(&RecordedRequest) -> bool + Send + Sync>;

impl ScriptedModel {
    /// Starts on a free port of 127.0.0.1.
    ///
    /// # Errors
    ///
    /// When there is no free port.
    pub async fn start() -> io::Result<Self> {
        Self::start_at(SocketAddr::from(([127, 0, 0, 1], 0))).await
    }

    /// Starts on this address.
    ///
    /// # Errors
    ///
    /// When the address is in use.
    pub async fn start_at(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(SharedState::default());
        shared.script.lock().models.push("scripted".to_owned());
        let accepting = tokio::spawn(serving::accept(listener, Arc::clone(&shared)));
        Ok(Self { address, shared, accepting })
    }

    /// Address of the OpenAI-compatible API; ends in `/v1`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.origin())
    }

    /// The server's root, which contains Anthropic's `/v1/messages`.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Sets the function that answers requests of this task with an empty queue.
    pub fn answer_task(
        &self,
        task: &str,
        answer: impl Fn(&RecordedRequest) -> Reply + Send + Sync + 'static,
    ) {
        self.shared.script.lock().functions.insert(task.to_owned(), Arc::new(answer));
    }

    /// Queues the answer to one request of this task.
    pub fn next(&self, task: &str, reply: Reply) {
        self.shared.script.lock().queued.entry(task.to_owned()).or_default().push_back(reply);
    }

    /// Assigns this task to requests without a name that match.
    pub fn recognise(&self, task: &str, fits: impl Fn(&RecordedRequest) -> bool + Send + Sync + 'static) {
        self.shared.script.lock().recognised.push((task.to_owned(), Arc::new(fits)));
    }

    /// From now on answers 400 to every request with a `response_format` of this type (`"json_schema"`,
    /// `"json_object"`), like endpoints that do not support it. The request is still recorded.
    pub fn refuse_response_format(&self, format: &str) {
        self.shared.script.lock().refused_formats.insert(format.to_owned());
    }

    /// Sets the names listed at `/v1/models`; initially `scripted`.
    pub fn set_models(&self, names: &[&str]) {
        self.shared.script.lock().models = names.iter().map(|&name| name.to_owned()).collect();
    }

    /// From now on answers 401 to every request without this key, and repeats the key that it got, as some endpoints
    /// do.
    pub fn require_key(&self, key: &str) {
        self.shared.script.lock().key = Some(key.to_owned());
    }

    /// Stops the server. Its address then refuses connections, until [`start_at`](Self::start_at) uses it again.
    pub async fn stop(mut self) {
        self.shared.stopping.notify_one();
        // Fails only if the accepting task panicked; its listener is closed anyway.
        let _ = (&mut self.accepting).await;
    }

    /// All requests, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.shared.script.lock().requests.clone()
    }

    /// Requests of this task so far, in order.
    #[must_use]
    pub fn requests_for(&self, task: &str) -> Vec<RecordedRequest> {
        self.shared.script.lock().of_task(task).cloned().collect()
    }

    /// Waits until there were `count` requests of this task in all.
    pub async fn wait_until_asked(&self, task: &str, count: usize) {
        self.shared.wait_for(|script| script.of_task(task).count() >= count).await;
    }

    /// Number of answers whose client closed the connection early.
    #[must_use]
    pub fn hang_ups(&self) -> usize {
        self.shared.script.lock().hang_ups
    }

    /// Waits until clients have closed `count` connections early in all.
    pub async fn hung_up(&self, count: usize) {
        self.shared.wait_for(|script| script.hang_ups >= count).await;
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl SharedState {
    fn change(&self, change: impl FnOnce(&mut Script)) {
        change(&mut self.script.lock());
        self.changed.notify_waiters();
    }

    async fn wait_for(&self, holds: impl Fn(&Script) -> bool) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if holds(&self.script.lock()) {
                return;
            }
            changed.await;
        }
    }

    /// Determines the request's task, records it, and finds its answer.
    fn record_request(&self, mut request: RecordedRequest) -> (RecordedRequest, Reply) {
        request.task = self.task_of(&request);
        self.change(|script| script.requests.push(request.clone()));
        let mut script = self.script.lock();
        if let Some(format) =
            request.response_format().filter(|format| script.refused_formats.contains(*format))
        {
            let message = format!("response_format of type {format} is not supported by this model");
            return (request, Reply::error(400, message));
        }
        let queued = script.queued.get_mut(&request.task).and_then(VecDeque::pop_front);
        let function = script.functions.get(&request.task).cloned();
        drop(script);
        let reply = queued.or_else(|| function.map(|answer| answer(&request))).unwrap_or_else(|| {
            if request.task == EMBEDDINGS {
                return embeddings::answer(&request);
            }
            Reply::error(404, format!("the script holds no answer for the task {:?}", request.task))
        });
        (request, reply)
    }

    fn task_of(&self, request: &RecordedRequest) -> String {
        if request.path.ends_with("/embeddings") {
            return EMBEDDINGS.to_owned();
        }
        if let Some(name) = request.schema_name() {
            return name.to_owned();
        }
        let rules = self.script.lock().recognised.clone();
        let rule = rules.into_iter().find(|(_, fits)| fits(request));
        let by_form = if request.is_streamed() { "reply" } else { UNNAMED_TASK };
        rule.map_or_else(|| by_form.to_owned(), |(task, _)| task)
    }
}

impl Script {
    fn of_task(&self, task: &str) -> impl Iterator<Item = &RecordedRequest> {
        self.requests.iter().filter(move |request| request.task == task)
    }
}
