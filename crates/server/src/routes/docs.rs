//! Documentation of a route's input and output.

use schemars::{Schema, SchemaGenerator};

pub(super) const JSON: &str = "application/json";

pub(super) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// A response other than an error.
#[derive(Clone, Copy)]
pub(crate) struct Success {
    pub(crate) status: u16,
    pub(crate) media: &'static str,
    /// `None` for a body that is not JSON.
    pub(crate) schema: Option<SchemaOf>,
}

#[derive(Clone, Copy)]
pub(crate) struct RequestBody {
    pub(crate) media: &'static str,
    pub(crate) schema: SchemaOf,
    pub(crate) is_required: bool,
}

/// Documentation of a handler's input and output. Most of it comes from the handler's signature.
#[derive(Clone, Default)]
pub(crate) struct RouteDocs {
    pub(crate) query: Vec<SchemaOf>,
    /// True if the query names a scope.
    pub(crate) is_scoped: bool,
    pub(crate) body: Option<RequestBody>,
    pub(crate) successes: Vec<Success>,
    /// Statuses of errors besides those that follow from the method, path and input.
    pub(crate) errors: Vec<u16>,
}
