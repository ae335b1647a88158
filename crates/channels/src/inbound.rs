//! Messages that arrive from a platform: checks if the sender may write, and stores each message before it is
//! acknowledged.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use memory::UserId;
use memory::capture::CaptureError;
use memory::forget::{ForgetMode, Selection};
use memory::ports::{BindOutcome, Clock, ExternalIdentity, ReceivedPosition, StoreError};
use runtime::{AcceptError, ChannelReceipt, ExternalMessage, Runtime, TurnEvent};
use tokio::sync::mpsc;

use crate::channel::{Channel, ChannelState, Inbound, Piece, Shutdown, Update, UpdateKind};
use crate::connections::{Connection, SharedState};

/// Pause after storage refused a write. A full disk or a restarting server rarely recovers sooner, and nothing is
/// acknowledged meanwhile.
const STORE_RETRY_PAUSE: Duration = Duration::from_secs(5);
/// Period in which an unknown account gets only one answer, so that strangers can't use up the bot's rate limit.
const STRANGER_ANSWER_INTERVAL: SignedDuration = SignedDuration::from_hours(24);
/// Largest difference that is expected between the platform's clock and this machine's. Machines without time synchronisation
/// drift by minutes.
const CLOCK_DIFFERENCE_MAX: SignedDuration = SignedDuration::from_mins(5);
/// Interval at which the typing indicator is renewed: the shorter-lived of the two, Telegram's, is shown for five seconds.
const TYPING_RENEWAL_INTERVAL: Duration = Duration::from_secs(4);

const LINKED_REPLY: &str = "This account is linked. 账号已关联。";
const UNKNOWN_ACCOUNT_REPLY: &str = "This assistant is private. If you know its owner, ask for a code and send it here. \
                       这是私人助手。如果你认识它的主人,请向对方要一个验证码并发到这里。";
const TOO_LONG_REPLY: &str =
    "That message is too long. Please send it in parts. 这条消息太长了,请分几条发送。";

/// A message as it arrived.
struct ReceivedMessage {
    sender: String,
    external: ExternalMessage,
    is_direct: bool,
    text: String,
    recording: Option<String>,
    written_at: Option<Timestamp>,
}

/// The sender of a message.
enum Sender {
    User(UserId),
    Unknown,
}

/// Stores what a channel receives.
pub(crate) struct ChannelInbox {
    shared: Arc<SharedState>,
    runtime: Runtime,
    connection: Arc<Connection>,
    channel: Arc<dyn Channel>,
}

impl ChannelInbox {
    pub(crate) fn new(shared: Arc<SharedState>, runtime: Runtime, connection: Arc<Connection>) -> Self {
        let channel = connection.channel.clone();
        Self { shared, runtime, connection, channel }
    }

    async fn advance_position(&self, position: Option<ReceivedPosition>) -> Result<(), Shutdown> {
        let Some(position) = position else { return Ok(()) };
        self.retry_until_stored(|| self.shared.store().advance_channel(self.channel.id(), position.clone()))
            .await
    }

    async fn accept_written(
        &self,
        position: Option<ReceivedPosition>,
        written: ReceivedMessage,
    ) -> Result<(), Shutdown> {
        if let Some(user) = self.redeem_code(&written) {
            // Before linking: after a crash the same message comes again, when the code is no longer valid, and a
            // linked account would send it to the persona.
            self.advance_position(position).await?;
            return self.link_account(user, &written).await;
        }
        let user = match self.sender_of(&written).await? {
            Sender::User(user) => user,
            // Only a sequence needs the new position; of a stranger's conversation nothing is stored, not even its
            // number.
            Sender::Unknown => {
                return self
                    .advance_position(position.filter(|one| matches!(one, ReceivedPosition::Sequence { .. })))
                    .await;
            }
        };
        if is_greeting(&written.text) || self.is_repeated(&written).await? {
            return self.advance_position(position).await;
        }
        let is_stored = self.accept(position.clone(), &written, user).await?;
        if is_stored { Ok(()) } else { self.advance_position(position).await }
    }

