//! One method of one path, described.

use schemars::{JsonSchema, Schema, SchemaGenerator};

/// Where a schema comes from.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// A type that a handler reads or writes.
    Type(fn(&mut SchemaGenerator) -> Schema),
    /// The shape of an answer that a handler puts together; see [`super::shape`].
    Shape(&'static str),
    /// Not JSON.
    Opaque,
}

/// An answer that is no refusal.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) media: &'static str,
    pub(super) source: Source,
}

pub(super) struct Operation {
    pub(super) tag: &'static str,
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) summary: &'static str,
    pub(super) query: Vec<fn(&mut SchemaGenerator) -> Schema>,
    pub(super) body: Option<(&'static str, Source, bool)>,
    pub(super) answers: Vec<Answer>,
    pub(super) refusals: Vec<u16>,
}

const JSON: &str = "application/json";

/// The memory that a request means.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes what `extract::ScopeParam` reads")]
struct ScopeQuery {
    /// The configured persona by default.
    persona_id: Option<String>,
    /// `self` by default, or the token's user.
    user_id: Option<String>,
}

pub(super) fn operation(
    tag: &'static str,
    method: &'static str,
    path: &'static str,
    summary: &'static str,
) -> Operation {
    Operation {
        tag,
        method,
        path,
        summary,
        query: Vec::new(),
        body: None,
        answers: Vec::new(),
        refusals: Vec::new(),
    }
}

impl Operation {
    /// Takes these fields in its query.
    pub(super) fn asks<T: JsonSchema>(mut self) -> Self {
        self.query.push(|generator| generator.root_schema_for::<T>());
        self
    }

    /// Takes `persona_id` and `user_id` in its query.
    pub(super) fn in_scope(self) -> Self {
        self.asks::<ScopeQuery>().refuses(&[404])
    }

    /// Takes this as JSON.
    pub(super) fn takes<T: JsonSchema>(mut self) -> Self {
        self.body = Some((JSON, Source::Type(SchemaGenerator::subschema_for::<T>), true));
        self
    }

    /// Takes this as JSON, or nothing.
    pub(super) fn may_take<T: JsonSchema>(mut self) -> Self {
        self.body = Some((JSON, Source::Type(SchemaGenerator::subschema_for::<T>), false));
        self
    }

    /// Takes JSON of this shape.
    pub(super) fn takes_shape(mut self, shape: &'static str) -> Self {
        self.body = Some((JSON, Source::Shape(shape), true));
        self
    }

    /// Takes a form with a file.
    pub(super) fn takes_file(mut self) -> Self {
        self.body = Some(("multipart/form-data", Source::Shape("{file: binary}"), true));
        self
    }

    pub(super) fn answers<T: JsonSchema>(self) -> Self {
        self.answers_with::<T>(200)
    }

    pub(super) fn answers_with<T: JsonSchema>(mut self, status: u16) -> Self {
        let source = Source::Type(SchemaGenerator::subschema_for::<T>);
        self.answers.push(Answer { status, media: JSON, source });
        self
    }

    pub(super) fn answers_shape(mut self, status: u16, shape: &'static str) -> Self {
        self.answers.push(Answer { status, media: JSON, source: Source::Shape(shape) });
        self
    }

    pub(super) fn answers_media(mut self, media: &'static str) -> Self {
        self.answers.push(Answer { status: 200, media, source: Source::Opaque });
        self
    }

    pub(super) fn refuses(mut self, statuses: &[u16]) -> Self {
        self.refusals.extend(statuses);
        self
    }

    /// Whether it needs a token.
    pub(super) fn is_guarded(&self) -> bool {
        crate::auth::is_guarded(self.path)
    }

    /// Every status with which it may be refused, in order.
    pub(super) fn all_refusals(&self) -> Vec<u16> {
        let mut statuses = self.refusals.clone();
        statuses.extend([421, 503]);
        if self.is_guarded() {
            statuses.extend([401, 403, 429]);
        }
        if self.path.contains('{') {
            statuses.push(404);
        }
        let is_openai = self.path.starts_with("/v1/");
        if !self.query.is_empty() {
            statuses.push(422);
        }
        if self.body.is_some() {
            statuses.extend([400, 408, 413, 415]);
            statuses.extend((!is_openai).then_some(422));
        }
        if self.method != "get" {
            statuses.extend([403, 507]);
        }
        // A query that no parser can read.
        statuses.sort_unstable();
        statuses.dedup();
        statuses
    }
}
