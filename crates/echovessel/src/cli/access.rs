//! Arguments of the commands about tokens, logins and the audit log.

use clap::Subcommand;
use memory::access::AccessScope;

use crate::config::ConfigDuration;

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Print the owner's token
    Show,
    /// Create a one-time link to the web UI of the running daemon
    Link,
    /// Create a token for a program or another user; it is printed once and not stored
    #[command(
        after_help = "Examples:\n  echovessel token create --scope chat --user ann --name ann-phone\n  echovessel token create --scope openai,chat --for 30d"
    )]
    Create {
        /// Scopes of the token: chat, chat:read, admin, admin:read, metrics, openai, hub:INSTANCE
        #[arg(long = "scope", required = true, value_delimiter = ',', value_name = "SCOPE")]
        scopes: Vec<AccessScope>,
        /// Name of the token in lists and in the audit log
        #[arg(long)]
        name: Option<String>,
        /// The only user that it may act for; default: all users
        #[arg(long, value_name = "ID")]
        user: Option<String>,
        /// Lifetime, such as 12h or 30d; default: until it is revoked
        #[arg(long = "for", value_name = "TIME")]
        valid_for: Option<ConfigDuration>,
        /// Maximum number of open streams; default 16
        #[arg(long, value_name = "N")]
        streams: Option<u32>,
        /// Maximum number of users that it may create, unless it is bound to one; default 100
        #[arg(long, value_name = "N")]
        users: Option<u32>,
    },
    /// Create an owner's token and its hash, for a daemon with the hash in ECHOVESSEL_TOKEN_HASH; nothing is stored
    Hash,
    /// List the named tokens
    List,
    /// Revoke a token at once
    Revoke {
        /// Name of the token
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum LoginsCommand {
    /// List logged-in browsers, last seen first (the default)
    List,
    /// Log a browser out at once
    #[command(
        after_help = "Examples:\n  echovessel logins end 3f9a0c5d7e1b2a48\n  echovessel logins end --all"
    )]
    End {
        /// Id of the login
        #[arg(required_unless_present = "all")]
        id: Option<String>,
        /// Log every browser out
        #[arg(long, conflicts_with = "id")]
        all: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Print all entries as JSON lines, oldest first
    #[command(after_help = "Example:\n  echovessel audit export > audit.jsonl")]
    Export,
}
