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
        /// Backups of the memory.
        backup: Backup = Backup::default(),
        /// The persona of this daemon.
        persona: Persona = Persona::default(),
        /// The language model that writes replies and memories.
        llm: Llm = Llm::default(),
        /// The model that computes vectors of texts.
        embedding: Embedding = Embedding::default(),
        /// Limits at which a conversation ends. Memories are created from ended conversations.
        session: Session = Session::default(),
        /// Creating memories from ended conversations.
        consolidate: Consolidate = Consolidate::default(),
        /// Thinking between sessions: thoughts, expectations and questions based on recent events.
        slow_cycle: SlowCycle = SlowCycle::default(),
        /// Finding memories for a reply.
        recall: Recall = Recall::default(),
        /// Channels for conversations with the persona.
        channels: Channels = Channels::default(),
        /// The hub: documents, diary and roll-ups that several programs share.
        hub: Hub = Hub::default(),
        /// The hub that this home follows.
        sync: Sync = Sync::default(),
        /// Spoken replies, and transcription of voice messages.
        voice: Voice = Voice::default(),
        /// Messages that the persona sends proactively.
        proactive: Proactive = Proactive::default(),
        /// The OpenAI-compatible API for chat programs.
        openai: OpenAi = OpenAi::default(),
        /// Limits of requests and replies per client.
        limits: Limits = Limits::default(),
        /// Traces: steps of replies and of memory creation. Receipts are always stored.
        trace: Trace = Trace::default(),
    }
);

section!(
    /// The HTTP server of the daemon.
    Server {
        /// Address to bind. Beyond loopback, use TLS, or a TLS proxy with `behind_proxy`.
        host: String = "127.0.0.1".to_owned(),
        /// Port; 0 chooses a free one, which is printed and written to `run.json` in the home.
        port: u16 = 7777,
        /// Host names that requests may use, in addition to 127.0.0.1, localhost and `[::1]`.
        allowed_hosts: Vec<String> = Vec::new(),
        /// Certificate chain in PEM. Together with `tls_key` it enables TLS.
        tls_cert: String = String::new(),
        /// Private key of the certificate in PEM.
        tls_key: String = String::new(),
        /// Set to true behind a reverse proxy, to trust its X-Forwarded-* headers.
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
        /// Environment variable with the password of the database server.
        password_env: String = String::new(),
        /// File with the password, for secrets that are mounted into containers.
        password_file: String = String::new(),
        /// Maximum connections to the database server, 2 to 1000; opened as they are needed.
        pool: u16 = 16,
        /// Folder for sound and imported files; if empty, the home. Daemons that share a database must share this folder.
        files: String = String::new(),
    }
);

/// True if an address is that of a database on a server.
pub(crate) fn is_server_url(url: &str) -> bool {
    url.starts_with("postgres://") || url.starts_with("postgresql://")
}

section!(
    /// Backups of the memory.
    Backup {
        /// Interval of automatic backups, such as `24h`; empty switches them off.
        every: OptionalDuration = OptionalDuration::default(),
        /// Number of newest backups to keep in the folder, at least 1.
        keep: u32 = 7,
        /// Folder for backups; if empty, `backups` in the home.
        dir: String = String::new(),
    }
);

section!(
    /// The persona of this daemon.
    Persona {
        /// Id of the persona for requests that name none.
        id: String = "default".to_owned(),
        /// Name of a new persona. Later changes are stored in the database.
        display_name: String = "Echo".to_owned(),
    }
);

