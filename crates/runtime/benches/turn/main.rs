//! Prints the cost of a turn and of a session's consolidation without the model, with real SQLite files: `cargo bench
//! -p runtime`. Each figure is printed beside its aim (design: budgets); `cargo xtask budgets` compares them. With a
//! server (`scripts/with-postgres cargo bench -p runtime`) recall and turns are measured there too, with their round
//! trips. No result depends on a time limit. Names after `--` select what is measured: `-- "1000 nodes"
//! consolidation`.
//!
//! The past is generated once from a seed, through the product's own commits. The files stay in the target folder,
//! some two gigabytes; the million messages take some minutes.

mod recalling;
mod talking;
mod searching;
mod consolidating;
mod correcting;
mod measure;
mod past;

use measure::print_heading;
use past::Past;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

pub(crate) type Failed = Box<dyn std::error::Error>;

fn main() -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let asked: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
        let wanted = |name: String| asked.is_empty() || asked.contains(&name);
        print_heading();
        for (nodes, messages, aim) in [
            (1_000, 0, "1"),
            (10_000, 0, "2"),
            (100_000, 0, "12"),
            (100_000, 100_000, "15"),
            (0, 10_000, ""),
            (0, 100_000, "15"),
            (0, 1_000_000, "15"),
        ] {
            let past = Past { nodes, messages };
            if wanted(past.name()) {
                recalling::measure(past, aim).await?;
            }
        }
        if wanted("server".to_owned()) {
            for nodes in [10_000, 100_000] {
                recalling::measure_on_server(Past { nodes, messages: 0 }).await?;
            }
        }
        if wanted("turn".to_owned()) {
            talking::measure(Past { nodes: 10_000, messages: 0 }).await?;
        }
        if wanted("search".to_owned()) {
            searching::measure(Past { nodes: 10_000, messages: 10_000 }, "5").await?;
            searching::measure(Past { nodes: 100_000, messages: 100_000 }, "15").await?;
        }
        if wanted("consolidation".to_owned()) {
            consolidating::measure(Past { nodes: 100_000, messages: 0 }, "20").await?;
        }
        if wanted("corrections".to_owned()) {
            correcting::measure(Past { nodes: 100_000, messages: 0 }, "30").await?;
        }
        Ok(())
    })
}
