//! The sections of `config.toml` with their defaults. Doc comments are shown by `echovessel config schema`.

use std::time::Duration;

use llm::ProviderKind;
use memory::recall::{RecallSettings, Signal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::duration::ConfigDuration;
use super::values::{
    ByteSize, EmbeddingProvider, OptionalDuration, SpeechProvider, TranscriptProvider, UtilityPrompts,
    WeekStart,
};

const fn milliseconds(number: u64) -> ConfigDuration {
    ConfigDuration(Duration::from_millis(number))
}

const fn seconds(number: u64) -> ConfigDuration {
    ConfigDuration(Duration::from_secs(number))
}

const fn minutes(number: u64) -> ConfigDuration {
    ConfigDuration(Duration::from_secs(number * 60))
}

const fn hours(number: u64) -> ConfigDuration {
    ConfigDuration(Duration::from_secs(number * 3_600))
}

const fn days(number: u64) -> ConfigDuration {
    ConfigDuration(Duration::from_secs(number * 86_400))
}

/// Declares a section: its keys, their types, their defaults and what they mean, in one place.
macro_rules! section {
    ($(#[$doc:meta])* $name:ident { $($(#[$key_doc:meta])* $key:ident: $kind:ty = $default:expr,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub(crate) struct $name { $($(#[$key_doc])* pub(crate) $key: $kind,)* }

        impl Default for $name {
            fn default() -> Self {
                Self { $($key: $default,)* }
            }
        }
    };
}

section!(
    /// Configuration of an EchoVessel daemon.
    Config {
        /// The HTTP server of the daemon.
        server: Server = Server::default(),
        /// The database, and backups of it.
        storage: Storage = Storage::default(),
        /// Copies of the memory.
        backup: Backup = Backup::default(),
        /// The persona of this daemon.
        persona: Persona = Persona::default(),
        /// The language model that writes replies and memories.
        llm: Llm = Llm::default(),
        /// The model that makes vectors of texts.
        embedding: Embedding = Embedding::default(),
        /// Limits at which a conversation ends and becomes memory.
        session: Session = Session::default(),
        /// Making memories of ended conversations.
        consolidate: Consolidate = Consolidate::default(),
        /// Thinking between sessions: thoughts, expectations and questions out of what has happened.
        slow_cycle: SlowCycle = SlowCycle::default(),
        /// Finding memories for a reply.
        recall: Recall = Recall::default(),
        /// Channels on which people talk with the persona.
        channels: Channels = Channels::default(),
        /// The shared self: documents, diary, roll-ups.
        hub: Hub = Hub::default(),
        /// The hub that this home is an embodiment of.
        sync: Sync = Sync::default(),
        /// Spoken replies and transcribed voice messages.
        voice: Voice = Voice::default(),
        /// Messages that the persona sends proactively.
        proactive: Proactive = Proactive::default(),
        /// The OpenAI API that the daemon offers to chat programs.
        openai: OpenAi = OpenAi::default(),
        /// Limits for each client.
        limits: Limits = Limits::default(),
        /// Traces: data about the making of replies and memories. Receipts are always stored.
        trace: Trace = Trace::default(),
    }
);

section!(
    /// The HTTP server of the daemon.
    Server {
        /// Address to bind. Beyond loopback use TLS, or a proxy that encrypts and `behind_proxy`.
        host: String = "127.0.0.1".to_owned(),
        /// Port; 0 takes any free one, printed and written to `run.json` in the home.
        port: u16 = 7777,
        /// Host names beside 127.0.0.1, localhost and `[::1]` that requests may name.
        allowed_hosts: Vec<String> = Vec::new(),
        /// Certificate chain in PEM; together with `tls_key` it makes the daemon speak TLS.
        tls_cert: String = String::new(),
        /// Key of the certificate in PEM.
        tls_key: String = String::new(),
        /// Set to true behind a reverse proxy: X-Forwarded-* headers are trusted then.
        behind_proxy: bool = false,
        /// URL at which other daemons of the same database reach this one, as `http://10.0.0.7:7777`. If empty: the bound address.
        advertise: String = String::new(),
    }
);

section!(
    /// The database, and backups of it.
    Storage {
        /// `sqlite` for the file in the home, `sqlite:///path`, or `postgres://user@host:port/database`; several hosts are
        /// separated by commas.
        url: String = "sqlite".to_owned(),
        /// Environment variable that holds the password of the database server.
        password_env: String = String::new(),
        /// File that holds this password, as secrets are mounted into containers.
        password_file: String = String::new(),
        /// Connections to the database server, 2 to 1000.
        pool: u16 = 16,
        /// Folder for sound and imported files; if empty, the home. Daemons that share a database need a folder that they share too.
        files: String = String::new(),
    }
);

/// True if an address is that of a database on a server.
pub(crate) fn is_server_url(url: &str) -> bool {
    url.starts_with("postgres://") || url.starts_with("postgresql://")
}

section!(
    /// Copies of the memory.
    Backup {
        /// Interval of automatic backups, as `24h`; empty means none.
        every: OptionalDuration = OptionalDuration::default(),
        /// Backups that stay in the folder, the newest; at least 1.
        keep: u32 = 7,
        /// Folder of the backups; empty means `backups` in the home.
        dir: String = String::new(),
    }
);

section!(
    /// The persona of this daemon.
    Persona {
        /// Id of the persona that answers when a request names none.
        id: String = "default".to_owned(),
        /// The persona's first name; afterwards the database holds it.
        display_name: String = "Echo".to_owned(),
    }
);

section!(
    /// The language model that writes replies and memories.
    Llm {
        /// `auto` (a local Ollama or LM Studio, else offline), `openai`, `anthropic` or `offline`.
        provider: ProviderKind = ProviderKind::Auto,
        /// Endpoint; for `openai` as customary with `/v1`, for `anthropic` the root.
        base_url: String = String::new(),
        /// Environment variable that holds the key; empty means the provider's customary one.
        api_key_env: String = String::new(),
        /// One model for everything; empty means the provider's default for each tier.
        model: String = String::new(),
        /// A model for each tier.
        models: LlmModels = LlmModels::default(),
        /// Time limit of a whole call.
        timeout: ConfigDuration = seconds(60),
        /// Time limit up to the first token of a reply.
        first_token_timeout: ConfigDuration = seconds(30),
        /// Retries of a call that failed for a passing reason.
        max_retries: u32 = 3,
        /// Sampling temperature of replies, from 0 to 2. It is not sent to models that reject it.
        temperature: f64 = 0.7,
        /// Most tokens of a reply, with those that a model thinks in: 64 to 32000.
        max_tokens: u32 = 4096,
        /// Most tokens of a reply's prompt: 1000 to 1000000. 0 is 8000, or where a model server on this machine chooses the model and says what it takes, three quarters of that, between 1000 and 32000.
        context_tokens: u32 = 0,
        /// Prices of models in US dollars per million tokens, for the cost ledger: `[{ model = "name", input = 0.4, output
        /// = 1.6, cached = 0.1 }]`. A dated release is found by its family's name.
        prices: Vec<LlmPrice> = Vec::new(),
        /// US dollars a day from which work in the background (memory, thinking, roll-ups) waits for the next day; replies go on. 0 is no cap. Counts calls whose model has a price.
        daily_spend_cap: f64 = 0.0,
    }
);

section!(
    /// Price of a model, in US dollars per million tokens.
    LlmPrice {
        /// The model's name, as the ledger shows it.
        model: String = String::new(),
        /// Tokens of the request.
        input: f64 = 0.0,
        /// Tokens of the answer.
        output: f64 = 0.0,
        /// Price of input tokens that the provider had cached; the price of input tokens if it is not set.
        cached: Option<f64> = None,
    }
);

section!(
    /// A model for each tier.
    LlmModels {
        /// Model for extraction, imports and drafts.
        small: String = String::new(),
        /// Reflection, slow cycle, roll-ups.
        medium: String = String::new(),
        /// Model for the conversation itself.
        large: String = String::new(),
    }
);

section!(
    /// The model that makes vectors of texts.
    Embedding {
        /// `local`, `openai` (any OpenAI-compatible endpoint) or `none`: words alone.
        provider: EmbeddingProvider = EmbeddingProvider::Local,
        /// Folder of the local model; empty means `models/` and its name in the home.
        model_dir: String = String::new(),
        /// For `openai`: the endpoint, with `/v1`; empty means OpenAI's own.
        base_url: String = String::new(),
        /// For `openai`: the model to ask for. For `local`: `multilingual-e5-small` or `all-MiniLM-L6-v2`; empty means the
        /// first of them that is there.
        model: String = String::new(),
        /// For `openai`: environment variable that holds the key.
        api_key_env: String = "OPENAI_API_KEY".to_owned(),
        /// For `openai`: permits plain http to another machine, in a network you trust.
        allow_insecure_http: bool = false,
        /// Put before a text that is looked for; `auto` means what the model's folder says, else nothing.
        query_prefix: String = "auto".to_owned(),
        /// Put before a text that is to be found; `auto` means what the model's folder says, else nothing.
        passage_prefix: String = "auto".to_owned(),
        /// Scripts that the model reads, by Unicode's names (`Latin`, `Han`); empty means what a local model's vocabulary
        /// says, and every script for an endpoint.
        readable_scripts: Vec<String> = Vec::new(),
    }
);

section!(
    /// Limits at which a conversation ends and becomes memory.
    Session {
        /// Silence after which a session ends.
        idle: ConfigDuration = minutes(30),
        /// Interval of the scan for quiet conversations.
        scan_every: ConfigDuration = seconds(60),
        /// Number of messages after which a session ends.
        max_messages: u32 = 200,
        /// Number of tokens after which a session ends.
        max_tokens: u64 = 20_000,
        /// Age up to which a turn that a crash interrupted is still answered.
        answer_within: ConfigDuration = minutes(10),
    }
);

section!(
    /// Making memories of ended conversations.
    Consolidate {
        /// Interval of the scan for ended conversations; the end of one also starts the work.
        poll_every: ConfigDuration = seconds(5),
        /// Retries of a session before it is `failed`.
        max_retries: u32 = 3,
        /// Fewer messages than this make a session short.
        trivial_message_count: usize = 3,
        /// Fewer tokens than this make a session short.
        trivial_token_count: u64 = 200,
        /// Distinct content words of the user from which a short session still counts; a third of them in one sentence do too.
        trivial_user_terms: usize = 12,
        /// Reflections in 24 hours at which no more are made.
        reflection_hard_gate_24h: usize = 3,
        /// Keywords beside the built-in ones that always make a session count.
        strong_emotion_words: Vec<String> = Vec::new(),
    }
);

section!(
    /// Thinking between sessions: thoughts, expectations and questions out of what has happened.
    SlowCycle {
        /// Set to false to turn the slow cycle off.
        enabled: bool = true,
        /// Rest between two cycles; a shock or a correction waives it.
        cool_down: ConfigDuration = minutes(30),
        /// Cycles a day, for each persona and user.
        daily_cycles: u32 = 36,
        /// Tokens a day that cycles may send, for each persona and user.
        daily_input_tokens: u64 = 150_000,
        /// Tokens a day that cycles may receive, for each persona and user.
        daily_output_tokens: u64 = 30_000,
    }
);

section!(
    /// Finding memories for a reply.
    Recall {
        /// Memories that go into a prompt.
        k: usize = 10,
        /// Messages of the recent window.
        recent_window: u32 = 20,
        /// Relevance below which a memory stays out, and that one of the verbatim passages must have.
        min_relevance: f64 = 0.4,
        /// Weight of recency in the score.
        weight_recency: f64 = 0.5,
        /// Weight of relevance in the score.
        weight_relevance: f64 = 3.0,
        /// Weight of |impact| in the score.
        weight_impact: f64 = 2.0,
        /// Weight of relational tags and paths.
        weight_relational: f64 = 1.0,
        /// Weight of a named entity.
        weight_entity_anchor: f64 = 1.5,
        /// Age at which recency has halved.
        half_life: ConfigDuration = days(14),
        /// Lowest score of a memory that matches a message; if none does, the prompt says that nothing was found.
        min_support: f64 = RecallSettings::default().min_support,
        /// Weights of the signals by which earlier messages are ranked; `echovessel-eval tune` fits them on data.
        message_weights: RecallMessageWeights = RecallMessageWeights::default(),
        /// The day on which an English week begins ("last week"): monday or sunday. A Chinese one begins on Monday.
        week_start: WeekStart = WeekStart::Monday,
    }
);

section!(
    /// Channels on which people talk with the persona.
    Channels {
        /// The page in the browser.
        web: WebChannel = WebChannel::default(),
        /// Direct messages on Discord, and mentions in servers.
        discord: DiscordChannel = DiscordChannel::default(),
        /// Direct messages on Telegram.
        telegram: TelegramChannel = TelegramChannel::default(),
    }
);

section!(
    /// The page in the browser.
    WebChannel {
        /// Delay before a reply, so that several messages in a row are answered together.
        debounce: ConfigDuration = milliseconds(2_000),
    }
);

section!(
    /// Direct messages on Discord, and mentions in servers. Accounts are linked to users by `echovessel channel link discord`.
    DiscordChannel {
        /// Set to true to turn the channel on.
        enabled: bool = false,
        /// Environment variable that holds the bot's token.
        token_env: String = "ECHOVESSEL_DISCORD_TOKEN".to_owned(),
        /// Ids of accounts that may write without a code, as texts; each is a user of its own.
        allowed_user_ids: Vec<String> = Vec::new(),
        /// Delay before a reply, so that several messages in a row are answered together.
        debounce: ConfigDuration = milliseconds(2_000),
        /// Address of the API; empty means the platform's own.
        api_base: String = String::new(),
        /// Address of the gateway; empty means the one that the API answers.
        gateway_url: String = String::new(),
    }
);

section!(
    /// Direct messages on Telegram. Accounts are linked to users by `echovessel channel link telegram`.
    TelegramChannel {
        /// Set to true to turn the channel on.
        enabled: bool = false,
        /// Environment variable that holds the bot's token.
        token_env: String = "ECHOVESSEL_TELEGRAM_TOKEN".to_owned(),
        /// Ids of accounts that may write without a code, as texts; each is a user of its own.
        allowed_user_ids: Vec<String> = Vec::new(),
        /// Delay before a reply, so that several messages in a row are answered together.
        debounce: ConfigDuration = milliseconds(2_000),
        /// Address of the Bot API; empty means the platform's own.
        api_base: String = String::new(),
    }
);

section!(
    /// Spoken replies and transcribed voice messages.
    Voice {
        /// Set to true to turn voice on; each persona has its own switch in addition.
        enabled: bool = false,
        /// Provider of speech: `none`, `command`, `openai` (any endpoint with /v1/audio/speech) or `fishaudio`.
        tts_provider: SpeechProvider = SpeechProvider::None,
        /// Address of who speaks, as `http://127.0.0.1:8880/v1`; empty means the provider's own.
        tts_base_url: String = String::new(),
        /// Model that speaks; empty means the provider's customary one.
        tts_model: String = String::new(),
        /// Voice of sentences for which no other is set, as the provider names it.
        tts_voice: String = String::new(),
        /// Voices by the language of the sentence.
        tts_voices: LanguageVoices = LanguageVoices::default(),
        /// Environment variable that holds the key of who speaks.
        tts_api_key_env: String = "FISH_API_KEY".to_owned(),
        /// Program that speaks: text on standard input, WAV on standard output; `{voice}` becomes the voice.
        tts_command: Vec<String> = Vec::new(),
        /// Provider of transcription: `none`, `command` or `openai` (any endpoint with /v1/audio/transcriptions).
        stt_provider: TranscriptProvider = TranscriptProvider::None,
        /// Address of who hears; empty means the provider's own.
        stt_base_url: String = String::new(),
        /// Model that hears; empty means the provider's customary one.
        stt_model: String = String::new(),
        /// Environment variable that holds the key of who hears.
        stt_api_key_env: String = "OPENAI_API_KEY".to_owned(),
        /// Program that hears: the path of a WAV file is appended, the transcript is read from standard output.
        stt_command: Vec<String> = Vec::new(),
        /// Set to true to store recordings with their messages; they are deleted together.
        keep_recordings: bool = false,
    }
);

section!(
    /// Voices by the language of the sentence; empty means `tts_voice`.
    LanguageVoices {
        /// Voice of Chinese sentences.
        zh: String = String::new(),
        /// Voice of English sentences, and of those in other languages than Chinese.
        en: String = String::new(),
    }
);

section!(
    /// The shared self: documents, diary, roll-ups.
    Hub {
        /// Name of this instance; empty means the host name, made safe.
        instance: String = String::new(),
        /// Time of day at which ended days, weeks and months are summarised, in the persona's time zone.
        rollup_at: String = "05:00".to_owned(),
        /// Set to false to skip summaries that were missed while the daemon was off.
        catch_up: bool = true,
        /// Set to false to turn off the extraction of facts for the graph: one request to the small model after each
        /// conversation with memories. Without a model nothing is extracted.
        graph_facts: bool = true,
        /// Period after which snapshots are deleted.
        snapshot_retention: ConfigDuration = days(30),
        /// Set to true to let a token that is bound to one user read documents of the category `custom`, which all users
        /// share.
        users_read_custom: bool = false,
    }
);

section!(
    /// Documents that several instances write.
    Sync {
        /// The address of the hub, such as `https://home.example:7777`; empty for a home that is nobody's embodiment.
        /// `echovessel sync connect` sets it.
        url: String = String::new(),
        /// Instead of `url`: a program that is started as the hub and speaks MCP over its standard input and output, with its arguments.
        command: Vec<String> = Vec::new(),
        /// The environment variable with the token of this embodiment. Without it the token that `echovessel sync connect` has
        /// stored is used.
        token_env: String = "ECHOVESSEL_HUB_TOKEN".to_owned(),
        /// A file with the certificate, in PEM form, of an authority that is trusted beside those of the system.
        ca_file: String = String::new(),
        /// The longest time between two exchanges; changes here are sent after two seconds.
        push_every: ConfigDuration = minutes(5),
        /// Instances whose version is shown first among concurrent ones.
        instance_priority: Vec<String> = Vec::new(),
    }
);

section!(
    /// Messages that the persona sends proactively. Without a language model it only speaks of what is due.
    Proactive {
        /// Set to true to turn proactive messages on.
        enabled: bool = false,
        /// Interval of the checks for an occasion.
        tick: ConfigDuration = minutes(1),
        /// First hour of the night in the user's zone, 0 to 23: no messages from here.
        quiet_hours_start: i8 = 23,
        /// First hour after it, 0 to 23; the same as the start means no quiet hours.
        quiet_hours_end: i8 = 7,
        /// Most messages to one user in any 24 hours.
        max_per_24h: u32 = 3,
        /// Unanswered messages after which the persona waits for the user; 0 never waits.
        cold_user_threshold: u32 = 2,
        /// Time without an answer to a message after which no further one is sent.
        cold_user_response_window: ConfigDuration = hours(6),
        /// Silence of the user that is an occasion by itself.
        long_silence: ConfigDuration = hours(48),
        /// Set to false to send them as text only, where replies are spoken.
        use_voice: bool = true,
    }
);

section!(
    /// Weights of the ranking of messages. Only their ratios matter.
    RecallMessageWeights {
        /// The message has the words of the question.
        words: f64 = Signal::Words.default_weight(),
        /// The message is near to the question in meaning.
        meaning: f64 = Signal::Meaning.default_weight(),
        /// The messages around it share words with the question.
        topic_words: f64 = Signal::TopicWords.default_weight(),
        /// The messages around it mean the same as the question.
        topic_meaning: f64 = Signal::TopicMeaning.default_weight(),
        /// The message is by the speaker whom the question names.
        speaker: f64 = Signal::Speaker.default_weight(),
        /// The message was said at the time that the question names.
        time: f64 = Signal::Time.default_weight(),
        /// Weight of a message that tells a time if the question asks for one.
        tells_when: f64 = Signal::TellsWhen.default_weight(),
        /// The message is a question.
        asks: f64 = Signal::Asks.default_weight(),
        /// The message follows a question.
        answers: f64 = Signal::Answers.default_weight(),
    }
);

section!(
    /// The OpenAI API that the daemon offers to chat programs.
    OpenAi {
        /// Treatment of prompts that a chat program writes by itself (titles, tags, suggestions): `refuse`, or `answer` by
        /// the small model at the owner's cost. Neither is stored.
        utility_prompts: UtilityPrompts = UtilityPrompts::Refuse,
    }
);

section!(
    /// Limits for each client.
    Limits {
        /// Maximum duration of one turn.
        turn_timeout: ConfigDuration = seconds(120),
        /// Maximum size of a request body.
        body: ByteSize = ByteSize::mebibytes(1),
        /// Memory that the vectors of active users may take; those not used for longest give way.
        vector_memory: ByteSize = ByteSize::mebibytes(256),
        /// Largest upload. Not implemented in this version: another value is an error.
        upload: ByteSize = ByteSize::mebibytes(50),
        /// Requests a second of one token or address, in the long run; 0 limits nothing. The owner on this machine is not limited.
        requests_per_second: u32 = 50,
        /// Requests at once of one token or address.
        burst: u32 = 200,
        /// Replies that one named token may ask for in a day; 0 limits nothing.
        turns_per_day: u64 = 5_000,
        /// Maximum cost of a named token's replies per day, in US dollars by llm.prices; 0 means no limit.
        usd_per_day: f64 = 0.0,
    }
);

section!(
    /// Traces: data about the making of replies and memories. Receipts are always stored.
    Trace {
        /// Set to false to store no new traces of turns, sessions and slow cycles.
        enabled: bool = true,
        /// Age at which they are deleted; looked for at start and once an hour.
        retention: ConfigDuration = days(14),
    }
);
