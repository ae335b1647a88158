//! What a platform brings: who may write, and how it becomes durable before the platform hears that it arrived.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use memory::UserId;
use memory::capture::CaptureError;
use memory::ports::{BindOutcome, Clock, ExternalIdentity, StoreError};
use runtime::{AcceptError, ExternalMessage, Runtime, TurnEvent};
use tokio::sync::mpsc;

use crate::channel::{Channel, ChannelState, Update, UpdateKind};
use crate::service::Shared;

/// How long to wait for storage that refuses.
const REST: Duration = Duration::from_secs(5);
/// How long an unknown account gets no second line.
const STRANGER_REST: SignedDuration = SignedDuration::from_hours(24);
/// How often it is shown that the persona is writing.
const TYPING_EVERY: Duration = Duration::from_secs(4);

const LINKED: &str = "This account is linked. 账号已关联。";
const UNKNOWN: &str = "This assistant is private. If you know its owner, ask for a code and send it here. \
                       这是私人助手。如果你认识它的主人,请向对方要一个验证码并发到这里。";
const TOO_LONG: &str = "That message is too long to be read; send it in parts. 这条消息太长了,请分几条发送。";

/// The program stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

/// Takes what a channel receives.
pub struct Inbound {
    shared: Arc<Shared>,
    runtime: Runtime,
    channel: Arc<dyn Channel>,
}

impl Inbound {
    pub(crate) fn new(shared: Arc<Shared>, runtime: Runtime, channel: Arc<dyn Channel>) -> Self {
        Self { shared, runtime, channel }
    }

    /// The time.
    pub fn clock(&self) -> &dyn Clock {
        self.shared.clock()
    }

    /// Returns when the program stops.
    pub async fn stopped(&self) -> Stopped {
        self.shared.stop.cancelled().await;
        Stopped
    }

    /// Says how the channel stands.
    pub fn set_state(&self, state: ChannelState) {
        self.shared.set_state(self.channel.id(), state);
    }

    /// Up to where the channel was received. Waits for storage that refuses.
    ///
    /// # Errors
    /// [`Stopped`].
    pub async fn position(&self) -> Result<Option<i64>, Stopped> {
        self.insist(|| self.shared.store().channel_position(self.channel.id())).await
    }

    /// Takes an update; when it returns, it is durable and may be acknowledged. One that was taken already is passed over.
    ///
    /// # Errors
    /// [`Stopped`]: it was not taken.
    pub async fn take(&self, update: Update) -> Result<(), Stopped> {
        if self.position().await?.is_some_and(|position| update.position <= position) {
            return Ok(());
        }
        let is_stored = match update.kind {
            UpdateKind::Written { sender, external, text } => {
                self.written(update.position, &sender, &external, text).await?
            }
            UpdateKind::Edited { sender, external, text } => {
                self.edited(&sender, &external, &text).await?;
                false
            }
            UpdateKind::Other => false,
        };
        if !is_stored {
            self.insist(|| self.shared.store().advance_channel(self.channel.id(), update.position)).await?;
        }
        Ok(())
    }

    /// Whether the message and the position with it are stored.
    async fn written(
        &self,
        position: i64,
        sender: &str,
        external: &ExternalMessage,
        text: String,
    ) -> Result<bool, Stopped> {
        let Some(user) = self.user_of(sender, external, &text).await? else { return Ok(false) };
        if is_greeting(&text) {
            return Ok(false);
        }
        let scope = self.runtime.scope(None, user);
        loop {
            let accepted = self
                .runtime
                .accept_from_channel(self.channel.id(), scope.clone(), text.clone(), external, position)
                .await;
            let wait = match accepted {
                Ok((_, turn)) => {
                    self.follow(external.conversation.clone(), turn);
                    return Ok(true);
                }
                Err(AcceptError::Stopping) => return Err(Stopped),
                Err(AcceptError::Full { retry_after }) => retry_after,
                Err(AcceptError::Capture(CaptureError::Empty)) => return Ok(false),
                Err(AcceptError::Capture(CaptureError::TooLong { .. })) => {
                    self.notify(external, TOO_LONG).await;
                    return Ok(false);
                }
                Err(AcceptError::Capture(CaptureError::Store(error))) => {
                    tracing::warn!(channel = self.channel.id(), "a message waits for storage: {error}");
                    REST
                }
            };
            self.rest(wait).await?;
        }
    }

