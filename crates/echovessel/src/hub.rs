//! The shared self, put together: documents and graph.

use std::sync::Arc;

use anyhow::Context as _;
use hub::graph::Graph;
use hub::{Hub, HubParts, HubSettings, InstanceId, WorkingHours};
use jiff::tz::TimeZone;
use memory::ports::{Clock, Embedder, Ids};
use memory::{PersonaId, Scope, UserId};
use store::SqliteStore;

use crate::config::Config;
use crate::home::Home;

/// The user whose documents lie directly in the home's folders.
const OWNER: &str = "self";

/// Opens the hub and the graph over the home's database.
pub(crate) fn open(
    config: &Config,
    home: &Home,
    database: &Arc<SqliteStore>,
    embedder: Option<Arc<dyn Embedder>>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
) -> anyhow::Result<(Hub, Graph)> {
    let priority = config.sync.instance_priority.iter().map(|name| name.parse());
    let settings = HubSettings {
        instance: instance(config)?,
        default_scope: Scope::new(PersonaId::new(config.persona.id.clone())?, UserId::new(OWNER)?),
        zone: TimeZone::system(),
        snapshot_retention: config.hub.snapshot_retention.0,
        priority: priority.collect::<Result<_, _>>()?,
        mirror: Some(home.folder().to_owned()),
    };
    let graph = Graph::new(database.clone(), database.clone(), embedder.clone(), clock.clone(), ids.clone());
    let hub = Hub::new(HubParts {
        store: database.clone(),
        personas: database.clone(),
        embedder,
        summariser: None,
        clock,
        ids,
        settings,
    });
    hub.link(Arc::new(graph.clone()));
    Ok((hub, graph))
}

/// When the hub works by itself.
pub(crate) fn working_hours(config: &Config) -> anyhow::Result<WorkingHours> {
    let at = &config.hub.rollup_at;
    let rollup_at =
        at.parse().with_context(|| format!("hub.rollup_at: {at:?} is no time of day, as 05:00"))?;
    Ok(WorkingHours { rollup_at, catch_up: config.hub.catch_up })
}

/// The instance that this home is: as configured, or the machine's name, made safe.
fn instance(config: &Config) -> anyhow::Result<InstanceId> {
    if !config.hub.instance.is_empty() {
        return Ok(config.hub.instance.parse()?);
    }
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = name.or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_default();
    Ok(InstanceId::made_safe(name.trim()))
}
