//! The hub in the runtime: sessions are written to its diary, and forgotten text is removed from its documents.

use std::sync::Arc;
use std::time::Duration;

use hub::documents::Conflict;
use hub::{Hub, HubError, HubListener, HubWork, PromptDocuments, WorkingHours};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use memory::messages::Message;
use memory::ports::StoreError;
use memory::text::named_times;
use memory::{PersonaId, Scope};

use crate::changes::forget::Forgetting;
use crate::core::RuntimeCore;
use crate::events::server_event::ServerEvent;
use crate::runtime::{Runtime, RuntimeInner};
use crate::worker::{Cause, Next, Worker};

/// Lets the database and the tree of documents agree, before anything else moves.
pub(crate) async fn start(runtime: &RuntimeInner) -> Result<(), StoreError> {
    let Some((hub, _)) = runtime.hub.as_ref() else { return Ok(()) };
    match hub.start().await {
        Ok(()) => Ok(()),
        Err(HubError::Store(error)) => Err(error),
        Err(error) => {
            tracing::warn!(%error, "the documents could not be made ready; they are tried again");
            Ok(())
        }
    }
}

/// Lets the hub work. What is under way when the program stops is done again at the next start.
pub(crate) struct HubWorker {
    hub: Hub,
    hours: WorkingHours,
    work: Option<HubWork>,
}

impl HubWorker {
    pub(crate) fn new((hub, hours): (Hub, WorkingHours)) -> Self {
        Self { hub, hours, work: None }
    }

    async fn work(&mut self) -> Duration {
        let work = match self.work.take() {
            Some(work) => work,
            None => self.hub.background_work(self.hours).await,
        };
        self.work.insert(work).run_once().await
    }
}

impl Worker for HubWorker {
    const NAME: &str = "hub";

    async fn run_once(&mut self, runtime: &Arc<RuntimeInner>, _: Cause) -> Next {
        tokio::select! {
            pause = self.work() => Next::Within(pause),
            () = runtime.stopping.cancelled() => Next::WhenWoken,
        }
    }

    async fn woken(&self, _: &RuntimeInner) {
        self.hub.background_work_waits().await;
    }
}

impl RuntimeInner {
    /// The shared self, where there is one.
    pub(crate) fn attached_hub(&self) -> Option<&Hub> {
        self.hub.as_ref().map(|(hub, _)| hub)
    }

    /// The documents of the shared self, the weeks, months or years that `text` asks about, what other programs wrote about
    /// it, and entries of lorebooks that are named in it or in the `latest` messages, of which the newest comes last. A reply
    /// is possible without them. The prompt's budget decides how much of them it holds.
    pub(crate) async fn shared_self(
        &self,
        scope: &Scope,
        text: &str,
        latest: &[Message],
        now: Timestamp,
        zone: &TimeZone,
    ) -> PromptDocuments {
        let Some((hub, _)) = self.hub.as_ref() else { return PromptDocuments::default() };
        let week_start = self.settings().recall.week_start;
        let day = |moment: Timestamp| moment.to_zoned(zone.clone()).date();
        let spans: Vec<(Date, Date)> = named_times(text, now, zone, week_start)
            .into_iter()
            .map(|(start, end)| (day(start), day(end)))
            .collect();
        let min_relevance = self.settings().recall.min_relevance;
        // What is in the text is not counted again.
        let others = latest.iter().rev().map(|message| message.content.as_str());
        let newest_first: Vec<&str> =
            std::iter::once(text).chain(others.filter(|content| !text.contains(content))).collect();
        let found = futures_util::future::try_join3(
            hub.for_prompt(scope, &spans),
            hub.related_memories(scope, text, min_relevance),
            hub.lore_named_in(scope, &newest_first),
        );
        match found.await {
            Ok((documents, related, lore)) => PromptDocuments { related, lore, ..documents },
            Err(error) => {
                tracing::warn!(%error, "a reply goes without the documents of the shared self");
                PromptDocuments::default()
            }
        }
    }

    /// Says that a session has become memory, or that documents have changed.
    pub(crate) fn wake_hub(&self) {
        self.remembered.notify_one();
        if let Some((hub, _)) = self.hub.as_ref() {
            hub.wake();
        }
    }

    /// Takes from the files what was taken from the documents.
    pub(crate) async fn forget_in_files(&self, scope: &Scope) {
        let Some((hub, _)) = self.hub.as_ref() else { return };
        if let Err(error) = hub.follow_forgetting(scope).await {
            tracing::error!(%error, "what was forgotten may still stand in files; they follow when the folder can be used");
        }
    }

    /// Takes all files of a persona away.
    pub(crate) async fn forget_files_of(&self, persona: &PersonaId) {
        let Some((hub, _)) = self.hub.as_ref() else { return };
        if let Err(error) = hub.forget_files(persona).await {
            tracing::error!(%error, "files of the persona may still be there; take them away by hand");
        }
    }
}

/// Tells watchers of what other homes change here, and turns of what they erase.
struct HubWatch(Arc<RuntimeCore>);

impl HubListener for HubWatch {
    fn conflict_opened(&self, scope: &Scope, conflict: &Conflict) {
        let event = ServerEvent::ConflictOpened {
            conflict_id: conflict.id.to_string(),
            kind: conflict.name.kind(),
            filename: format!("{}.md", conflict.name.stem()),
            at: conflict.opened_at,
        };
        self.0.publish(scope, event);
    }

    fn begin_erasing(&self, scope: &Scope) -> Box<dyn Send> {
        Box::new(Forgetting::begin(self.0.clone(), scope.clone()))
    }
}

impl RuntimeCore {
    /// The listener of the hub that the life is given.
    pub fn hub_listener(self: &Arc<Self>) -> Arc<dyn HubListener> {
        Arc::new(HubWatch(self.clone()))
    }
}

impl Runtime {
    /// The shared self, where there is one.
    pub fn hub(&self) -> Option<&Hub> {
        self.runtime.hub.as_ref().map(|(hub, _)| hub)
    }
}