section!(
    /// The language model that writes replies and memories.
    Llm {
        /// `auto` (a local Ollama or LM Studio, else offline), `openai`, `anthropic` or `offline`.
        provider: ProviderKind = ProviderKind::Auto,
        /// URL of the endpoint; for `openai` with `/v1`, for `anthropic` without a path.
        base_url: String = String::new(),
        /// Environment variable with the API key; if empty, the usual one of the provider.
        api_key_env: String = String::new(),
        /// One model for all tasks; if empty, the provider's default for each tier.
        model: String = String::new(),
        /// A model for each tier.
        models: LlmModels = LlmModels::default(),
        /// Time limit for a whole call.
        timeout: ConfigDuration = seconds(60),
        /// Time limit for the first token of a reply.
        first_token_timeout: ConfigDuration = seconds(30),
        /// Retries after a temporary failure.
        max_retries: u32 = 3,
        /// Sampling temperature of replies, from 0 to 2. It is not sent to models that reject it.
        temperature: f64 = 0.7,
        /// Maximum tokens of a reply, including reasoning tokens: 64 to 32000.
        max_tokens: u32 = 4096,
        /// Maximum tokens of a prompt: 1000 to 1000000. 0 means 8000, or for a local model server that reports its context size, three quarters of that, between 1000 and 32000.
        context_tokens: u32 = 0,
        /// Prices of models in US dollars per million tokens, for the cost ledger: `[{ model = "name", input = 0.4, output
        /// = 1.6, cached = 0.1 }]`. The price of a model also applies to its dated releases.
        prices: Vec<LlmPrice> = Vec::new(),
        /// Daily spending cap in US dollars: once reached, background work (memory, thinking, roll-ups) waits for the next day, while replies continue. 0 means no cap. Counts calls of models that have a price.
        daily_spend_cap: f64 = 0.0,
    }
);

section!(
    /// Price of a model, in US dollars per million tokens.
    LlmPrice {
        /// Name of the model, as in the cost ledger.
        model: String = String::new(),
        /// Price of input tokens.
        input: f64 = 0.0,
        /// Price of output tokens.
        output: f64 = 0.0,
        /// Price of cached input tokens; if not set, that of input tokens.
        cached: Option<f64> = None,
    }
);

section!(
    /// A model for each tier.
    LlmModels {
        /// Model for extraction, imports and drafts.
        small: String = String::new(),
        /// Model for reflection, slow cycles and roll-ups.
        medium: String = String::new(),
        /// Model for the conversation itself.
        large: String = String::new(),
    }
);

section!(
    /// The model that computes vectors of texts.
    Embedding {
        /// `local`, `openai` (any OpenAI-compatible endpoint) or `none` (search by words only).
        provider: EmbeddingProvider = EmbeddingProvider::Local,
        /// Folder of the local model; if empty, its folder under `models/` in the home.
        model_dir: String = String::new(),
        /// For `openai`: URL of the endpoint, with `/v1`; if empty, OpenAI's.
        base_url: String = String::new(),
        /// For `openai`: name of the model. For `local`: `multilingual-e5-small` or `all-MiniLM-L6-v2`; if empty, the
        /// first of them that is installed.
        model: String = String::new(),
        /// For `openai`: environment variable with the API key.
        api_key_env: String = "OPENAI_API_KEY".to_owned(),
        /// For `openai`: set to true to allow plain http to another machine, in a network that you trust.
        allow_insecure_http: bool = false,
        /// Prefix of queries; `auto` uses the one in the model's folder, if any.
        query_prefix: String = "auto".to_owned(),
        /// Prefix of texts to be found; `auto` uses the one in the model's folder, if any.
        passage_prefix: String = "auto".to_owned(),
        /// Scripts that the model reads, by Unicode names (`Latin`, `Han`); if empty, those in the vocabulary of a local model,
        /// and all scripts for an endpoint.
        readable_scripts: Vec<String> = Vec::new(),
    }
);

section!(
    /// Limits at which a conversation ends. Memories are created from ended conversations.
    Session {
        /// Silence after which a session ends.
        idle: ConfigDuration = minutes(30),
        /// Interval of the check for idle conversations.
        scan_every: ConfigDuration = seconds(60),
        /// Maximum number of messages in a session.
        max_messages: u32 = 200,
        /// Maximum number of tokens in a session.
        max_tokens: u64 = 20_000,
        /// Maximum age of a turn that is still answered after a crash.
        answer_within: ConfigDuration = minutes(10),
    }
);

