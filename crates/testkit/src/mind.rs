//! A mind with scripted answers.

use std::collections::VecDeque;

use async_trait::async_trait;
use memory::ports::{
    Extraction, ExtractionInput, Mind, MindError, PairVerdict, ProposedVerdict, Reconciliation,
    ReconciliationInput, Reflection, ReflectionInput, SlowCycle, SlowCycleInput,
};
use parking_lot::Mutex;

/// A [`Mind`] with scripted answers. Each question gets the next queued answer; if none is left, that of the
/// function; without a function, a permanent error that says so, so that no test passes by accident.
#[derive(Default)]
pub struct FixedMind {
    extraction: Mutex<Script<ExtractionInput, Extraction>>,
    reconciliation: Mutex<Script<ReconciliationInput, Reconciliation>>,
    reflection: Mutex<Script<ReflectionInput, Reflection>>,
    slow_cycle: Mutex<Script<SlowCycleInput, SlowCycle>>,
}

type AnswerFunction<Question, Answer> = Box<dyn FnMut(&Question) -> Result<Answer, MindError> + Send>;

struct Script<Question, Answer> {
    queue: VecDeque<Result<Answer, MindError>>,
    function: Option<AnswerFunction<Question, Answer>>,
    asked: Vec<Question>,
}

impl FixedMind {
    /// A mind without prepared answers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Queues the answer to one extraction.
    pub fn extract_next(&self, answer: Result<Extraction, MindError>) {
        self.extraction.lock().queue.push_back(answer);
    }

    /// Sets the function that answers extractions with an empty queue.
    pub fn extract_with(
        &self,
        function: impl FnMut(&ExtractionInput) -> Result<Extraction, MindError> + Send + 'static,
    ) {
        self.extraction.lock().function = Some(Box::new(function));
    }

    pub fn reconcile_with(
        &self,
        function: impl FnMut(&ReconciliationInput) -> Result<Reconciliation, MindError> + Send + 'static,
    ) {
        self.reconciliation.lock().function = Some(Box::new(function));
    }

    /// Sets the verdict for every pair of every reconciliation; the quote is the text that was shown.
    pub fn reconcile_as(&self, verdict: PairVerdict) {
        self.reconcile_with(move |input| {
            let pairs = input.pairs.iter().enumerate();
            let verdicts = pairs.map(|(pair, asked)| ProposedVerdict {
                pair,
                verdict,
                quote: asked.words.clone(),
                still_true: None,
            });
            Ok(Reconciliation { verdicts: verdicts.collect(), notes: Vec::new() })
        });
    }

    /// Queues the answer to one reflection.
    pub fn reflect_next(&self, answer: Result<Reflection, MindError>) {
        self.reflection.lock().queue.push_back(answer);
    }

    /// Sets the function that answers reflections with an empty queue.
    pub fn reflect_with(
        &self,
        function: impl FnMut(&ReflectionInput) -> Result<Reflection, MindError> + Send + 'static,
    ) {
        self.reflection.lock().function = Some(Box::new(function));
    }

    /// Queues the answer to one slow cycle.
    pub fn think_next(&self, answer: Result<SlowCycle, MindError>) {
        self.slow_cycle.lock().queue.push_back(answer);
    }

    /// Sets the function that answers slow cycles with an empty queue.
    pub fn think_with(
        &self,
        function: impl FnMut(&SlowCycleInput) -> Result<SlowCycle, MindError> + Send + 'static,
    ) {
        self.slow_cycle.lock().function = Some(Box::new(function));
    }

    /// Inputs of extraction so far, in order.
    #[must_use]
    pub fn extractions(&self) -> Vec<ExtractionInput> {
        self.extraction.lock().asked.clone()
    }

    /// Inputs of reconciliation so far, in order.
    #[must_use]
    pub fn reconciliations(&self) -> Vec<ReconciliationInput> {
        self.reconciliation.lock().asked.clone()
    }

    /// Inputs of reflection so far, in order.
    #[must_use]
    pub fn reflections(&self) -> Vec<ReflectionInput> {
        self.reflection.lock().asked.clone()
    }

    /// Inputs of slow cycles so far, in order.
    #[must_use]
    pub fn slow_cycles(&self) -> Vec<SlowCycleInput> {
        self.slow_cycle.lock().asked.clone()
    }
}

#[async_trait]
impl Mind for FixedMind {
    async fn extract(&self, input: ExtractionInput) -> Result<Extraction, MindError> {
        self.extraction.lock().ask(input, "extraction")
    }

    async fn reconcile(&self, input: ReconciliationInput) -> Result<Reconciliation, MindError> {
        self.reconciliation.lock().ask(input, "reconciliation")
    }

    async fn reflect(&self, input: ReflectionInput) -> Result<Reflection, MindError> {
        self.reflection.lock().ask(input, "reflection")
    }

    async fn think_slowly(&self, input: SlowCycleInput) -> Result<SlowCycle, MindError> {
        self.slow_cycle.lock().ask(input, "slow cycle")
    }
}

impl<Question, Answer> Default for Script<Question, Answer> {
    fn default() -> Self {
        Self { queue: VecDeque::new(), function: None, asked: Vec::new() }
    }
}

impl<Question, Answer> Script<Question, Answer> {
    fn ask(&mut self, question: Question, task: &str) -> Result<Answer, MindError> {
        let answer = match (self.queue.pop_front(), &mut self.function) {
            (Some(queued), _) => queued,
            (None, Some(function)) => function(&question),
            (None, None) => Err(MindError::Permanent(format!("the test scripted no answer to this {task}"))),
        };
        self.asked.push(question);
        answer
    }
}
