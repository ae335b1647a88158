//! Allowed dependencies between crates, and the crates that may use each external one.

use super::Finding;
use super::project::Member;

/// A crate and its allowed dependencies.
struct CrateRule {
    name: &'static str,
    /// Crates of ours that it may import.
    imports: &'static [&'static str],
    /// Further crates of ours for its tests and benches: the real parts behind its ports. All may import `testkit`.
    tests_import: &'static [&'static str],
}

const ROOMS: &[CrateRule] = &[
    CrateRule { name: "outgoing", imports: &[], tests_import: &[] },
    CrateRule { name: "text", imports: &[], tests_import: &[] },
    CrateRule { name: "voice", imports: &["text", "memory", "outgoing"], tests_import: &[] },
    CrateRule { name: "import", imports: &[], tests_import: &[] },
    CrateRule { name: "memory", imports: &["text"], tests_import: &["store", "embed"] },
    CrateRule { name: "llm", imports: &["outgoing"], tests_import: &["offline"] },
    CrateRule { name: "offline", imports: &["text", "llm"], tests_import: &[] },
    CrateRule { name: "hub", imports: &["memory"], tests_import: &["store"] },
    CrateRule { name: "embed", imports: &["memory", "hub", "outgoing"], tests_import: &[] },
    CrateRule { name: "store", imports: &["memory", "hub"], tests_import: &[] },
    CrateRule { name: "hub_client", imports: &["memory", "hub", "outgoing"], tests_import: &[] },
    CrateRule { name: "mind", imports: &["memory", "hub", "llm"], tests_import: &["offline"] },
    CrateRule { name: "platforms", imports: &[], tests_import: &[] },
    CrateRule { name: "testkit", imports: &["memory", "hub", "platforms"], tests_import: &["outgoing"] },
    CrateRule {
        name: "runtime",
        imports: &["memory", "hub", "mind", "llm", "import", "voice"],
        tests_import: &["store", "embed", "offline"],
    },
    CrateRule {
        name: "channels",
        imports: &["memory", "runtime", "outgoing"],
        tests_import: &["store", "mind", "llm", "offline", "voice"],
    },
    CrateRule { name: "archive", imports: &["memory", "hub", "mind"], tests_import: &["store"] },
    CrateRule {
        name: "server",
        imports: &["runtime", "memory", "hub", "import", "outgoing"],
        tests_import: &["store", "mind", "llm", "offline", "voice"],
    },
    CrateRule {
        name: "eval",
        imports: &["memory", "store", "runtime", "echovessel"],
        tests_import: &["offline", "llm", "mind"],
    },
    CrateRule {
        name: "echovessel",
        imports: &[
            "memory",
            "hub",
            "hub_client",
            "store",
            "embed",
            "llm",
            "offline",
            "mind",
            "runtime",
            "channels",
            "archive",
            "server",
            "import",
            "voice",
            "platforms",
            "outgoing",
        ],
        tests_import: &[],
    },
    CrateRule { name: "xtask", imports: &[], tests_import: &[] },
];

/// An external crate that only one crate of ours may use.
struct Placed {
    name: &'static str,
    rooms: &'static [&'static str],
    /// True if tests and benches elsewhere may use it.
    free_in_tests: bool,
    reason: &'static str,
}

const SQL: &str = "SQL lives in store alone, so that every query stands beside its row mapping";
const HTTP_SERVER: &str = "the HTTP server lives in server alone, so that no other room knows of routes";
const WEIGHTS: &str = "the model's weights live in embed alone";

const PLACED: &[Placed] = &[
    Placed { name: "rusqlite", rooms: &["store"], free_in_tests: false, reason: SQL },
    Placed { name: "tokio-postgres", rooms: &["store"], free_in_tests: false, reason: SQL },
    Placed { name: "deadpool-postgres", rooms: &["store"], free_in_tests: false, reason: SQL },
    Placed { name: "axum", rooms: &["server"], free_in_tests: false, reason: HTTP_SERVER },
    Placed { name: "rmcp", rooms: &["server", "hub_client"], free_in_tests: false, reason: HTTP_SERVER },
    Placed { name: "tower-http", rooms: &["server"], free_in_tests: false, reason: HTTP_SERVER },
    Placed { name: "safetensors", rooms: &["embed"], free_in_tests: false, reason: WEIGHTS },
    Placed { name: "gemm", rooms: &["embed"], free_in_tests: false, reason: WEIGHTS },
    Placed { name: "memmap2", rooms: &["embed"], free_in_tests: false, reason: WEIGHTS },
    Placed {
        name: "minijinja",
        rooms: &["mind"],
        free_in_tests: false,
        reason: "prompts are rendered in mind alone",
    },
    Placed {
        name: "anyhow",
        rooms: &["echovessel", "xtask", "eval"],
        free_in_tests: false,
        reason: "a library's errors are an enum a caller can act on",
    },
    Placed {
        name: "reqwest",
        rooms: &["outgoing", "llm", "embed", "voice", "channels", "hub_client", "server", "echovessel"],
        free_in_tests: true,
        reason: "only the language model, the voice, the channels, the hub of an embodiment, the embedding model's \
                 download and other daemons of the home are asked, and the command line asks the daemon of this machine",
    },
];

