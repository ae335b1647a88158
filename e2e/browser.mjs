// Opens the system's Chromium with an empty profile and records requests and console errors.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Longest wait for anything, also on a busy machine. Nothing asserts it. */
const WAIT_MS_MAX = 180_000;

/** `flags`: more arguments of the browser. */
export async function openBrowser({ flags = [], ...options } = {}) {
  const profile = mkdtempSync(join(tmpdir(), "echovessel-chromium-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? findBrowser(),
    args: [...FLAGS, ...flags],
    viewport: { width: 1180, height: 800 },
    locale: "en-GB",
    timezoneId: "Asia/Shanghai",
    colorScheme: "light",
    // Contrast is measured without animations.
    reducedMotion: "reduce",
    timeout: WAIT_MS_MAX,
    ...options,
  });
  context.setDefaultTimeout(WAIT_MS_MAX);
  context.setDefaultNavigationTimeout(WAIT_MS_MAX);
  const page = context.pages()[0] ?? (await context.newPage());
  const requests = [];
  const complaints = [];
  context.on("request", (request) => requests.push(request.url()));
  page.on("console", (message) => {
    if (message.type() !== "error" && message.type() !== "warning") return;
    complaints.push(`${message.text()} ${message.location().url}`.trim());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  await context.addInitScript(() => {
    /** A request with the page's half of the login, as the page itself sends it. */
    globalThis.api = (path, init = {}) => {
      const login = localStorage.getItem("echovessel.login");
      return fetch(path, { ...init, headers: { ...init.headers, ...(login && { "X-EchoVessel-Login": login }) } });
    };
  });
  const close = async () => {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  };
  return { context, page, requests, complaints, close };
}

function findBrowser() {
  return execFileSync(fileURLToPath(new URL("../scripts/find-browser", import.meta.url)), { encoding: "utf8" }).trim();
}

/** Accessibility violations with their elements, one entry each. */
export async function violations(page) {
  await page.evaluate(AXE);
  const { violations: found } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return found.map(
    (rule) => `${rule.id}: ${rule.help}\n${rule.nodes.map((node) => `    ${node.html}\n      ${node.failureSummary}`).join("\n")}`,
  );
}
