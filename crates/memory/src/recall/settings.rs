//! What a person can set about recall. The defaults are the seed's.

use jiff::civil::Weekday;

/// Settings of recall.
#[derive(Clone, Debug, PartialEq)]
pub struct RecallSettings {
    /// Nodes that go into the prompt. Default 10.
    pub k: usize,
    /// Floor of relevance; see [`super::score`]. Default 0.4, which for vectors is a cosine of 0.28.
    pub min_relevance: f64,
    /// Weights of the node formula.
    pub weights: NodeWeights,
    /// Half-life of recency and of evidence paths, in days. Default 14.
    pub half_life_days: f64,
    /// Tokens that the recalled nodes may take together. Default 1,500.
    pub node_tokens: u32,
    /// Verbatim passages that go into the prompt. Default 5.
    pub passages: usize,
    /// Tokens that the passages may take together. Default 1,500.
    pub passage_tokens: u32,
    /// Weights of the ranking of messages.
    pub message_weights: MessageWeights,
    /// By which names the speakers are asked for; none by default.
    pub speaker_names: SpeakerNames,
    /// On which day an English week begins ("last week"). Default Monday. Chinese ones always begin on Monday.
    pub week_start: Weekday,
}

impl Default for RecallSettings {
    fn default() -> Self {
        Self {
            k: 10,
            min_relevance: 0.4,
            weights: NodeWeights::default(),
            half_life_days: 14.0,
            node_tokens: 1_500,
            passages: 5,
            passage_tokens: 1_500,
            message_weights: MessageWeights::default(),
            speaker_names: SpeakerNames::default(),
            week_start: Weekday::Monday,
        }
    }
}

/// Weights of the sum by which nodes are ranked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeWeights {
    /// How fresh. Default 0.5.
    pub recency: f64,
    /// What it is about. Default 3.
    pub relevance: f64,
    /// How much feeling. Default 2.
    pub impact: f64,
    /// How connected. Default 1.
    pub relational: f64,
    /// Whether it is about somebody named. Default 1.5.
    pub entity: f64,
}

impl Default for NodeWeights {
    fn default() -> Self {
        Self { recency: 0.5, relevance: 3.0, impact: 2.0, relational: 1.0, entity: 1.5 }
    }
}

/// Weights of the sum by which messages are ranked; what each signal is, is said in `recall/messages.rs`. Only their
/// ratios matter. They are round numbers, set where three public conversations and one dialogue set agree; weights fitted
/// on two of the conversations do nearly as well on the third (docs/evaluation.md).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MessageWeights {
    /// It says what is asked for. Default 1.25.
    pub words: f64,
    /// It means what is asked for. Default 2: cosines spread over about half the range of shares of words.
    pub meaning: f64,
    /// The talk around it says it. Default 0.75: the question's words are seldom all in the one message that answers, yet
    /// its own count more.
    pub topic_words: f64,
    /// The talk around it means it. Default 1.5, somewhat less than its own meaning: it tells talks apart, not messages.
    pub topic_meaning: f64,
    /// It is by the one whom the question names. Default 0.6: more finds more of what is asked rightly and loses what is
    /// asked of the wrong one.
    pub speaker: f64,
    /// It was said at the time that the question names. Default 1: as good as every word of the question.
    pub time: f64,
    /// The question asks when, and it tells a time. Default 0.6.
    pub tells_when: f64,
    /// It is a question: it asks for what is looked for and does not hold it. Default −0.3.
    pub asks: f64,
    /// It follows a question, which it may answer. Default 0.1.
    pub answers: f64,
}

/// Names of the two who talk. "What did Ann say about Rome?" then prefers what Ann said, and is embedded as she would
/// say it: "What did I say about Rome?". A name that only calls ("Ann, …") changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpeakerNames {
    /// Names of the user.
    pub user: Vec<String>,
    /// Names of the persona.
    pub persona: Vec<String>,
}

impl Default for MessageWeights {
    fn default() -> Self {
        Self {
            words: 1.25,
            meaning: 2.0,
            topic_words: 0.75,
            topic_meaning: 1.5,
            speaker: 0.6,
            time: 1.0,
            tells_when: 0.6,
            asks: -0.3,
            answers: 0.1,
        }
    }
}