section!(
    /// Creating memories from ended conversations.
    Consolidate {
        /// Interval of the check for ended conversations. The end of a conversation also starts the work.
        poll_every: ConfigDuration = seconds(5),
        /// Retries of a session before it is `failed`.
        max_retries: u32 = 3,
        /// Fewer messages than this make a session short.
        trivial_message_count: usize = 3,
        /// Fewer tokens than this make a session short.
        trivial_token_count: u64 = 200,
        /// Number of distinct content words of the user with which a short session is still remembered; a third of them in one sentence is also enough.
        trivial_user_terms: usize = 12,
        /// Maximum number of reflections in 24 hours.
        reflection_hard_gate_24h: usize = 3,
        /// Additional keywords with which a session is always remembered.
        strong_emotion_words: Vec<String> = Vec::new(),
    }
);

section!(
    /// Thinking between sessions: thoughts, expectations and questions based on recent events.
    SlowCycle {
        /// Set to false to turn the slow cycle off.
        enabled: bool = true,
        /// Minimum time between two cycles. A shock or a correction starts one earlier.
        cool_down: ConfigDuration = minutes(30),
        /// Maximum cycles per day, for each persona and user.
        daily_cycles: u32 = 36,
        /// Maximum input tokens of cycles per day, for each persona and user.
        daily_input_tokens: u64 = 150_000,
        /// Maximum output tokens of cycles per day, for each persona and user.
        daily_output_tokens: u64 = 30_000,
    }
);

section!(
    /// Finding memories for a reply.
    Recall {
        /// Maximum number of memories in a prompt.
        k: usize = 10,
        /// Number of recent messages in a prompt.
        recent_window: u32 = 20,
        /// Minimum relevance of a memory, and of the best verbatim passage.
        min_relevance: f64 = 0.4,
        /// Weight of recency in the score.
        weight_recency: f64 = 0.5,
        /// Weight of relevance in the score.
        weight_relevance: f64 = 3.0,
        /// Weight of the absolute impact in the score.
        weight_impact: f64 = 2.0,
        /// Weight of relational tags and paths in the score.
        weight_relational: f64 = 1.0,
        /// Weight of a named entity in the score.
        weight_entity_anchor: f64 = 1.5,
        /// Age at which the recency of a memory is one half.
        half_life: ConfigDuration = days(14),
        /// Minimum score of a match. If no memory reaches it, the prompt says that nothing was found.
        min_support: f64 = RecallSettings::default().min_support,
        /// Weights for ranking earlier messages; `echovessel-eval tune` fits them on data.
        message_weights: RecallMessageWeights = RecallMessageWeights::default(),
        /// First day of the week in English ("last week"): monday or sunday. In Chinese it is Monday.
        week_start: WeekStart = WeekStart::Monday,
    }
);

section!(
    /// Channels for conversations with the persona.
    Channels {
        /// The web UI in the browser.
        web: WebChannel = WebChannel::default(),
        /// Direct messages on Discord, and mentions in servers.
        discord: DiscordChannel = DiscordChannel::default(),
        /// Direct messages on Telegram.
        telegram: TelegramChannel = TelegramChannel::default(),
    }
);

section!(
    /// The web UI in the browser.
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
        /// Environment variable with the bot's token.
        token_env: String = "ECHOVESSEL_DISCORD_TOKEN".to_owned(),
        /// Ids of accounts that may write without a code, as strings; each is a separate user.
        allowed_user_ids: Vec<String> = Vec::new(),
        /// Delay before a reply, so that several messages in a row are answered together.
        debounce: ConfigDuration = milliseconds(2_000),
        /// URL of the API; if empty, the platform's.
        api_base: String = String::new(),
        /// URL of the gateway; if empty, the one that the API returns.
        gateway_url: String = String::new(),
    }
);

