//! A one-time notice for homes that had peers, as rows are no longer exchanged between homes.

use store::HomeStore;

use crate::home::Home;

const SYNC_HINT: &str = "Homes no longer exchange their rows with each other. Everything that was received \
    stays in this home. To use one persona on several machines, make one home the hub of the others with \
    `echovessel sync connect`; see docs/book/machines.md";

/// Logs a notice if this home had peers, and removes their tokens.
pub(crate) async fn log_former_peers(home: &Home, database: &HomeStore) -> anyhow::Result<()> {
    let names = database.remove_former_peers().await?;
    if !names.is_empty() {
        let folder = home.folder().join("peers");
        if let Err(error) = std::fs::remove_dir_all(&folder)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "the tokens of former peers could not be removed; delete {}", folder.display());
        }
        tracing::warn!(peers = names.join(", "), "{SYNC_HINT}");
    }
    Ok(())
}
