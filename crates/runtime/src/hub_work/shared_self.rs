//! The shared self for the rest of the runtime: documents for prompts, and files that are updated after forgetting.

use std::sync::Arc;

use hub::documents::Conflict;
use hub::{Hub, HubError, HubListener, PromptDocuments};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use memory::messages::Message;
use memory::ports::StoreError;
use memory::text::named_times;
use memory::{PersonaId, Scope};

use crate::core::RuntimeCore;
use crate::events::memory_bodies::ConflictOpened;

/// The hub of this home, if there is one.
pub(crate) struct SharedSelf {
    core: Arc<RuntimeCore>,
    hub: Option<Hub>,
}

impl SharedSelf {
    pub(crate) fn new(core: Arc<RuntimeCore>, hub: Option<Hub>) -> Arc<Self> {
        Arc::new(Self { core, hub })
    }

    /// The hub; `None` if this home has none.
    pub(crate) fn hub(&self) -> Option<&Hub> {
        self.hub.as_ref()
    }

    /// Makes the database and the files of documents agree. Call it before other work starts.
    pub(crate) async fn start(&self) -> Result<(), StoreError> {
        let Some(hub) = self.hub() else { return Ok(()) };
        match hub.start().await {
            Ok(()) => Ok(()),
            Err(HubError::Store(error)) => Err(error),
            Err(error) => {
                tracing::warn!(%error, "the documents could not be loaded; retrying");
                Ok(())
            }
        }
    }

    /// The documents of the shared self, roll-ups of the weeks, months or years that `text` asks about, related texts
    /// of other programs, and lorebook entries whose keys are in it or in the `latest` messages (newest last). A
    /// reply is possible without them. The prompt's budget limits them.
    pub(crate) async fn documents_for_prompt(
        &self,
        scope: &Scope,
        text: &str,
        latest: &[Message],
        now: Timestamp,
        zone: &TimeZone,
    ) -> PromptDocuments {
        let Some(hub) = self.hub() else { return PromptDocuments::default() };
        let week_start = self.core.settings().recall.week_start;
        let day = |moment: Timestamp| moment.to_zoned(zone.clone()).date();
        let spans: Vec<(Date, Date)> = named_times(text, now, zone, week_start)
            .into_iter()
            .map(|(start, end)| (day(start), day(end)))
            .collect();
        let min_relevance = self.core.settings().recall.min_relevance;
        // Keys in the text itself are not counted again.
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
                tracing::warn!(%error, "a reply is generated without the persona's documents");
                PromptDocuments::default()
            }
        }
    }

    /// Signals that a session was consolidated, or that documents have changed.
    pub(crate) fn wake(&self) {
        self.core.remembered.notify_one();
        if let Some(hub) = self.hub() {
            hub.wake();
        }
    }

    /// Removes text from the files that was removed from the documents.
    pub(crate) async fn follow_forgetting(&self, scope: &Scope) {
        let Some(hub) = self.hub() else { return };
        if let Err(error) = hub.follow_forgetting(scope).await {
            tracing::error!(%error, "erased text may still be in document files; they are updated when the \
                folder is usable");
        }
    }

    /// Removes all files of a persona.
    pub(crate) async fn forget_files_of(&self, persona: &PersonaId) {
        let Some(hub) = self.hub() else { return };
        if let Err(error) = hub.forget_files(persona).await {
            tracing::error!(%error, "files of the persona may remain; delete them manually");
        }
    }
}

/// An erasure that comes from another home. Work that began before it, or during it, is not committed afterwards.
///
/// It takes no lock. Forgetting here holds the lock of [`ForgetEpochs`](crate::forget_epochs::ForgetEpochs) and then
/// waits for the documents, which are locked while an erasure arrives: waiting for the former while holding the
/// latter would be a deadlock.
pub(crate) struct TextForgetting {
    core: Arc<RuntimeCore>,
    scope: Scope,
}

impl TextForgetting {
    pub(crate) fn begin(core: Arc<RuntimeCore>, scope: Scope) -> Self {
        core.forget_epochs.count(&scope);
        Self { core, scope }
    }
}

impl Drop for TextForgetting {
    fn drop(&mut self) {
        self.core.forget_epochs.count(&self.scope);
        self.core.broadcast().withdraw(&self.scope);
    }
}

/// Notifies subscribers of changes that come from other homes, and turns of erasures.
struct HubWatch(Arc<RuntimeCore>);

impl HubListener for HubWatch {
    fn conflict_opened(&self, scope: &Scope, conflict: &Conflict) {
        let event = ConflictOpened {
            conflict_id: conflict.id.to_string(),
            kind: conflict.name.kind(),
            filename: format!("{}.md", conflict.name.stem()),
            created_at: conflict.opened_at,
        };
        self.0.publish(scope, event);
    }

    fn begin_erasing(&self, scope: &Scope) -> Box<dyn Send> {
        Box::new(TextForgetting::begin(self.0.clone(), scope.clone()))
    }
}

impl RuntimeCore {
    /// The listener for the hub that the runtime gets.
    pub fn hub_listener(self: &Arc<Self>) -> Arc<dyn HubListener> {
        Arc::new(HubWatch(self.clone()))
    }
}