pub(super) fn findings(members: &[Member]) -> Vec<Finding> {
    members.iter().flat_map(findings_of).collect()
}

fn findings_of(member: &Member) -> Vec<Finding> {
    let Some(room) = ROOMS.iter().find(|room| room.name == member.name) else {
        let fix =
            "Say in the table of xtask/src/tidy/boundaries.rs, and in ARCHITECTURE.md, whom it may import.";
        return vec![Finding::in_file(
            &member.manifest_path,
            format!("no wall is known for {}", member.name),
            fix,
        )];
    };
    let mut findings = Vec::new();
    for dependency in &member.dependencies {
        let ours = dependency.name == "testkit" || ROOMS.iter().any(|room| room.name == dependency.name);
        if ours && !room.admits(&dependency.name, dependency.dev) {
            let what = format!("{} may not import {}", member.name, dependency.name);
            let fix = room.advice(dependency.dev);
            findings.push(Finding::at(&member.manifest_path, line_of(member, &dependency.key), what, fix));
        }
        let placed = PLACED.iter().find(|placed| placed.name == dependency.name);
        if let Some(placed) = placed.filter(|placed| !placed.admits(&member.name, dependency.dev)) {
            let what = format!("{} may not use {}: {}", member.name, placed.name, placed.reason);
            let fix =
                format!("Move what needs it to {}, behind a port if need be.", placed.rooms.join(" or "));
            findings.push(Finding::at(&member.manifest_path, line_of(member, &dependency.key), what, fix));
        }
    }
    findings
}

impl CrateRule {
    fn admits(&self, other: &str, dev: bool) -> bool {
        self.imports.contains(&other) || dev && (other == "testkit" || self.tests_import.contains(&other))
    }

    fn advice(&self, dev: bool) -> String {
        let mut allowed = self.imports.to_vec();
        if dev {
            allowed.extend(self.tests_import);
            allowed.push("testkit");
        }
        let allowed = if allowed.is_empty() { "none of ours".to_owned() } else { allowed.join(", ") };
        format!("It may import {allowed}. Let the caller pass in what it needs, or put a port in memory.")
    }
}

impl Placed {
    fn admits(&self, room: &str, dev: bool) -> bool {
        self.rooms.contains(&room) || dev && self.free_in_tests
    }
}

/// Line of the dependency in the manifest; 1 if it isn't found.
fn line_of(member: &Member, key: &str) -> usize {
    let names_it = |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(['.', ' ', '=']));
    member.manifest.lines().position(names_it).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::project::Dependency;

    fn member(name: &str, normal: &[&str], dev: &[&str]) -> Member {
        let dependency =
            |name: &&str, dev| Dependency { name: (*name).to_owned(), key: (*name).to_owned(), dev };
        let manifest =
            normal.iter().chain(dev).map(|name| format!("{name}.workspace = true\n")).collect::<String>();
        let dependencies = normal.iter().map(|name| dependency(name, false));
        Member {
            name: name.to_owned(),
            manifest_path: format!("crates/{name}/Cargo.toml"),
            manifest: format!("[dependencies]\n{manifest}"),
            dependencies: dependencies.chain(dev.iter().map(|name| dependency(name, true))).collect(),
        }
    }

    #[test]
    fn the_planned_house_stands() {
        let house = [
            member("memory", &["serde"], &["testkit", "store"]),
            member("llm", &["reqwest"], &["testkit"]),
            member("store", &["memory", "hub", "rusqlite"], &["testkit"]),
            member("server", &["runtime", "memory", "axum"], &["testkit", "reqwest"]),
            member("echovessel", &["memory", "server", "store", "anyhow"], &["testkit", "reqwest"]),
        ];
        assert_eq!(findings(&house), []);
    }

    #[test]
    fn an_import_across_a_wall_is_found_on_its_line() {
        let found = findings(&[member("memory", &["serde", "store"], &[])]);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].path.as_str(), found[0].line), ("crates/memory/Cargo.toml", Some(3)));
        assert_eq!(found[0].what, "memory may not import store");
    }

    #[test]
    fn testkit_is_for_tests_only() {
        assert_eq!(findings(&[member("server", &["testkit"], &[])]).len(), 1);
        assert_eq!(findings(&[member("server", &[], &["testkit"])]).len(), 0);
    }

    #[test]
    fn an_outside_crate_has_its_room() {
        for (room, outside) in
            [("runtime", "rusqlite"), ("echovessel", "axum"), ("memory", "gemm"), ("runtime", "minijinja")]
        {
            let found = findings(&[member(room, &[outside], &[])]);
            assert_eq!(found.len(), 1, "{outside} in {room}");
            assert!(found[0].what.starts_with(&format!("{room} may not use {outside}")), "{}", found[0].what);
        }
        assert_eq!(findings(&[member("store", &["anyhow"], &[])]).len(), 1);
        assert_eq!(findings(&[member("runtime", &["reqwest"], &[])]).len(), 1);
        assert_eq!(findings(&[member("echovessel", &[], &["rusqlite"])]).len(), 1, "not even in tests");
    }

    #[test]
    fn a_crate_without_a_wall_is_found() {
        assert_eq!(findings(&[member("attic", &[], &[])])[0].what, "no wall is known for attic");
    }
}
