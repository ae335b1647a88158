//! The page's search by words, in each language, over memories and as many messages.

use std::time::Instant;

use memory::nodes::NodeKind;
use memory::recall::{SearchPage, SearchQuery, search, search_messages};
use memory::vector_index::VectorIndex;

use crate::Failed;
use crate::measure::{Figures, processor_time};
use crate::past::{Home, Past};

const ROUNDS: u32 = 100;
const KINDS: [NodeKind; 4] = [NodeKind::Event, NodeKind::Thought, NodeKind::Intention, NodeKind::Expectation];
/// A common word, a rarer one, a Chinese one, several, part of a word, and one that does not occur.
const TEXTS: [&str; 6] = ["garden", "dog", "妹妹", "the sister in Lisbon", "lanter", "zzyzx"];

pub(crate) async fn measure(past: Past, aim: &'static str) -> Result<(), Failed> {
    let home = Home::open(past).await?;
    let index = VectorIndex::default();
    for text in TEXTS {
        let page = SearchPage { behind: None, skipped: 0, limit: 20 };
        let scope = home.scope.clone();
        let asked = SearchQuery { scope, text: text.to_owned(), kinds: KINDS.to_vec(), tag: None };
        let (mut times, spent) = (Vec::new(), processor_time());
        let mut total = 0;
        for _ in 0..ROUNDS {
            let started = Instant::now();
            // Concurrently, as for the page.
            let (memories, messages) = tokio::try_join!(
                search(&home.store, &index, None, &asked, &page),
                search_messages(&home.store, &index, None, &home.scope, text, &page),
            )?;
            times.push(started.elapsed());
            total = memories.total + messages.total;
        }
        let processor = (processor_time() - spent) / ROUNDS;
        let what = format!("search, {text} ({total} found), {}", past.name());
        Figures { what, times, processor, cold: None, aim }.print();
    }
    home.close().await
}
