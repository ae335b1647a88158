//! Access control: the owner's token, named tokens and their scopes, the login link, rate limits, and the checks that
//! refuse pages of other sites.

pub(crate) mod principal;
mod identity;
pub(crate) mod tokens;
pub(crate) mod named;
pub(crate) mod limits;
pub(crate) mod turn_counts;
pub(crate) mod refusals;
pub(crate) mod client;
pub(crate) mod admission;
pub(crate) mod quota;
pub(crate) mod login;
pub(crate) mod logins;
pub(crate) mod host;
pub(crate) mod origin;

pub(crate) use admission::{Admin, authorize, is_guarded};
pub use named::{NewToken, NewTokenError, make_token};
pub(crate) use principal::Principal;
pub use tokens::{LoginCode, Random, TokenError, Tokens};
