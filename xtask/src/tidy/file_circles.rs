//! Files of a crate that import each other in a circle, which can only be understood together.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::project::ProjectFile;
use super::rust_source::lines_without_tests;

/// A file's path among the modules of its crate: `["recall", "query"]`.
type Module = Vec<String>;

pub(super) fn findings(files: &[ProjectFile]) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, BTreeMap<Module, &ProjectFile>> = BTreeMap::new();
    for file in files {
        let path = file.path.strip_prefix("crates/").and_then(|path| path.split_once("/src/"));
        if let Some((name, within)) = path.filter(|(_, within)| within.ends_with(".rs")) {
            crates.entry(name).or_default().insert(module_of(within), file);
        }
    }
    let mut findings = Vec::new();
    for (name, modules) in crates {
        let in_circles = files_in_circles(&imports(&modules));
        if in_circles.is_empty() {
            continue;
        }
        let path = format!("crates/{name}/src");
        let what = format!("{} files import each other in circles", in_circles.len());
        let fix = format!("Move what both sides need into a file of its own: {}", in_circles.join(", "));
        findings.push(Finding::in_file(&path, what, fix));
    }
    findings
}

fn module_of(path: &str) -> Module {
    let mut module: Module = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if module.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        module.pop();
    }
    module
}

/// The files that each file imports from by `crate::` or `super::`. A module's own children are no imports: it consists of them.
fn imports(modules: &BTreeMap<Module, &ProjectFile>) -> BTreeMap<Module, BTreeSet<Module>> {
    let mut imports = BTreeMap::new();
    for (module, file) in modules {
        let code = lines_without_tests(file.text.as_deref().unwrap_or_default()).join(" ");
        let mut imported = BTreeSet::new();
        for path in paths(&code, module) {
            let found =
                (1..=path.len()).rev().map(|length| &path[..length]).find(|path| modules.contains_key(*path));
            imported.extend(found.filter(|found| found != module).map(<[String]>::to_vec));
        }
        imports.insert(module.clone(), imported);
    }
    imports
}

/// Every path that begins with `crate::` or `super::`, from the root of the crate; groups in braces are taken apart.
fn paths(code: &str, module: &[String]) -> Vec<Module> {
    let mut paths = Vec::new();
    for start in ["crate::", "super::"] {
        for (index, _) in code.match_indices(start) {
            let before = code[..index].chars().next_back();
            if before.is_some_and(|before| before.is_alphanumeric() || "_:$".contains(before)) {
                continue;
            }
            let mut base = if start == "crate::" { Vec::new() } else { module.to_vec() };
            let mut rest = &code[index..];
            while let Some(after) = rest.strip_prefix("super::") {
                base.pop();
                rest = after;
            }
            read_tree(rest.strip_prefix("crate::").unwrap_or(rest), base, &mut paths);
        }
    }
    paths
}

/// Reads `a::{b, c::d}` after `base`, and returns the rest.
fn read_tree<'a>(code: &'a str, mut base: Module, paths: &mut Vec<Module>) -> &'a str {
    let mut rest = code.trim_start();
    loop {
        if let Some(mut group) = rest.strip_prefix('{') {
            loop {
                let after = read_tree(group, base.clone(), paths);
                // `as NAME` and `*` add nothing.
                let Some(end) = after.find([',', '}']) else { return "" };
                group = &after[end + 1..];
                if after[end..].starts_with('}') {
                    return group;
                }
            }
        }
        let length =
            rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
        if length == 0 {
            paths.push(base);
            return rest;
        }
        base.push(rest[..length].to_owned());
        match rest[length..].strip_prefix("::") {
            Some(next) => rest = next,
            None => {
                paths.push(base);
                return &rest[length..];
            }
        }
    }
}

/// Files that are part of a cycle of imports.
fn files_in_circles(imports: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<String> {
    let leads_back = |start: &Module| {
        let mut seen = BTreeSet::new();
        let mut next: Vec<&Module> = imports[start].iter().collect();
        while let Some(module) = next.pop() {
            if module == start {
                return true;
            }
            if seen.insert(module) {
                next.extend(&imports[module]);
            }
        }
        false
    };
    imports.keys().filter(|module| leads_back(module)).map(|module| module.join("/")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(files: &[(&str, &str)]) -> Vec<ProjectFile> {
        files.iter().map(|(path, text)| ProjectFile::of(&format!("crates/memory/src/{path}"), text)).collect()
    }

    #[test]
    fn circle_of_two_files_is_found_through_groups_and_super() {
        let files = project(&[
            ("lib.rs", "mod recall; mod words;"),
            ("recall/mod.rs", "mod query; mod pool;"),
            ("recall/query.rs", "use crate::{recall::pool::{Pool as P, fill}, words};"),
            ("recall/pool.rs", "use super::query::Query;"),
            ("words.rs", "fn f() {}"),
        ]);
        let found = findings(&files);
        assert_eq!(found[0].what, "2 files import each other in circles");
        assert!(found[0].fix.ends_with("recall/pool, recall/query"), "{}", found[0].fix);
    }

    #[test]
    fn children_tests_comments_and_texts_are_no_imports() {
        let files = project(&[
            ("recall/mod.rs", "mod query;\npub use query::Query;\n"),
            ("recall/query.rs", "use super::Recall;\n// use crate::words\nconst A: &str = \"crate::words\";"),
            ("words.rs", "use crate::recall::query::Query;\n"),
            ("terms.rs", "fn f() {}\n#[cfg(test)]\nmod tests {\n    use crate::uses::F;\n}\n"),
            ("uses.rs", "use crate::terms::f;\n"),
        ]);
        assert_eq!(findings(&files), []);
    }
}
