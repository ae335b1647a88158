//! The API document as a page: plain HTML, without scripts and external resources.

use std::fmt::Write as _;

use serde_json::Value;

pub(super) const STYLE: &str = "\
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 3rem; text-transform: capitalize; }
code, pre { font-family: ui-monospace, monospace; font-size: .875rem; }
pre { overflow-x: auto; padding: .75rem; border: 1px solid; border-radius: .5rem; }
details { margin: .5rem 0; border-bottom: 1px solid; padding-bottom: .5rem; }
summary { cursor: pointer; }
.method { display: inline-block; min-width: 4.5rem; font-weight: 700; text-transform: uppercase; }
td, th { text-align: start; vertical-align: top; padding: .15rem .75rem .15rem 0; }
";

/// Renders the document as a page.
pub(super) fn render(document: &Value) -> String {
    let mut html = String::from(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>EchoVessel HTTP API</title><meta name=\"viewport\" content=\"width=device-width\"><link rel=\"stylesheet\" href=\"/api/docs/style.css\"></head><body><main><h1>HTTP API</h1><p>Send <code>Authorization: Bearer TOKEN</code>. For programs: <a href=\"/api/openapi.json\">openapi.json</a>.</p>\n",
    );
    let mut tag = "";
    for (path, method, operation) in operations_by_tag(document) {
        let own = operation["tags"][0].as_str().unwrap_or_default();
        if own != tag {
            write_to(&mut html, format_args!("<h2>{}</h2>\n", escape_html(own)));
            tag = own;
        }
        write_to(
            &mut html,
            format_args!(
                "<details><summary><span class=\"method\">{method}</span> <code>{}</code> {}</summary>\n",
                escape_html(path),
                escape_html(operation["summary"].as_str().unwrap_or_default())
            ),
        );
        html.push_str(&render_parameters(operation));
        if let Some(body) = operation.get("requestBody") {
            write_to(&mut html, format_args!("<h3>Body</h3>{}", render_content(body)));
        }
        for (status, response) in operation["responses"].as_object().into_iter().flatten() {
            let description = response["description"].as_str().unwrap_or_default();
            write_to(&mut html, format_args!("<h3>{status} {}</h3>", escape_html(description)));
            if status.starts_with('2') {
                html.push_str(&render_content(response));
            }
        }
        html.push_str("</details>\n");
    }
    html.push_str("<h2>types</h2>\n");
    for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
        let name = escape_html(name);
        write_to(
            &mut html,
            format_args!(
                "<details id=\"{name}\"><summary><code>{name}</code></summary>{}</details>\n",
                render_schema(schema)
            ),
        );
    }
    html.push_str("</main></body></html>\n");
    html
}

/// Operations by tag, then in the order of the document.
fn operations_by_tag(document: &Value) -> Vec<(&str, &str, &Value)> {
    let paths = document["paths"].as_object().into_iter().flatten();
    let mut operations: Vec<(&str, &str, &Value)> = paths
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().into_iter().flatten();
            methods.map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
        })
        .collect();
    operations.sort_by_key(|(_, _, operation)| operation["tags"][0].as_str().unwrap_or_default().to_owned());
    operations
}

fn render_parameters(operation: &Value) -> String {
    let mut html = String::new();
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        write_to(
            &mut html,
            format_args!(
                "<tr><td><code>{}</code></td><td>{}</td><td>{}</td></tr>",
                escape_html(parameter["name"].as_str().unwrap_or_default()),
                escape_html(parameter["in"].as_str().unwrap_or_default()),
                escape_html(parameter["description"].as_str().unwrap_or_default())
            ),
        );
    }
    if html.is_empty() { html } else { format!("<table>{html}</table>") }
}

fn render_content(holder: &Value) -> String {
    let mut html = String::new();
    for (media, content) in holder["content"].as_object().into_iter().flatten() {
        write_to(
            &mut html,
            format_args!("<p><code>{}</code></p>{}", escape_html(media), render_schema(&content["schema"])),
        );
    }
    html
}

fn render_schema(schema: &Value) -> String {
    format!("<pre>{}</pre>", escape_html(&serde_json::to_string_pretty(schema).unwrap_or_default()))
}

fn write_to(html: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = html.write_fmt(text);
}

fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
