//! A person replaces a memory's text, and recall with many such corrections.

use std::time::{Duration, Instant};

use memory::corrections::Corrector;
use memory::identifiers::NodeId;
use memory::nodes::{Node, NodeKind};
use memory::ports::NodeStore as _;
use memory::vector_index::VectorIndex;

use crate::Failed;
use crate::measure::{Figures, processor_time};
use crate::past::{Dice, Home, Past};
use crate::recalling::{Ready, report_recall};

/// Number of corrections; each is measured.
const ROUNDS: usize = 1_000;

pub(crate) async fn measure(past: Past, aim: &'static str) -> Result<(), Failed> {
    let home = Home::copy(past).await?;
    let (index, mut dice) = (VectorIndex::default(), Dice::new());
    report_recall(&home, format!("recall before corrections, {}", past.name())).await?;
    let nodes =
        home.store.nodes_before(&home.scope, &[NodeKind::Event], None, u32::try_from(past.nodes)?).await?;
    // In many sessions, as in real use.
    let corrected = nodes.into_iter().step_by(past.nodes / ROUNDS).enumerate();
    let texts: Vec<(NodeId, String)> =
        corrected.map(|(place, node)| (node.id, with_number(&node, place))).collect();
    let mut times: Vec<Duration> = Vec::with_capacity(texts.len());
    let spent = processor_time();
    for (id, text) in &texts {
        let embedder = Ready(dice.vector());
        let corrector = Corrector {
            store: &home.store,
            embedder: Some(&embedder),
            index: &index,
            clock: &home.clock,
            ids: &home.ids,
        };
        let started = Instant::now();
        corrector.correct(*id, text).await?.ok_or("a memory is corrected")?;
        times.push(started.elapsed());
    }
    let processor = (processor_time() - spent) / u32::try_from(texts.len())?;
    Figures { what: format!("correction by a person, {}", past.name()), times, processor, cold: None, aim }
        .print();
    report_recall(&home, format!("recall beside {ROUNDS} corrections, {}", past.name())).await?;
    home.close().await
}

/// The memory's text with another number at its end: one value of it changes.
fn with_number(node: &Node, number: usize) -> String {
    let before = node.description.rsplit_once(' ').map_or("", |(before, _)| before);
    format!("{before} {}", 100_000 + number)
}
