//! Recall for prompts: memories that are relevant to a text, without values that are no longer current.

pub(crate) mod recalled_memory;
mod corrected;
mod said_corrections;

use std::sync::Arc;

use futures_util::FutureExt as _;
use jiff::Timestamp;
use memory::Scope;
use memory::messages::Message;
use memory::ports::{PersonaRecord, StoreError, UserRecord};
use memory::recall::{RecallRequest, RecallResult, RecallSettings, SpeakerNames, mask_silenced, recall};

use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

use crate::core::RuntimeCore;
use crate::hub_work::shared_self::SharedSelf;
use crate::vectors::Vectors;
use recalled_memory::RecalledMemory;
use said_corrections::CorrectingMessages;

/// Maximum bytes of a text that is analysed on a serving thread, where it takes about a millisecond. Longer ones
/// would delay other requests.
const SERVED_TEXT_BYTES_MAX: usize = 2_048;

/// Reads the memories that a prompt contains.
pub struct Recall {
    core: Arc<RuntimeCore>,
    shared_self: Arc<SharedSelf>,
    vectors: Arc<Vectors>,
    said_corrections: CorrectingMessages,
}

impl Recall {
    pub(crate) fn new(
        core: Arc<RuntimeCore>,
        shared_self: Arc<SharedSelf>,
        vectors: Arc<Vectors>,
    ) -> Arc<Self> {
        Arc::new(Self { core, shared_self, vectors, said_corrections: CorrectingMessages::default() })
    }

    /// Recalls for a text as a turn would at `now` (default: the present), without recent messages. Candidates with
    /// former values are marked. Corrections in the latest messages are applied, although they are not memories yet.
    pub async fn recall_for_text(
        self: &Arc<Self>,
        scope: Scope,
        text: String,
        now: Option<Timestamp>,
    ) -> Result<RecalledMemory, StoreError> {
        let (persona, user, request) = self.request(scope, text, now).await?;
        let latest = self.recent_window(&request.scope, request.now).await?;
        let scope = request.scope.clone();
        let mut remembered = self.for_prompt(&persona, &user, request, &latest).await?;
        self.mark_former_values(&scope, &mut remembered.recalled).await?;
        let RecallResult { corrected, candidates, .. } = &mut remembered.recalled;
        corrected.mark_candidates(candidates);
        Ok(remembered)
    }

    /// The candidates that [`Self::recall_for_text`] found by the text.
    pub async fn candidates_for(
        self: &Arc<Self>,
        scope: Scope,
        text: String,
        now: Option<Timestamp>,
    ) -> Result<RecallResult, StoreError> {
        Ok(self.recall_for_text(scope, text, now).await?.recalled)
    }

    async fn request(
        &self,
        scope: Scope,
        text: String,
        now: Option<Timestamp>,
    ) -> Result<(PersonaRecord, UserRecord, RecallRequest), StoreError> {
        let now = now.unwrap_or_else(|| self.core.clock().now());
        let (persona, user) =
            tokio::try_join!(self.core.persona_of(&scope), self.core.store().known_user(&scope.user),)?;
        let zone = self.core.zone_of_user(&user);
        Ok((persona, user, RecallRequest { scope, text, now, zone, window: Vec::new() }))
    }

    /// The memories of a prompt: for a turn, for a proactive message, and for other programs. `said` are the messages
    /// in the prompt, newest last. Corrections in them are applied, and their values that were replaced since are
    /// marked.
    ///
    /// A long text is analysed on a thread of its own, because the analysis would delay other requests of this
    /// thread.
    pub(crate) async fn for_prompt(
        self: &Arc<Self>,
        persona: &PersonaRecord,
        user: &UserRecord,
        request: RecallRequest,
        said: &[Message],
    ) -> Result<RecalledMemory, StoreError> {
        if request.text.len() <= SERVED_TEXT_BYTES_MAX {
            return self.for_prompt_on_this_thread(persona, user, request, said).await;
        }
        let (reader, persona, user, said) = (self.clone(), persona.clone(), user.clone(), said.to_vec());
        let serving = Handle::current();
        let remembering = spawn_blocking(move || {
            serving.block_on(reader.for_prompt_on_this_thread(&persona, &user, request, &said))
        });
        remembering.await.unwrap_or_else(|error| Err(StoreError::Failed(error.to_string())))
    }

    async fn for_prompt_on_this_thread(
        &self,
        persona: &PersonaRecord,
        user: &UserRecord,
        request: RecallRequest,
        said: &[Message],
    ) -> Result<RecalledMemory, StoreError> {
        let RecallRequest { scope, text, now, zone, .. } = request.clone();
        // Parts that do not depend on the recalled memories are read at the same time.
        let (mut recalled, core_blocks, mood, documents) = tokio::try_join!(
            self.recall_between(persona, user, request),
            self.core.store().core_blocks(&scope),
            self.core.store().mood(&scope),
            self.shared_self.documents_for_prompt(&scope, &text, said, now, &zone).map(Ok),
        )?;
        let corrected = &mut recalled.corrected;
        let mut texts = corrected::texts_with_possible_former_values(&documents, &core_blocks, mood.as_ref());
        texts.extend(said.iter().map(|message| message.content.clone()));
        corrected.find_former_values(self.core.store(), &scope, texts).await?;
        corrected.mark_window(said, now);
        let mood = mood.map(|mood| corrected::without_former_signal(mood.fade_at(now), corrected));
        let documents = corrected::omit_from_periods(documents, &core_blocks, corrected);
        Ok(RecalledMemory { recalled, core_blocks, mood, documents })
    }

    /// Reads the former values that candidates may state.
    async fn mark_former_values(&self, scope: &Scope, recalled: &mut RecallResult) -> Result<(), StoreError> {
        let texts = recalled.candidates.iter().map(|candidate| candidate.text.clone()).collect();
        recalled.corrected.find_former_values(self.core.store(), scope, texts).await
    }

    /// The recent window, preceded by earlier messages with the user's corrections.
    async fn recent_window(&self, scope: &Scope, now: Timestamp) -> Result<Vec<Message>, StoreError> {
        let latest = self.latest_messages(scope, self.core.settings().recent_window).await?;
        self.with_corrections(scope, latest, now).await
    }

    /// The latest messages without silenced text, the oldest first.
    pub(crate) async fn latest_messages(
        &self,
        scope: &Scope,
        count: u32,
    ) -> Result<Vec<Message>, StoreError> {
        let mut latest = self.core.store().messages_before(scope, None, count).await?;
        latest.reverse();
        mask_silenced(self.core.store(), scope, latest).await
    }

    async fn recall_between(
        &self,
        persona: &PersonaRecord,
        user: &UserRecord,
        request: RecallRequest,
    ) -> Result<RecallResult, StoreError> {
        let speaker_names = SpeakerNames {
            user: user.display_name.clone().into_iter().collect(),
            persona: vec![persona.display_name.clone()],
        };
        let settings = RecallSettings { speaker_names, ..self.core.settings().recall.clone() };
        let (core, embedder) = (&self.core, self.vectors.embedder_of(&request.scope));
        recall(core.store(), core.index(), embedder.as_deref(), &settings, request).await
    }
}
