//! All channels of this program: added, connected and disconnected.

use std::sync::Arc;

use memory::ports::{ChannelStore, Clock};
use runtime::{OutboundChannels, Runtime};

use crate::channel::Channel;
use crate::connections::{ChannelSettings, Connection, SharedState};
use crate::delivery;
use crate::inbound::ChannelInbox;

/// The dependencies of the channels.
pub struct ChannelsParts {
    pub store: Arc<dyn ChannelStore>,
    pub clock: Arc<dyn Clock>,
    pub random: Box<dyn Fn() -> [u8; 32] + Send + Sync>,
}

/// All channels of this program.
#[derive(Clone)]
pub struct Channels {
    shared: Arc<SharedState>,
}

impl Channels {
    /// Starts without a channel; [`Channels::add`] adds those of the configuration.
    pub fn new(parts: ChannelsParts) -> Self {
        let ChannelsParts { store, clock, random } = parts;
        Self { shared: Arc::new(SharedState::new(store, clock, random)) }
    }

    /// The channels in the form that the runtime uses.
    pub fn outbound_channels(&self) -> Arc<dyn OutboundChannels> {
        self.shared.clone()
    }

    /// Adds a channel before the runtime starts, so that it delivers messages left from the last run.
    /// [`Channels::start`] connects it.
    pub fn add(&self, channel: Arc<dyn Channel>, settings: ChannelSettings) {
        self.add_connection(channel, settings);
    }

    fn add_connection(&self, channel: Arc<dyn Channel>, settings: ChannelSettings) -> Arc<Connection> {
        let connection = Arc::new(Connection::new(channel, settings, &self.shared.stop));
        let mut connections = self.shared.connections.load().to_vec();
        connections.push(connection.clone());
        self.shared.connections.store(Arc::new(connections));
        connection
    }

    /// Connects all channels: each receives and delivers until [`Channels::stop`]. Call it after the runtime has
    /// started.
    pub fn start(&self, runtime: &Runtime) {
        for connection in &**self.shared.connections.load() {
            self.run(connection.clone(), runtime);
        }
    }

    /// Connects a channel; replaces a connected channel of the same id.
    pub async fn connect(&self, runtime: &Runtime, channel: Arc<dyn Channel>, settings: ChannelSettings) {
        let _changing = self.shared.changing.lock().await;
        self.close(channel.id()).await;
        let connection = self.add_connection(channel, settings);
        self.run(connection, runtime);
    }

    /// Disconnects a channel. Messages that wait for delivery are delivered once it is connected again.
    pub async fn disconnect(&self, channel_id: &str) {
        let _changing = self.shared.changing.lock().await;
        self.close(channel_id).await;
    }

    /// Disconnects all channels. Received messages are stored already; waiting ones are delivered after the next
    /// start.
    pub async fn stop(&self) {
        self.shared.stop.cancel();
        let _changing = self.shared.changing.lock().await;
        for connection in &**self.shared.connections.load() {
            connection.close().await;
        }
    }

    fn run(&self, connection: Arc<Connection>, runtime: &Runtime) {
        let inbound = ChannelInbox::new(self.shared.clone(), runtime.clone(), connection.clone());
        let receiving = connection.channel.clone();
        connection.tasks.spawn(async move {
            let _stopped = receiving.receive(&inbound).await;
        });
        let delivering = delivery::run(self.shared.clone(), runtime.clone(), connection.clone());
        connection.tasks.spawn(delivering);
    }

    async fn close(&self, channel_id: &str) {
        let Some(connection) = self.shared.connection(channel_id) else { return };
        connection.close().await;
        let mut connections = self.shared.connections.load().to_vec();
        connections.retain(|one| one.channel.id() != channel_id);
        self.shared.connections.store(Arc::new(connections));
    }
}
