//! Programs that share a home through `echovessel mcp`, concurrently and in sequence.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver};

use serde_json::{Value, json};

use crate::daemon::{Daemon, Home, PATIENCE, Settings, command};

/// A program that has started `echovessel mcp`. The process is killed on drop.
pub(crate) struct Program {
    process: Child,
    input: ChildStdin,
    pub(crate) answers: Receiver<Value>,
    asked: u64,
}

impl Program {
    pub(crate) fn start(home: &Home, settings: &Settings) -> Self {
        let mut process = command(home, settings, &["mcp"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (sender, answers) = mpsc::channel();
        let output = BufReader::new(process.stdout.take().unwrap());
        std::thread::spawn(move || {
            // The last line of a killed process may be incomplete.
            for line in output.lines().map_while(Result::ok) {
                if let Ok(answer) = serde_json::from_str(&line) {
                    let _ = sender.send(answer);
                }
            }
        });
        let input = process.stdin.take().unwrap();
        let mut program = Self { process, input, answers, asked: 0 };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
                           "clientInfo": {"name": "program", "version": "1"}});
        program.send("initialize", &hello);
        program.answers.recv_timeout(PATIENCE).unwrap();
        program.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        program
    }

    fn say(&mut self, message: &Value) {
        // A killed process reads nothing.
        let _ = writeln!(self.input, "{message}");
    }

    pub(crate) fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.asked += 1;
        self.say(&json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params}));
        self.asked
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let id = self.send("tools/call", &json!({"name": tool, "arguments": arguments}));
        loop {
            let answer = self.answers.recv_timeout(PATIENCE).unwrap();
            if answer["id"] == json!(id) {
                assert_ne!(answer["result"]["isError"], true, "{answer}");
                return answer["result"]["structuredContent"].clone();
            }
        }
    }

    pub(crate) fn kill(&mut self) {
        // The process has ended already, which is the aim.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}

pub(crate) fn remember(program: &mut Program, number: usize) {
    let arguments = json!({"granularity": "significant", "date": "2026-04-01", "slug": format!("event{number}"),
                           "content": format!("# An event\n\nfact {number} end\n")});
    assert_eq!(program.call("memory_create", &arguments)["success"], true);
}

/// A program that exits closes no other connection, and later programs get the same service as the first.
#[tokio::test]
async fn programs_come_and_go_beside_the_daemon() {
    let (home, settings) = (Home::new(), Settings::offline());
    let _daemon = Daemon::start(&home, &settings).await;
    let mut first = Program::start(&home, &settings);
    let mut second = Program::start(&home, &settings);
    remember(&mut first, 1);
    remember(&mut second, 2);
    first.kill();
    remember(&mut second, 3);
    let mut third = Program::start(&home, &settings);
    remember(&mut third, 4);
    second.kill();
    remember(&mut third, 5);
    let listed = third.call("memory_list", &json!({"limit": 10}));
    assert_eq!(listed["total"], 5, "{listed}");
}
