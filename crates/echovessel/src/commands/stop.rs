//! `echovessel stop`: stops the daemon; running replies finish first.

use std::time::Duration;

use anyhow::bail;
use memory::ports::Clock as _;
use reqwest::Method;

use crate::cli::SharedOptions;
use crate::client::Daemon;
use crate::home::Home;
use crate::system::SystemClock;

/// Time that a daemon may take to stop: streaming replies get 20 seconds, the rest is quick.
const STOP_LIMIT: Duration = Duration::from_secs(30);
/// Time between two checks if the daemon has ended. It is too short to be noticed.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(50);

pub(crate) async fn stop(shared: &SharedOptions, home: &Home) -> anyhow::Result<()> {
    let daemon = Daemon::find(home)?;
    daemon.ask(Method::POST, "/api/admin/stop", None).await?;
    let mut waited = Duration::ZERO;
    while home.lock_home().is_err() {
        if waited >= STOP_LIMIT {
            bail!("process {} was asked to stop and is still running after 30 s", daemon.run.pid);
        }
        SystemClock.sleep(STOP_POLL_INTERVAL).await;
        waited += STOP_POLL_INTERVAL;
    }
    if shared.json {
        println!("{}", serde_json::json!({"stopped": daemon.run.pid}));
    } else {
        println!("EchoVessel stopped. All messages are stored in {}.", home.folder().display());
    }
    Ok(())
}