    /// True if the message is stored already under another position. Another bot's message can have the same chat and
    /// number, but was stored before this one was written.
    async fn is_repeated(&self, written: &ReceivedMessage) -> Result<bool, Shutdown> {
        let Some(written_at) = written.written_at else { return Ok(false) };
        let (store, name) = (self.shared.store(), written.external.to_string());
        let known =
            self.retry_until_stored(|| store.message_by_external_ref(self.channel.id(), &name)).await?;
        let latest = known.and_then(|message| message.created_at.checked_add(CLOCK_DIFFERENCE_MAX).ok());
        Ok(latest.is_some_and(|latest| latest >= written_at))
    }

    /// Stores a received message and its position; true if both are stored.
    async fn accept(
        &self,
        position: Option<ReceivedPosition>,
        written: &ReceivedMessage,
        user: UserId,
    ) -> Result<bool, Shutdown> {
        let Some(position) = position else { return Ok(false) };
        let scope = self.runtime.scope(None, user);
        let recording = written.recording.clone();
        let receipt = ChannelReceipt { position, is_direct: written.is_direct, recording };
        loop {
            let (text, receipt) = (written.text.clone(), receipt.clone());
            let accepted = self
                .runtime
                .turns()
                .accept_from_channel(self.channel.id(), scope.clone(), text, &written.external, receipt)
                .await;
            let wait = match accepted {
                Ok((_, turn)) => {
                    self.follow_turn(written.external.conversation.clone(), turn);
                    return Ok(true);
                }
                Err(AcceptError::Stopping) => return Err(Shutdown),
                Err(AcceptError::Full { retry_after }) => retry_after,
                Err(AcceptError::Capture(CaptureError::Empty)) => return Ok(false),
                Err(AcceptError::Capture(CaptureError::TooLong { .. })) => {
                    self.send_notice(&written.external, TOO_LONG_REPLY).await;
                    return Ok(false);
                }
                Err(AcceptError::Capture(CaptureError::Store(error))) => {
                    tracing::warn!(channel = self.channel.id(), "a message is waiting to be stored: {error}");
                    STORE_RETRY_PAUSE
                }
            };
            self.wait(wait).await?;
        }
    }

    /// Returns the user of an account. An unknown account is answered once a day, only in a direct conversation, and
    /// its messages are not stored.
    async fn sender_of(&self, written: &ReceivedMessage) -> Result<Sender, Shutdown> {
        let ReceivedMessage { sender, external, is_direct, .. } = written;
        let identity = self.identity(sender);
        let store = self.runtime.store();
        if let Some(user) = self.retry_until_stored(|| store.user_of_identity(&identity)).await? {
            return Ok(Sender::User(user));
        }
        let now = self.clock().now();
        if self.allowed_accounts().iter().any(|one| one == sender)
            && let Ok(user) = UserId::new(format!("{}-{sender}", self.channel.id()))
        {
            self.retry_until_stored(|| store.ensure_user(&user, now)).await?;
            self.retry_until_stored(|| store.bind_identity(&user, identity.clone(), now)).await?;
            return Ok(Sender::User(user));
        }
        if !is_direct {
            return Ok(Sender::Unknown);
        }
        let since = now.checked_sub(STRANGER_ANSWER_INTERVAL).unwrap_or(now);
        let answers = self
            .retry_until_stored(|| {
                self.shared.store().admit_stranger_answer(self.channel.id(), sender, now, since)
            })
            .await?;
        if answers {
            self.send_notice(external, UNKNOWN_ACCOUNT_REPLY).await;
        }
        Ok(Sender::Unknown)
    }

    /// Returns the user of a link code if the message is a valid one. A code in a conversation that others read is
    /// not accepted.
    fn redeem_code(&self, written: &ReceivedMessage) -> Option<UserId> {
        let code = written.text.trim().trim_start_matches("/start").trim();
        written.is_direct.then(|| self.shared.redeem(self.channel.id(), code)).flatten()
    }

