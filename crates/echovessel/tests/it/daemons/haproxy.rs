//! HAProxy in front of the daemons: round robin and health checks.

use std::process::{Child, Command, Stdio};

use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::daemon::eventually;

pub(super) struct HaProxy {
    process: Child,
    pub(super) url: String,
    _folder: TempDir,
}

impl HaProxy {
    /// Starts HAProxy for daemons on these ports of this machine.
    pub(super) async fn start(port: u16, daemons: &[u16]) -> Self {
        let folder = TempDir::new().unwrap();
        let servers: String = daemons
            .iter()
            .map(|port| format!("    server daemon{port} 127.0.0.1:{port} check inter 500ms fall 2 rise 1\n"))
            .collect();
        let configuration = format!(
            "defaults\n    mode http\n    timeout connect 3s\n    timeout client 5m\n    timeout server 5m\n    timeout check 2s\n    \
             option redispatch\n    retries 3\n\
             frontend home\n    bind 127.0.0.1:{port}\n    option forwardfor\n    default_backend daemons\n\
             backend daemons\n    balance roundrobin\n    option httpchk GET /health\n{servers}"
        );
        let file = folder.path().join("haproxy.cfg");
        std::fs::write(&file, configuration).unwrap();
        // Debian installs it in a folder that is only in the search path of root.
        let program = ["/usr/sbin/haproxy", "/usr/local/sbin/haproxy"]
            .into_iter()
            .find(|program| std::path::Path::new(program).exists())
            .unwrap_or("haproxy");
        let started = Command::new(program)
            .arg("-f")
            .arg(&file)
            .arg("-db")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let process = started.unwrap_or_else(|error| panic!("{program} does not start: {error}"));
        eventually("HAProxy takes connections", async || TcpStream::connect(("127.0.0.1", port)).await.ok())
            .await;
        Self { process, url: format!("http://127.0.0.1:{port}"), _folder: folder }
    }
}

impl Drop for HaProxy {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
