//! Addresses of platforms. A token is sent to another machine only over TLS.

use reqwest::Url;

/// Why an address can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AddressError {
    #[error("not an address: {0}")]
    Malformed(String),
    #[error("it must begin with https:// (wss:// for a gateway) unless it is on this machine")]
    NotEncrypted,
}

/// Returns the address with its scheme as `ws` or `wss`, if a token may be sent to it.
pub(crate) fn check_address(text: &str) -> Result<Url, AddressError> {
    let text = match text.split_once("://") {
        Some(("ws", rest)) => format!("http://{rest}"),
        Some(("wss", rest)) => format!("https://{rest}"),
        _ => text.to_owned(),
    };
    let url = Url::parse(&text).map_err(|error| AddressError::Malformed(error.to_string()))?;
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let is_here =
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_here => Ok(url),
        "http" => Err(AddressError::NotEncrypted),
        other => Err(AddressError::Malformed(format!("the scheme {other} is not http or https"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_leaves_this_machine_only_encrypted() {
        for good in
            ["https://discord.com/api", "wss://gateway.discord.gg", "http://127.0.0.1:80", "ws://[::1]:5"]
        {
            assert!(check_address(good).is_ok(), "{good}");
        }
        assert_eq!(check_address("ws://gateway.example"), Err(AddressError::NotEncrypted));
        assert_eq!(check_address("http://10.0.0.1"), Err(AddressError::NotEncrypted));
        assert!(matches!(check_address("file:///x"), Err(AddressError::Malformed(_))));
        assert!(matches!(check_address("nothing"), Err(AddressError::Malformed(_))));
    }
}
