// Starts the scripted language model on a free port.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer, request } from "node:http";
import { fileURLToPath } from "node:url";

const PROGRAM = process.env.SCRIPTED_MODEL_BIN ?? "../target/debug/scripted-model";

/**
 * `{ url, settings, fail(yes), hold(pieces), stop() }`: `settings` make a daemon talk to it. With a `key` it refuses requests without it.
 * While it fails it refuses every
 * question. Held, it says no more than that many pieces of each answer, and rests until it is held at more or, with null,
 * let go on.
 */
export async function startModel({ firstTokenMs = 150, betweenTokensMs = 30, key = null, port = 0 } = {}) {
  const binary = fileURLToPath(new URL(PROGRAM, import.meta.url));
  if (!existsSync(binary)) throw new Error(`${binary} is missing: build it first (cargo build -p testkit --bins).`);
  const pace = ["--first-token", `${firstTokenMs}`, "--between-tokens", `${betweenTokensMs}`];
  const child = spawn(binary, ["--port", `${port}`, ...pace, ...(key ? ["--key", key] : [])], { stdio: ["ignore", "pipe", "inherit"] });
  const url = await new Promise((resolve, reject) => {
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      said += text;
      if (said.includes("\n")) resolve(said.trim());
    });
    child.on("exit", (status) => reject(new Error(`the scripted model ended at once (exit ${status})`)));
    child.on("error", reject);
  });
  const proxy = await openProxy(new URL(url));
  const settings = {
    ECHOVESSEL__LLM__PROVIDER: "openai",
    ECHOVESSEL__LLM__BASE_URL: proxy.url,
    ECHOVESSEL__LLM__MODEL: "scripted",
  };
  const stop = () => {
    proxy.close();
    child.kill("SIGTERM");
  };
  return { url: proxy.url, settings, fail: proxy.fail, hold: proxy.hold, stop };
}

/** A proxy in front of the model that can fail or hold back responses. */
async function openProxy(model) {
  let failing = false;
  let most = Number.POSITIVE_INFINITY;
  const waiting = [];
  const hold = (pieces) => {
    most = pieces ?? Number.POSITIVE_INFINITY;
    for (const goOn of waiting.splice(0)) goOn();
  };
  /** Waits until event number `before` may pass. */
  const passes = async (before) => {
    while (before >= most) await new Promise((goOn) => waiting.push(goOn));
  };
  const server = createServer((question, answer) => {
    if (failing) {
      question.resume();
      answer.writeHead(400, { "Content-Type": "application/json" });
      answer.end(JSON.stringify({ error: { message: "the scripted model is told to fail", type: "invalid_request_error" } }));
      return;
    }
    const { method, headers } = question;
    const passed = request({ host: model.hostname, port: model.port, path: question.url, method, headers }, (given) => {
      answer.writeHead(given.statusCode, given.headers);
      void pass(given, answer, passes);
    });
    passed.on("error", () => answer.destroy());
    answer.on("close", () => passed.destroy());
    question.pipe(passed);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${server.address().port}${model.pathname}`, fail: (yes) => (failing = yes), hold, close };
}

/** Forwards a response: a stream event by event, each when it may pass; any other response as one piece. */
async function pass(given, answer, passes) {
  const isStream = /event-stream/.test(given.headers["content-type"] ?? "");
  let rest = "";
  let pieces = 0;
  try {
    for await (const chunk of given.setEncoding("utf8")) {
      rest += chunk;
      for (let end = rest.indexOf("\n\n"); isStream && end >= 0; end = rest.indexOf("\n\n")) {
        await passes(pieces++);
        answer.write(rest.slice(0, end + 2));
        rest = rest.slice(end + 2);
      }
    }
    if (rest) await passes(pieces);
    answer.end(rest);
  } catch {
    answer.destroy(); // the model, or whoever asked, has gone
  }
}
