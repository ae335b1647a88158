// The hub's tools, driven by the official TypeScript client over both transports against the real binary.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const BINARY = process.env.ECHOVESSEL_BIN ?? fileURLToPath(new URL("../../target/debug/echovessel", import.meta.url));
const SETTINGS = {
  ECHOVESSEL__LLM__PROVIDER: "offline",
  ECHOVESSEL__EMBEDDING__PROVIDER: "none",
  ECHOVESSEL__HUB__INSTANCE: "house",
};
const TOOLS = [
  "identity_get_all", "identity_write", "identity_append", "identity_prepend", "identity_update_section",
  "identity_rewrite_section", "identity_delete_custom", "identity_get_meta", "identity_set_meta",
  "memory_create", "memory_search", "memory_grep", "memory_list", "memory_read", "memory_update", "memory_delete",
  "memory_consolidate", "memory_embedding_purge", "memory_embedding_rebuild", "embedding_rebuild_all",
  "sync_pull", "sync_push", "sync_status",
  "snapshot_create", "snapshot_list", "snapshot_get", "snapshot_restore",
  "graph_node_create", "graph_node_get", "graph_node_update", "graph_node_delete", "graph_node_search", "graph_node_list",
  "graph_edge_create", "graph_edge_get", "graph_edge_update", "graph_edge_delete",
  "graph_traverse", "graph_subgraph", "graph_insights", "graph_stats", "graph_write_transaction",
  "entity_export", "entity_import",
  "recall", "remember", "correct", "correct_undo", "forget_preview", "forget", "conflict_list", "conflict_resolve",
];
const homes = [];

function newHome() {
  const folder = mkdtempSync(join(tmpdir(), "echovessel-mcp-"));
  homes.push(folder);
  return join(folder, "home");
}
after(() => homes.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

async function overStdio(home, instance, settings = {}) {
  const named = instance ? ["--instance", instance] : [];
  const transport = new StdioClientTransport({
    command: BINARY,
    args: ["mcp", "--home", home, ...named],
    env: { PATH: process.env.PATH, ...SETTINGS, ...settings },
    stderr: "ignore",
  });
  const client = new Client({ name: "typescript", version: "1" });
  await client.connect(transport);
  return client;
}

async function startDaemon(home) {
  const child = spawn(BINARY, ["run", "--port", "0", "--home", home, "--no-open"], {
    env: { ...process.env, ...SETTINGS },
    stdio: "ignore",
  });
  const file = join(home, "run.json");
  for (let waited = 0; !existsSync(file) && waited < 30_000; waited += 20) await pause(20);
  const { url } = JSON.parse(readFileSync(file, "utf8"));
  const stop = async () => {
    child.kill("SIGTERM");
    while (child.exitCode === null && child.signalCode === null) await pause(20);
  };
  return { url, stop, token: readFileSync(join(home, "token"), "utf8").trim() };
}

async function overHttp(url, token) {
  const transport = new StreamableHTTPClientTransport(new URL("/mcp", url), {
    requestInit: { headers: { Authorization: `Bearer ${token}` } },
  });
  const client = new Client({ name: "typescript", version: "1" });
  await client.connect(transport);
  return client;
}

/** Calls a tool; its text must be the same JSON as its structured content. */
async function call(client, name, args = {}, options = {}) {
  const result = await client.callTool({ name, arguments: args }, undefined, options);
  if (result.isError) return result;
  assert.equal(result.content.length, 1);
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
  return result.structuredContent;
}

async function exercise(client, instance) {
  assert.equal(client.getServerVersion().name, "echovessel");
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool) => tool.name).sort(), [...TOOLS].sort());
  for (const tool of tools) assert.equal(tool.inputSchema.type, "object", tool.name);

  const file = { category: "custom", filename: "list.md", instanceId: instance };
  assert.equal((await call(client, "identity_write", { ...file, content: "# List\n\n## One\n\nfirst\n" })).success, true);
  await call(client, "identity_update_section", { ...file, section: "One", content: "second" });
  const { custom } = await call(client, "identity_get_all");
  assert.match(custom.find((found) => found.filename === "list.md").content, /first[\s\S]*second/);

  const day = { granularity: "daily", date: "2026-05-02", instanceId: instance };
  const { memoryId } = await call(client, "memory_create", { ...day, content: `# A day\n\n- 我们去看了樱花 [chat:1] [via:${instance}]` });
  assert.equal(memoryId, `daily-2026-05-02_${instance}`);
  const read = await call(client, "memory_read", day);
  assert.match(read.memory.content, /樱花/);
  const grep = await call(client, "memory_grep", { query: "樱花" });
  assert.equal(grep.results.length, 1);
  const found = await call(client, "memory_search", { query: "樱花", instanceId: instance });
  assert.equal(found.results[0].granularity, "daily");

  const edge = { fromLabel: "Mia", toLabel: "cherry trees", type: "loves", sourceMemoryId: memoryId };
  const nodes = [{ type: "person", label: "Mia" }, { type: "topic", label: "cherry trees", sourceMemoryId: memoryId }];
  const written = await call(client, "graph_write_transaction", { nodes, edges: [edge], instanceId: instance });
  assert.equal(written.edgesCreated, 1);
  assert.equal((await call(client, "memory_delete", day)).success, true);
  const left = await call(client, "graph_node_list");
  assert.deepEqual(left.nodes.map((node) => node.label), ["Mia"], "what rested on the memory alone is gone");
  assert.deepEqual((await call(client, "graph_edge_get")).edges, []);

  const invalid = await call(client, "memory_create", { granularity: "daily", content: "x" });
  assert.equal(invalid.isError, true);
  assert.match(invalid.content[0].text, /date: it is required/);
  const pulled = await call(client, "sync_pull", { instanceId: instance });
  assert.equal(pulled.success, true);
  assert.ok(pulled.newSyncToken.versionVector);
  const missing = await call(client, "no_such_tool");
  assert.match(missing.content[0].text, /-32602: Tool no_such_tool not found/);
}

