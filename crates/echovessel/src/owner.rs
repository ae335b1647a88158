//! The credential by which the daemon recognises its owner: a token, or only its digest.

use anyhow::Context as _;
use server::{TokenError, Tokens};
use sha2::{Digest as _, Sha256};

use crate::system::random_bytes;

/// The variable with the digest of the owner's token, for installations that keep no secret in the environment.
pub(crate) const TOKEN_HASH: &str = "ECHOVESSEL_TOKEN_HASH";
/// Prefix of a token's digest. A token of 32 random bytes needs no slow hash.
const SHA_256: &str = "sha256:";

/// Credential that proves the owner's identity.
pub(crate) enum OwnerCredential {
    Token(String),
    /// Digest of the token (SHA-256).
    Digest([u8; 32]),
}

impl OwnerCredential {
    /// SHA-256 of the token.
    pub(crate) fn digest(&self) -> [u8; 32] {
        match self {
            Self::Token(token) => Sha256::digest(token).into(),
            Self::Digest(digest) => *digest,
        }
    }

    /// The tokens that the server accepts.
    pub(crate) fn tokens(&self) -> Result<Tokens, TokenError> {
        let random = Box::new(random_bytes);
        match self {
            Self::Token(token) => Tokens::new(token, random),
            Self::Digest(digest) => Ok(Tokens::of_digest(*digest, random)),
        }
    }
}

/// The value of `ECHOVESSEL_TOKEN_HASH` for this token.
pub(crate) fn token_hash(token: &str) -> String {
    format!("{SHA_256}{}", hex::encode(Sha256::digest(token)))
}

/// Parses the output of [`token_hash`].
pub(crate) fn read_token_hash(text: &str) -> anyhow::Result<[u8; 32]> {
    let digest = text.strip_prefix(SHA_256).and_then(|digits| hex::decode(digits).ok());
    digest.and_then(|digest| digest.try_into().ok()).with_context(|| {
        format!(
            "{TOKEN_HASH} must be `{SHA_256}` and 64 hexadecimal digits; `echovessel token hash` prints one"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_read_as_it_is_written() {
        let hash = token_hash("abc");
        assert_eq!(hash, "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(read_token_hash(&hash).unwrap().to_vec(), Sha256::digest("abc").to_vec());
        for wrong in
            ["", "abc", "sha256:", "sha256:00", "sha512:00", &hash[..hash.len() - 1], &format!("{hash}0")]
        {
            let error = read_token_hash(wrong).unwrap_err().to_string();
            assert!(error.contains("echovessel token hash"), "{error}");
        }
    }
}