section!(
    /// Direct messages on Telegram. Accounts are linked to users by `echovessel channel link telegram`.
    TelegramChannel {
        /// Set to true to turn the channel on.
        enabled: bool = false,
        /// Environment variable with the bot's token.
        token_env: String = "ECHOVESSEL_TELEGRAM_TOKEN".to_owned(),
        /// Ids of accounts that may write without a code, as strings; each is a separate user.
        allowed_user_ids: Vec<String> = Vec::new(),
        /// Delay before a reply, so that several messages in a row are answered together.
        debounce: ConfigDuration = milliseconds(2_000),
        /// URL of the Bot API; if empty, the platform's.
        api_base: String = String::new(),
    }
);

section!(
    /// Spoken replies, and transcription of voice messages.
    Voice {
        /// Set to true to turn voice on; each persona has its own switch in addition.
        enabled: bool = false,
        /// Provider of speech: `none`, `command`, `openai` (any endpoint with /v1/audio/speech) or `fishaudio`.
        tts_provider: SpeechProvider = SpeechProvider::None,
        /// URL of the speech provider, such as `http://127.0.0.1:8880/v1`; if empty, the provider's own.
        tts_base_url: String = String::new(),
        /// Model for speech; if empty, the provider's default.
        tts_model: String = String::new(),
        /// Default voice, as the provider names it.
        tts_voice: String = String::new(),
        /// Voices by the language of a sentence.
        tts_voices: LanguageVoices = LanguageVoices::default(),
        /// Environment variable with the API key for speech.
        tts_api_key_env: String = "FISH_API_KEY".to_owned(),
        /// Command for speech: reads text on standard input and writes WAV on standard output; `{voice}` is replaced by the voice.
        tts_command: Vec<String> = Vec::new(),
        /// Provider of transcription: `none`, `command` or `openai` (any endpoint with /v1/audio/transcriptions).
        stt_provider: TranscriptProvider = TranscriptProvider::None,
        /// URL of the transcription provider; if empty, the provider's own.
        stt_base_url: String = String::new(),
        /// Model for transcription; if empty, the provider's default.
        stt_model: String = String::new(),
        /// Environment variable with the API key for transcription.
        stt_api_key_env: String = "OPENAI_API_KEY".to_owned(),
        /// Command for transcription: the path of a WAV file is appended, and the transcript is read from standard output.
        stt_command: Vec<String> = Vec::new(),
        /// Set to true to store recordings with their messages; they are deleted together.
        keep_recordings: bool = false,
    }
);

section!(
    /// Voices by the language of a sentence; if empty, `tts_voice`.
    LanguageVoices {
        /// Voice for Chinese sentences.
        zh: String = String::new(),
        /// Voice for English sentences, and for all languages other than Chinese.
        en: String = String::new(),
    }
);

section!(
    /// The hub: documents, diary and roll-ups that several programs share.
    Hub {
        /// Name of this instance; if empty, the host name without special characters.
        instance: String = String::new(),
        /// Time of day in the persona's time zone at which ended days, weeks and months are summarised.
        rollup_at: String = "05:00".to_owned(),
        /// Set to false to skip summaries that were missed while the daemon was off.
        catch_up: bool = true,
        /// Set to false to turn off the extraction of facts for the graph: one request to the small model after each
        /// conversation with memories. Without a model, nothing is extracted.
        graph_facts: bool = true,
        /// Age at which snapshots are deleted.
        snapshot_retention: ConfigDuration = days(30),
        /// Set to true to let a token that is bound to one user read documents of the category `custom`, which all users
        /// share.
        users_read_custom: bool = false,
    }
);

section!(
    /// Documents that several instances write.
    Sync {
        /// URL of the hub, such as `https://home.example:7777`; empty if this home follows no hub.
        /// `echovessel sync connect` sets it.
        url: String = String::new(),
        /// Instead of `url`: a program with its arguments that is started as the hub and serves MCP on its standard input and output.
        command: Vec<String> = Vec::new(),
        /// Environment variable with the token of this home. Without it, the token that `echovessel sync connect` has
        /// stored is used.
        token_env: String = "ECHOVESSEL_HUB_TOKEN".to_owned(),
        /// PEM file with the certificate of an additional trusted authority.
        ca_file: String = String::new(),
        /// Maximum time between two syncs. Changes in this home are sent after two seconds.
        push_every: ConfigDuration = minutes(5),
        /// Instances whose version becomes the current one among concurrent versions.
        instance_priority: Vec<String> = Vec::new(),
    }
);