test("over standard input and output", async () => {
  const client = await overStdio(newHome(), "laptop");
  await exercise(client, "laptop");
  const foreign = await call(client, "memory_create", { granularity: "daily", date: "2026-05-02", content: "x", instanceId: "phone" });
  assert.equal(foreign.success, false);
  await client.close();
});

test("over HTTP, each token as its own instance", async () => {
  const home = newHome();
  const daemon = await startDaemon(home);
  try {
    const owner = await overHttp(daemon.url, daemon.token);
    await exercise(owner, "house");
    const made = execFileSync(BINARY, ["token", "create", "--scope", "hub:phone", "--name", "phone", "--home", home, "--json"], { env: { ...process.env, ...SETTINGS } });
    const phone = await overHttp(daemon.url, JSON.parse(made).token);
    const text = { category: "custom", filename: "phone.md", content: "hello" };
    assert.equal((await call(phone, "identity_write", text)).success, true);
    assert.equal((await call(phone, "identity_write", { ...text, instanceId: "house" })).success, false);
    const steps = [];
    await call(phone, "embedding_rebuild_all", {}, { onprogress: (step) => steps.push(step) });
    assert.ok(steps.length > 0, "long work is told of");
    await assert.rejects(overHttp(daemon.url, "wrong"));

    // Beside the daemon: the same memory, over the socket.
    const beside = await overStdio(home, "laptop");
    const { custom } = await call(beside, "identity_get_all");
    assert.ok(custom.some((found) => found.filename === "phone.md"));
    assert.equal(statSync(join(home, "hub.sock")).mode & 0o777, 0o600);
    await beside.close();
    await owner.close();
    await phone.close();
  } finally {
    await daemon.stop();
  }
});

test("defect 10: at the loudest log level nothing but messages is on standard output", async () => {
  const child = spawn(BINARY, ["mcp", "--home", newHome(), "--instance", "laptop"], {
    env: { ...process.env, ...SETTINGS, ECHOVESSEL_LOG: "trace" },
    stdio: ["pipe", "pipe", "ignore"],
  });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (said += text));
  const say = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  // What the protocol's inspector says first.
  const clientInfo = { name: "mcp-inspector", version: "0.17.0" };
  const capabilities = { sampling: {}, elicitation: {}, roots: { listChanged: true } };
  say({ id: 0, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities, clientInfo } });
  say({ method: "notifications/initialized" });
  say({ id: 1, method: "tools/list", params: {} });
  const day = { granularity: "daily", date: "2026-05-02", content: `- ${"long ".repeat(60)}[chat:1] [via:laptop]` };
  say({ id: 2, method: "tools/call", params: { name: "memory_create", arguments: day } });
  say({ id: 3, method: "tools/call", params: { name: "snapshot_create", arguments: {} } });
  say({ id: 4, method: "ping" });
  child.stdin.end();
  const status = await new Promise((resolve) => child.on("exit", resolve));
  assert.equal(status, 0);
  const messages = said.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  assert.deepEqual(messages.map((message) => message.id).sort(), [0, 1, 2, 3, 4], "every call has its answer");
  assert.ok(messages.every((message) => message.jsonrpc === "2.0"));
});
