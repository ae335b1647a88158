//! The stream of server events (SSE).

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt, stream};
use runtime::{AccessCreated, Delivery, EventData as _, GaugeGuard, ServerEvents, Subscription, WireEvent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::CHANNEL;
use crate::auth::Principal;
use crate::extract::Query;
use crate::legacy::events::{LegacyEvents, legacy_event};
use crate::state::App;

/// The path of the event stream.
pub(crate) const PATH: &str = "/api/chat/events";
/// Interval of heartbeats. Proxies commonly end a connection that is silent for 60 seconds.
const HEARTBEAT: Duration = Duration::from_secs(30);
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Header that asks proxies not to buffer events.
const NO_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The data of each event of the stream, by the event's name.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "names the events in the API document")]
pub(crate) struct EventStream {
    #[serde(flatten)]
    events: ServerEvents,
    #[serde(flatten)]
    legacy: LegacyEvents,
    #[serde(rename = "chat.connection.ready")]
    ready: ConnectionReady,
    #[serde(rename = "chat.connection.heartbeat")]
    heartbeat: Empty,
    #[serde(rename = "chat.connection.lagged")]
    lagged: Empty,
}

/// First event of a connection.
#[derive(Serialize, JsonSchema)]
struct ConnectionReady {
    /// Channel of messages sent by this client.
    channel_id: &'static str,
}

/// An event without data.
#[derive(Serialize, JsonSchema)]
struct Empty {}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Resume {
    last_event_id: Option<String>,
}

/// Handler of `GET /api/chat/events`: streams future events, or those after the client's last one: `Last-Event-ID`,
/// which browsers send when they reconnect, else `?last_event_id=`. The first frame has a position in the stream too,
/// so that a client that loses its connection before the first event misses nothing.
pub(crate) async fn events(
    State(app): State<App>,
    principal: Principal,
    headers: HeaderMap,
    Query(resume): Query<Resume>,
) -> Response {
    let header = headers.get(LAST_EVENT_ID).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let seen = header.or(resume.last_event_id).filter(|id| !id.is_empty());
    let broadcast = app.runtime().broadcast();
    let subscription = match &seen {
        Some(id) => broadcast.subscribe_after(id),
        None => broadcast.subscribe(),
    };
    let ready = event_frame("chat.connection.ready", &json!(ConnectionReady { channel_id: CHANNEL }))
        .id(subscription.last_event_id());
    let going_on = app.runtime().metrics().count_until_dropped("sse_subscribers");
    let heartbeat = app.runtime().clock().sleep(HEARTBEAT);
    let subscriber =
        Subscriber { app, principal, subscription, heartbeat, repeated: None, _going_on: going_on };
    let frames = stream::once(async { Ok(ready) }).chain(subscriber.into_frames());
    ([(NO_BUFFERING, HeaderValue::from_static("no"))], Sse::new(frames)).into_response()
}

struct Subscriber {
    app: App,
    principal: Principal,
    subscription: Subscription,
    heartbeat: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// The same event under its earlier name, for clients of the earlier API.
    repeated: Option<Event>,
    _going_on: GaugeGuard,
}

impl Subscriber {
    fn into_frames(self) -> impl Stream<Item = Result<Event, Infallible>> + Send {
        stream::unfold(self, |mut subscriber| async move {
            let event = subscriber.next().await?;
            Some((Ok(event), subscriber))
        })
    }

    fn may_see(&self, event: &WireEvent) -> bool {
        let is_for_administration = event.name == AccessCreated::NAME;
        self.principal.may_see(&event.scope) && (self.principal.may_admin || !is_for_administration)
    }

    /// The next frame; `None` when the program stops.
    async fn next(&mut self) -> Option<Event> {
        if let Some(event) = self.repeated.take() {
            return Some(event);
        }
        loop {
            tokio::select! {
                delivery = self.subscription.next() => match delivery? {
                    Delivery::Event(id, event) if self.may_see(&event) => {
                        let repeated = legacy_event(&event);
                        self.repeated = repeated.map(|(name, data)| event_frame(name, &data).id(&id));
                        return Some(event_frame(event.name, &event.data).id(id));
                    }
                    Delivery::Event(..) => {}
                    Delivery::Lagged => return Some(event_frame("chat.connection.lagged", &json!(Empty {}))),
                },
                () = &mut self.heartbeat => {
                    self.heartbeat = self.app.runtime().clock().sleep(HEARTBEAT);
                    return Some(event_frame("chat.connection.heartbeat", &json!(Empty {})));
                }
                () = self.app.shutdown.cancelled() => return None,
            }
        }
    }
}

fn event_frame(name: &'static str, data: &Value) -> Event {
    // A `Value` prints as one line of JSON.
    Event::default().event(name).data(data.to_string())
}
