//! One method of one path: its handler together with its documentation.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::Request;
use axum::handler::Handler;
use axum::response::Response;
use axum::routing::{self, MethodRouter};
use futures_util::future::BoxFuture;
use schemars::{JsonSchema, SchemaGenerator};

use super::docs::{JSON, RequestBody, RouteDocs, Success};
use super::signature::Signature;
use crate::state::App;

pub(crate) struct Route {
    pub(crate) tag: &'static str,
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) docs: RouteDocs,
    pub(crate) handler: MethodRouter<App>,
}

/// A type-erased handler, so that axum's services around it are compiled once rather than for each route.
#[derive(Clone)]
struct ErasedHandler(Arc<dyn Fn(Request, App) -> BoxFuture<'static, Response> + Send + Sync>);

impl ErasedHandler {
    fn new<H: Handler<T, App>, T: 'static>(handler: H) -> Self {
        Self(Arc::new(move |request, app| Box::pin(handler.clone().call(request, app))))
    }
}

impl Handler<(), App> for ErasedHandler {
    type Future = BoxFuture<'static, Response>;

    fn call(self, request: Request, app: App) -> Self::Future {
        (self.0)(request, app)
    }
}

/// Routes under one tag of the API document.
pub(super) struct Tag(pub(super) &'static str);

macro_rules! methods {
    ($($method:ident),*) => {$(
        pub(super) fn $method<H, T, A>(&self, path: &'static str, summary: &'static str, handler: H) -> Route
        where
            H: Handler<T, App> + Signature<A>,
            T: 'static,
        {
            let mut docs = RouteDocs::default();
            H::describe(&mut docs);
            let handler = routing::$method(ErasedHandler::new(handler));
            Route { tag: self.0, method: stringify!($method), path, summary, docs, handler }
        }
    )*};
}

impl Tag {
    methods!(get, post, put, patch, delete);
}

impl Route {
    /// Adds a JSON response that is not in the handler's signature.
    pub(super) fn add_response<T: JsonSchema>(mut self, status: u16) -> Self {
        self.docs.returns::<T>(status);
        self
    }

    /// Adds the event stream. Its schema has the data of each event under the event's name.
    pub(super) fn returns_events<T: JsonSchema>(mut self) -> Self {
        let schema = SchemaGenerator::subschema_for::<T>;
        self.docs.successes.push(Success { status: 200, media: "text/event-stream", schema: Some(schema) });
        self
    }

    /// Adds a response with a body other than JSON.
    pub(super) fn returns_media(mut self, media: &'static str) -> Self {
        self.docs.successes.push(Success { status: 200, media, schema: None });
        self
    }

    /// Adds a partial response, for requests of a range.
    pub(super) fn returns_partial(mut self, media: &'static str) -> Self {
        self.docs.successes.push(Success { status: 206, media, schema: None });
        self
    }

    /// Replaces the body of the signature, for a handler that reads its body field by field.
    pub(super) fn with_body<T: JsonSchema>(mut self) -> Self {
        self.docs.set_body::<T>(true);
        self
    }

    /// Adds a form with a file in the field `file`.
    pub(super) fn takes_file(self) -> Self {
        self.takes_form::<FileForm>()
    }

    /// Adds a form with these fields.
    pub(super) fn takes_form<T: JsonSchema>(mut self) -> Self {
        let schema = SchemaGenerator::subschema_for::<T>;
        self.docs.body = Some(RequestBody { media: "multipart/form-data", schema, is_required: true });
        self
    }

    /// Adds error statuses of this handler.
    pub(super) fn add_error_statuses(mut self, statuses: &[u16]) -> Self {
        self.docs.errors.extend(statuses);
        self
    }

    pub(crate) fn is_guarded(&self) -> bool {
        crate::auth::is_guarded(self.path)
    }

    /// True if errors have the form of the OpenAI API.
    pub(crate) fn is_openai(&self) -> bool {
        self.path.starts_with("/v1/")
    }

    /// Every error status, sorted.
    pub(crate) fn errors(&self) -> Vec<u16> {
        let mut statuses = self.docs.errors.clone();
        statuses.extend([421, 503]);
        if self.is_guarded() {
            statuses.extend([401, 403, 429]);
        }
        if self.path.contains('{') {
            statuses.push(404);
        }
        // For a query that can't be parsed.
        if !self.docs.query.is_empty() || self.docs.is_scoped {
            statuses.push(422);
        }
        if self.docs.is_scoped {
            statuses.push(404);
        }
        if self.docs.body.is_some() {
            statuses.extend([400, 408, 413, 415]);
            statuses.extend((!self.is_openai()).then_some(422));
        }
        if self.method != "get" {
            statuses.extend([403, 507]);
        }
        statuses.sort_unstable();
        statuses.dedup();
        statuses
    }
}

impl RouteDocs {
    pub(super) fn accept_query<T: JsonSchema>(&mut self) {
        self.query.push(T::json_schema);
    }

    pub(super) fn set_body<T: JsonSchema>(&mut self, is_required: bool) {
        let schema = SchemaGenerator::subschema_for::<T>;
        self.body = Some(RequestBody { media: JSON, schema, is_required });
    }

    pub(super) fn returns<T: JsonSchema>(&mut self, status: u16) {
        let schema = SchemaGenerator::subschema_for::<T>;
        self.successes.push(Success { status, media: JSON, schema: Some(schema) });
    }
}

/// A form with a file.
#[derive(JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "describes what `admin::avatar` reads from the form")]
struct FileForm {
    #[schemars(extend("contentMediaType" = "application/octet-stream"), with = "String")]
    file: Bytes,
}