    /// The user who writes from this account. An unknown account gets a line once a day, and nothing of it is kept.
    async fn user_of(
        &self,
        sender: &str,
        external: &ExternalMessage,
        text: &str,
    ) -> Result<Option<UserId>, Stopped> {
        let identity =
            ExternalIdentity { channel_id: self.channel.id().to_owned(), external_id: sender.to_owned() };
        let store = self.runtime.store();
        let code = text.trim().trim_start_matches("/start").trim();
        if let Some(user) = self.shared.redeem(self.channel.id(), code) {
            let now = self.clock().now();
            self.insist(|| store.ensure_user(&user, now)).await?;
            // The account may have been a user of its own before.
            if let Some(before) = self.insist(|| store.user_of_identity(&identity)).await? {
                self.insist(|| store.unbind_identity(&before, &identity)).await?;
            }
            let bound = self.insist(|| store.bind_identity(&user, identity.clone(), now)).await?;
            if matches!(bound, BindOutcome::Now | BindOutcome::Before) {
                self.notify(external, LINKED).await;
            }
            return Ok(None);
        }
        if let Some(user) = self.insist(|| store.user_of_identity(&identity)).await? {
            return Ok(Some(user));
        }
        if self.shared.is_allowed(self.channel.id(), sender)
            && let Ok(user) = UserId::new(format!("{}-{sender}", self.channel.id()))
        {
            let now = self.clock().now();
            self.insist(|| store.ensure_user(&user, now)).await?;
            self.insist(|| store.bind_identity(&user, identity.clone(), now)).await?;
            return Ok(Some(user));
        }
        let now = self.clock().now();
        let since = now.checked_sub(STRANGER_REST).unwrap_or(now);
        let answers = self
            .insist(|| self.shared.store().answer_stranger(self.channel.id(), sender, now, since))
            .await?;
        if answers {
            self.notify(external, UNKNOWN).await;
        }
        Ok(None)
    }

    async fn edited(&self, sender: &str, external: &ExternalMessage, text: &str) -> Result<(), Stopped> {
        let identity =
            ExternalIdentity { channel_id: self.channel.id().to_owned(), external_id: sender.to_owned() };
        let user = self.insist(|| self.runtime.store().user_of_identity(&identity)).await?;
        let name = external.to_string();
        let known =
            self.insist(|| self.shared.store().message_by_external_ref(self.channel.id(), &name)).await?;
        let Some(message) = known.filter(|message| Some(&message.scope.user) == user.as_ref()) else {
            return Ok(());
        };
        if message.content == text {
            return Ok(());
        }
        loop {
            match self.runtime.edit_message(message.id, text).await {
                Ok(_) | Err(CaptureError::Empty) => return Ok(()),
                Err(CaptureError::TooLong { .. }) => {
                    self.notify(external, TOO_LONG).await;
                    return Ok(());
                }
                Err(CaptureError::Store(error)) => {
                    tracing::warn!(channel = self.channel.id(), "an edit waits for storage: {error}");
                    self.rest(REST).await?;
                }
            }
        }
    }

    /// Shows that the persona is writing, and says in a line of ours when no reply will come.
    fn follow(&self, conversation: String, mut turn: mpsc::UnboundedReceiver<TurnEvent>) {
        let (shared, channel) = (self.shared.clone(), self.channel.clone());
        tokio::spawn(async move {
            loop {
                let event = tokio::select! {
                    event = turn.recv() => event,
                    () = shared.stop.cancelled() => return,
                };
                match event {
                    Some(TurnEvent::Started) => break,
                    Some(_) => {}
                    None => return,
                }
            }
            loop {
                channel.show_typing(&conversation).await;
                let pause = shared.clock().sleep(TYPING_EVERY);
                tokio::pin!(pause);
                loop {
                    tokio::select! {
                        event = turn.recv() => match event {
                            Some(TurnEvent::Done { .. }) | None => return,
                            Some(TurnEvent::Failed { .. }) => {
                                let line = "I can't answer right now; what you wrote is safe. 我现在无法回复,你写的内容已保存。";
                                let _ = channel.deliver(&conversation, line, "notice").await;
                                return;
                            }
                            Some(_) => {}
                        },
                        () = &mut pause => break,
                        () = shared.stop.cancelled() => return,
                    }
                }
            }
        });
    }

    /// A line of ours, which is not the persona's and is not kept. One that fails is not sent again.
    async fn notify(&self, external: &ExternalMessage, line: &str) {
        if let Err(error) = self.channel.deliver(&external.conversation, line, "notice").await {
            tracing::debug!(channel = self.channel.id(), "a notice was not delivered: {error}");
        }
    }

    /// Tries again until storage answers: nothing is acknowledged before.
    async fn insist<T, W>(&self, work: impl Fn() -> W) -> Result<T, Stopped>
    where
        W: Future<Output = Result<T, StoreError>>,
    {
        loop {
            match work().await {
                Ok(value) => return Ok(value),
                Err(error) => tracing::warn!(channel = self.channel.id(), "waiting for storage: {error}"),
            }
            self.rest(REST).await?;
        }
    }

    /// Waits.
    ///
    /// # Errors
    /// [`Stopped`].
    pub async fn rest(&self, wait: Duration) -> Result<(), Stopped> {
        tokio::select! {
            () = self.clock().sleep(wait) => Ok(()),
            stopped = self.stopped() => Err(stopped),
        }
    }
}

/// What a platform sends by itself when a person opens the conversation.
fn is_greeting(text: &str) -> bool {
    text.trim() == "/start"
}