    /// Links the account that wrote the message to the user.
    async fn link_account(&self, user: UserId, written: &ReceivedMessage) -> Result<(), Shutdown> {
        let (store, now) = (self.runtime.store(), self.clock().now());
        let identity = &self.identity(&written.sender);
        self.retry_until_stored(|| store.ensure_user(&user, now)).await?;
        // The account may have been a user of its own before it was linked.
        if let Some(before) = self.retry_until_stored(|| store.user_of_identity(identity)).await? {
            self.retry_until_stored(|| store.unbind_identity(&before, identity)).await?;
        }
        let bound = self.retry_until_stored(|| store.bind_identity(&user, identity.clone(), now)).await?;
        if matches!(bound, BindOutcome::Now | BindOutcome::Before) {
            self.send_notice(&written.external, LINKED_REPLY).await;
        }
        Ok(())
    }

    fn identity(&self, sender: &str) -> ExternalIdentity {
        ExternalIdentity { channel_id: self.channel.id().to_owned(), external_id: sender.to_owned() }
    }

    /// Deletes a user's message and the memories that only it supported, as a deletion in the web UI does.
    async fn handle_deletion(&self, external: &ExternalMessage) -> Result<(), Shutdown> {
        let name = external.to_string();
        let known = self
            .retry_until_stored(|| self.shared.store().message_by_external_ref(self.channel.id(), &name))
            .await?;
        let Some(message) = known else { return Ok(()) };
        let selection = Selection { messages: [message.id].into(), ..Selection::default() };
        self.retry_until_stored(|| {
            self.runtime.changes().delete(message.scope.clone(), selection.clone(), ForgetMode::default())
        })
        .await?;
        Ok(())
    }

    async fn handle_edit(
        &self,
        sender: &str,
        external: &ExternalMessage,
        text: &str,
    ) -> Result<(), Shutdown> {
        let identity = self.identity(sender);
        let user = self.retry_until_stored(|| self.runtime.store().user_of_identity(&identity)).await?;
        let name = external.to_string();
        let known = self
            .retry_until_stored(|| self.shared.store().message_by_external_ref(self.channel.id(), &name))
            .await?;
        let Some(message) = known.filter(|message| Some(&message.scope.user) == user.as_ref()) else {
            return Ok(());
        };
        if message.content == text {
            return Ok(());
        }
        loop {
            match self.runtime.changes().edit_message(message.id, text).await {
                Ok(_) | Err(CaptureError::Empty) => return Ok(()),
                Err(CaptureError::TooLong { .. }) => {
                    self.send_notice(external, TOO_LONG_REPLY).await;
                    return Ok(());
                }
                Err(CaptureError::Store(error)) => {
                    tracing::warn!(channel = self.channel.id(), "an edit is waiting to be stored: {error}");
                    self.wait(STORE_RETRY_PAUSE).await?;
                }
            }
        }
    }

    /// Shows the typing indicator during a turn, and sends a notice if no reply will come.
    fn follow_turn(&self, conversation: String, mut turn: mpsc::UnboundedReceiver<TurnEvent>) {
        let (shared, connection) = (self.shared.clone(), self.connection.clone());
        let channel = self.channel.clone();
        tokio::spawn(async move {
            loop {
                let event = tokio::select! {
                    event = turn.recv() => event,
                    () = connection.stop.cancelled() => return,
                };
                match event {
                    Some(TurnEvent::Started) => break,
                    Some(_) => {}
                    None => return,
                }
            }
            loop {
                channel.show_typing(&conversation).await;
                let pause = shared.clock().sleep(TYPING_RENEWAL_INTERVAL);
                tokio::pin!(pause);
                loop {
                    tokio::select! {
                        event = turn.recv() => match event {
                            Some(TurnEvent::Done { .. } | TurnEvent::Withdrawn { .. }) | None => return,
                            Some(TurnEvent::Failed { .. }) => {
                                let line = "I can't reply right now. Your message is saved. 我现在无法回复,你写的内容已保存。";
                                let _ = channel.deliver(Piece { conversation: &conversation, text: line, origin: None }).await;
                                return;
                            }
                            Some(_) => {}
                        },
                        () = &mut pause => break,
                        () = connection.stop.cancelled() => return,
                    }
                }
            }
        });
    }

