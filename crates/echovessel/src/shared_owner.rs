//! The owner's token of a home that several daemons share.

use anyhow::bail;
use store::HomeState;

use crate::home::Home;
use crate::owner::{OwnerCredential, TOKEN_HASH};
use crate::system::random_bytes;

/// The owner's credential for a home that daemons share: all of them accept one token. A machine without a token
/// takes over the one that the others use.
///
/// # Errors
///
/// If the environment names another token than the running daemons use.
pub(crate) fn shared_owner(home: &Home, state: &HomeState) -> anyhow::Result<OwnerCredential> {
    let Some(access) = &state.access else { return home.owner_credential(random_bytes) };
    let own = match home.owner_from_environment()? {
        Some(given) => Some(given),
        None => home.stored_token()?.map(OwnerCredential::Token),
    };
    match own {
        Some(own) if hex::encode(own.digest()) == access.owner_digest => return Ok(own),
        // The first daemon determines the token for later ones.
        Some(own) if !state.is_held => return Ok(own),
        Some(_) if home.owner_from_environment()?.is_some() => bail!(
            "the owner's token in the environment of this daemon is not the one that the other daemons of this home use. Give all \
             of them the same ECHOVESSEL_TOKEN or {TOKEN_HASH}, or unset it here. Nothing was changed"
        ),
        _ => {}
    }
    let Some(token) = &access.owner_token else {
        bail!(
            "the other daemons of this home know only the hash of the owner's token; set {TOKEN_HASH} here too, as it is set there. \
             Nothing was changed"
        );
    };
    home.write_token(token)?;
    tracing::info!("this home now uses the owner's token of the other daemons");
    Ok(OwnerCredential::Token(token.clone()))
}