section!(
    /// Messages that the persona sends proactively. Without a language model, they are only about due promises and dates.
    Proactive {
        /// Set to true to turn proactive messages on.
        enabled: bool = false,
        /// Interval of the checks for a reason to write.
        tick: ConfigDuration = minutes(1),
        /// First quiet hour in the user's time zone, 0 to 23. No messages are sent during quiet hours.
        quiet_hours_start: i8 = 23,
        /// First hour after the quiet hours, 0 to 23. If it equals the start, there are no quiet hours.
        quiet_hours_end: i8 = 7,
        /// Maximum messages to one user within 24 hours.
        max_per_24h: u32 = 3,
        /// Number of unanswered messages after which the persona waits for the user; 0 means no limit.
        cold_user_threshold: u32 = 2,
        /// Time without a reply to a message after which no further one is sent.
        cold_user_response_window: ConfigDuration = hours(6),
        /// Silence of the user after which the persona writes.
        long_silence: ConfigDuration = hours(48),
        /// Set to false to send them as text only, even if replies are spoken.
        use_voice: bool = true,
    }
);

section!(
    /// Weights for ranking messages. Only their ratios matter.
    RecallMessageWeights {
        /// The message has the words of the question.
        words: f64 = Signal::Words.default_weight(),
        /// The message has a similar meaning as the question.
        meaning: f64 = Signal::Meaning.default_weight(),
        /// The messages around it share words with the question.
        topic_words: f64 = Signal::TopicWords.default_weight(),
        /// The messages around it mean the same as the question.
        topic_meaning: f64 = Signal::TopicMeaning.default_weight(),
        /// The message is by the speaker whom the question names.
        speaker: f64 = Signal::Speaker.default_weight(),
        /// The message was said at the time that the question names.
        time: f64 = Signal::Time.default_weight(),
        /// The message mentions a time, and the question asks for one.
        tells_when: f64 = Signal::TellsWhen.default_weight(),
        /// The message is a question.
        asks: f64 = Signal::Asks.default_weight(),
        /// The message follows a question.
        answers: f64 = Signal::Answers.default_weight(),
    }
);

section!(
    /// The OpenAI-compatible API for chat programs.
    OpenAi {
        /// Handling of prompts that a chat program sends by itself (titles, tags, suggestions): `refuse`, or `answer` with
        /// the small model at the owner's cost. Neither is stored.
        utility_prompts: UtilityPrompts = UtilityPrompts::Refuse,
    }
);

section!(
    /// Limits of requests and replies per client.
    Limits {
        /// Maximum duration of one turn.
        turn_timeout: ConfigDuration = seconds(120),
        /// Maximum size of a request body.
        body: ByteSize = ByteSize::mebibytes(1),
        /// Maximum memory for the vectors of active users; the least recently used are evicted.
        vector_memory: ByteSize = ByteSize::mebibytes(256),
        /// Largest upload. Not implemented in this version: another value is an error.
        upload: ByteSize = ByteSize::mebibytes(50),
        /// Average requests per second of one token or address; 0 means no limit. The owner on this machine is not limited.
        requests_per_second: u32 = 50,
        /// Maximum burst of requests of one token or address.
        burst: u32 = 200,
        /// Maximum replies per day for one named token; 0 means no limit.
        turns_per_day: u64 = 5_000,
        /// Maximum cost per day of the replies for one named token, in US dollars by llm.prices; 0 means no limit.
        usd_per_day: f64 = 0.0,
    }
);

section!(
    /// Traces: steps of replies and of memory creation. Receipts are always stored.
    Trace {
        /// Set to false to store no new traces of turns, sessions and slow cycles.
        enabled: bool = true,
        /// Age at which traces are deleted; checked at start and once an hour.
        retention: ConfigDuration = days(14),
    }
);
