// The scripted language model, on a free port: plausible answers at the pace of a person who reads along.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const PROGRAM = process.env.SCRIPTED_MODEL_BIN ?? "../target/debug/scripted-model";

/** `{ settings, stop() }`: what makes a daemon talk to it. */
export async function startModel({ firstTokenMs = 150, betweenTokensMs = 30 } = {}) {
  const binary = fileURLToPath(new URL(PROGRAM, import.meta.url));
  if (!existsSync(binary)) throw new Error(`${binary} is missing: build it first (cargo build -p testkit --bins).`);
  const pace = ["--first-token", `${firstTokenMs}`, "--between-tokens", `${betweenTokensMs}`];
  const child = spawn(binary, ["--port", "0", ...pace], { stdio: ["ignore", "pipe", "inherit"] });
  const url = await new Promise((resolve, reject) => {
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      said += text;
      if (said.includes("\n")) resolve(said.trim());
    });
    child.on("exit", (status) => reject(new Error(`the scripted model ended at once (exit ${status})`)));
    child.on("error", reject);
  });
  const settings = {
    ECHOVESSEL__LLM__PROVIDER: "openai",
    ECHOVESSEL__LLM__BASE_URL: url,
    ECHOVESSEL__LLM__MODEL: "scripted",
  };
  return { settings, stop: () => child.kill("SIGTERM") };
}
