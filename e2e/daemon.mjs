// Starts the daemon with a temporary home and reads its URL.

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const START_MS_MAX = 120_000;
const STOP_MS_MAX = 60_000;
const SETTINGS = {
  ECHOVESSEL__LLM__PROVIDER: "offline",
  ECHOVESSEL__EMBEDDING__PROVIDER: "none",
  ECHOVESSEL__SESSION__IDLE: "2s",
  ECHOVESSEL__SESSION__SCAN_EVERY: "200ms",
  ECHOVESSEL__CONSOLIDATE__POLL_EVERY: "200ms",
  ECHOVESSEL__CHANNELS__WEB__DEBOUNCE: "50ms",
};

/** The debug binary, or ECHOVESSEL_BIN, relative to this folder. */
export const DAEMON = process.env.ECHOVESSEL_BIN ?? "../target/debug/echovessel";
/** The mock, for what the offline provider never does. */
export const MOCK = "../web/dev/mock.mjs";

/**
 * `{ url, link, token(), log(), stop(), restart() }` once run.json and the login link are there. `prepare` is given the home
 * before.
 */
export async function startDaemon(program = DAEMON, settings = {}, prepare = () => undefined) {
  const binary = fileURLToPath(new URL(program, import.meta.url));
  if (!existsSync(binary)) throw new Error(`${binary} is missing: build it first (cargo build -p echovessel, after npm run build in web).`);
  const home = mkdtempSync(join(tmpdir(), "echovessel-e2e-"));
  const daemon = { home, run: null };
  const launch = async (port) => {
    daemon.run = launched(binary, home, port, settings);
    const { link, url } = await daemon.run.up();
    return { link, url: new URL(url).origin };
  };
  try {
    prepare(home);
    const { link, url } = await launch("0");
    return {
      link,
      url,
      /** The owner's token, for requests of other programs. */
      token: () => readFileSync(join(home, "token"), "utf8").trim(),
      log: () => daemon.run.log(),
      stop: async () => {
        await daemon.run.stop();
        rmSync(home, { recursive: true, force: true });
      },
      /** Stops it, waits for `between`, and starts it again on the same port. */
      restart: async (between = async () => undefined) => {
        await daemon.run.stop();
        await between();
        await launch(new URL(url).port);
      },
    };
  } catch (error) {
    await daemon.run?.stop();
    rmSync(home, { recursive: true, force: true });
    throw error;
  }
}

/** One run of the program. */
function launched(binary, home, port, settings) {
  rmSync(join(home, "run.json"), { force: true });
  const child = spawn(binary, ["run", "--port", port, "--home", home, "--no-open"], {
    env: { ...process.env, ...SETTINGS, ...settings },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text) => (said.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text) => (said.stderr += text));
  let ended = null;
  child.on("error", (error) => (ended = String(error)));
  child.on("exit", (status, signal) => (ended ??= `exit ${status ?? signal}`));

  const log = () =>
    [`home: ${home}`, `ended: ${ended ?? "no"}`, "--- stdout", tail(said.stdout), "--- stderr", tail(said.stderr)].join("\n");
  const up = async () => {
    const deadline = Date.now() + START_MS_MAX;
    while (Date.now() < deadline && ended === null) {
      const link = /http:\/\/[^\s"']+\/login\?code=[^\s"']+/.exec(said.stdout)?.[0];
      const run = readRun(join(home, "run.json"));
      if (link && run) return { link, url: run.url };
      await pause(50);
    }
    throw new Error(`The daemon did not come up (run.json and a login link on standard output were awaited).\n${log()}`);
  };
  return { log, up, stop: () => stopChild(child, () => ended) };
}

function readRun(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return null; // not there yet, or half written
  }
}

async function stopChild(child, ended) {
  if (ended() === null) child.kill("SIGTERM");
  const deadline = Date.now() + STOP_MS_MAX;
  while (ended() === null && Date.now() < deadline) await pause(50);
  const late = ended() === null;
  if (late) child.kill("SIGKILL");
  if (late) throw new Error(`The daemon did not stop within ${STOP_MS_MAX / 1000} s of SIGTERM.`);
}

function tail(text) {
  return text.split("\n").slice(-60).join("\n");
}
