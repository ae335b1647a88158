//! Every path of the HTTP API, once: both the router and the API document are built from these tables.

mod docs;
mod route;
mod signature;
mod chat;
mod hub;
mod legacy;
mod memory;
mod persona;
mod program;
mod work;

pub(crate) use docs::Success;
pub(crate) use route::Route;

/// All routes in the order of the documentation page. `/login` and `/mcp`, which API clients do not call, are in the
/// router.
pub(crate) fn list_routes() -> Vec<Route> {
    [
        chat::routes(),
        persona::routes(),
        memory::routes(),
        work::routes(),
        legacy::routes(),
        hub::routes(),
        program::routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
