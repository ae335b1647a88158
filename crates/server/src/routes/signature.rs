//! Reads the documentation of a route from the signature of its handler.

use std::future::Future;

use axum::extract::{Path, Request, State};
use axum::http::HeaderMap;
use axum::response::{Html, Response};
use axum::{Extension, Json};
use schemars::JsonSchema;

use super::docs::RouteDocs;
use crate::admin::hub::documents::DocumentPath;
use crate::admin::program::audit::{AuditObject, PreviewOnly};
use crate::auth::{Admin, Principal};
use crate::extract::{self, Id, OptionalJson, OptionalScope, Query, ScopeParam};
use crate::problem::Problem;
use crate::respond::{Accepted, Created};
use crate::state::App;

/// A handler whose arguments and response type document it.
pub(crate) trait Signature<Arguments> {
    fn describe(docs: &mut RouteDocs);
}

/// An argument of a handler. Arguments that clients do not see add nothing.
pub(crate) trait Argument {
    fn describe(_: &mut RouteDocs) {}
}

/// A handler's response type. A [`Response`] documents nothing; its route must do that.
pub(crate) trait Answer {
    fn describe(_: &mut RouteDocs) {}
}

macro_rules! signature {
    ($($argument:ident),*) => {
        impl<F, Fut, A, $($argument),*> Signature<($($argument,)*)> for F
        where
            F: Fn($($argument),*) -> Fut,
            Fut: Future<Output = A>,
            A: Answer,
            $($argument: Argument),*
        {
            fn describe(docs: &mut RouteDocs) {
                $($argument::describe(docs);)*
                A::describe(docs);
            }
        }
    };
}

signature!();
signature!(A1);
signature!(A1, A2);
signature!(A1, A2, A3);
signature!(A1, A2, A3, A4);
signature!(A1, A2, A3, A4, A5);

impl Argument for State<App> {}
impl Argument for Admin {}
impl Argument for Principal {}
impl Argument for HeaderMap {}
impl Argument for Request {}
impl<T> Argument for Id<T> {}
impl<T> Argument for Path<T> {}
impl Argument for DocumentPath {}

impl<T: JsonSchema> Argument for Query<T> {
    fn describe(docs: &mut RouteDocs) {
        docs.accept_query::<T>();
    }
}

impl<T: JsonSchema> Argument for extract::Json<T> {
    fn describe(docs: &mut RouteDocs) {
        docs.set_body::<T>(true);
    }
}

impl<T: JsonSchema> Argument for OptionalJson<T> {
    fn describe(docs: &mut RouteDocs) {
        docs.set_body::<T>(false);
    }
}

impl Argument for ScopeParam {
    fn describe(docs: &mut RouteDocs) {
        docs.is_scoped = true;
    }
}

impl Argument for OptionalScope {
    fn describe(docs: &mut RouteDocs) {
        ScopeParam::describe(docs);
    }
}

impl Answer for Response {}
impl Answer for Problem {}

impl<T: JsonSchema> Answer for Json<T> {
    fn describe(docs: &mut RouteDocs) {
        docs.returns::<T>(200);
    }
}

impl<T: JsonSchema> Answer for Created<T> {
    fn describe(docs: &mut RouteDocs) {
        docs.returns::<T>(201);
    }
}

impl<T: JsonSchema> Answer for Accepted<T> {
    fn describe(docs: &mut RouteDocs) {
        docs.returns::<T>(202);
    }
}

impl<A: Answer> Answer for (HeaderMap, A) {
    fn describe(docs: &mut RouteDocs) {
        A::describe(docs);
    }
}

impl<A: Answer> Answer for (Extension<AuditObject>, A) {
    fn describe(docs: &mut RouteDocs) {
        A::describe(docs);
    }
}

impl<A: Answer> Answer for (Option<Extension<PreviewOnly>>, A) {
    fn describe(docs: &mut RouteDocs) {
        A::describe(docs);
    }
}

impl<A: Answer> Answer for Result<A, Problem> {
    fn describe(docs: &mut RouteDocs) {
        A::describe(docs);
    }
}

impl<T> Answer for Html<T> {}