    /// Sends a notice of the program, which is not stored. One that fails is not sent again.
    async fn send_notice(&self, external: &ExternalMessage, line: &str) {
        if let Err(error) = self
            .channel
            .deliver(Piece { conversation: &external.conversation, text: line, origin: None })
            .await
        {
            tracing::debug!(channel = self.channel.id(), "a notice was not delivered: {error}");
        }
    }

    /// Repeats a write until storage accepts it: nothing is acknowledged before.
    async fn retry_until_stored<T, W>(&self, work: impl Fn() -> W) -> Result<T, Shutdown>
    where
        W: Future<Output = Result<T, StoreError>>,
    {
        loop {
            match work().await {
                Ok(value) => return Ok(value),
                Err(error) => tracing::warn!(
                    channel = self.channel.id(),
                    "waiting until messages can be \
                    stored: {error}"
                ),
            }
            self.wait(STORE_RETRY_PAUSE).await?;
        }
    }
}

#[async_trait]
impl Inbound for ChannelInbox {
    fn clock(&self) -> &dyn Clock {
        self.shared.clock()
    }

    async fn wait_for_stop(&self) -> Shutdown {
        self.connection.stop.cancelled().await;
        Shutdown
    }

    fn set_state(&self, state: ChannelState) {
        self.connection.set_state(state);
    }

    fn allowed_accounts(&self) -> &[String] {
        self.connection.allowed_accounts()
    }

    async fn is_account_linked(&self, account: &str) -> Result<bool, Shutdown> {
        let identity = self.identity(account);
        Ok(self.retry_until_stored(|| self.runtime.store().user_of_identity(&identity)).await?.is_some())
    }

    async fn read_position(&self, source: &str) -> Result<Option<i64>, Shutdown> {
        self.retry_until_stored(|| self.shared.store().sequence_position(source)).await
    }

    async fn set_position(&self, source: &str, number: i64) -> Result<(), Shutdown> {
        self.retry_until_stored(|| self.shared.store().set_sequence_position(source, number)).await
    }

    fn note_unreadable(&self) {
        self.runtime.metrics().count_refusal("channel_update");
        tracing::warn!(channel = self.channel.id(), "an event of an unknown form was skipped");
    }

    async fn conversation_positions(&self) -> Result<Vec<(String, i64)>, Shutdown> {
        self.retry_until_stored(|| self.shared.store().conversation_positions(self.channel.id())).await
    }

    async fn accept_update(&self, update: Update) -> Result<(), Shutdown> {
        let (store, channel_id) = (self.shared.store(), self.channel.id());
        if let Some(position) = &update.position
            && self.retry_until_stored(|| store.is_received(channel_id, position)).await?
        {
            return Ok(());
        }
        match update.kind {
            UpdateKind::Written { sender, external, is_direct, text, recording, written_at } => {
                let written = ReceivedMessage { sender, external, is_direct, text, recording, written_at };
                self.accept_written(update.position, written).await
            }
            UpdateKind::Edited { sender, external, text } => {
                self.handle_edit(&sender, &external, &text).await?;
                self.advance_position(update.position).await
            }
            UpdateKind::Deleted { external } => {
                self.handle_deletion(&external).await?;
                self.advance_position(update.position).await
            }
            UpdateKind::Other => self.advance_position(update.position).await,
        }
    }

    async fn wait(&self, wait: Duration) -> Result<(), Shutdown> {
        tokio::select! {
            () = self.clock().sleep(wait) => Ok(()),
            stopped = self.wait_for_stop() => Err(stopped),
        }
    }
}

/// True for the text that a platform sends by itself when a person opens the conversation.
fn is_greeting(text: &str) -> bool {
    text.trim() == "/start"
}
