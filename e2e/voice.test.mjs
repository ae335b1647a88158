// Speaking and hearing in a real browser: espeak-ng speaks, Chromium's fake microphone plays what espeak-ng said, and
// pocketsphinx, where it is installed, writes down what it hears.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DAEMON, startDaemon } from "./daemon.mjs";
import { story } from "./steps.mjs";

const folder = mkdtempSync(join(tmpdir(), "echovessel-voice-"));
const SAID = join(folder, "said.wav");
const SAMPLE = join(folder, "sample.wav");
const hears = spawnSync("pocketsphinx_continuous").error === undefined;
const HEARING = hears && {
  ECHOVESSEL__VOICE__ENABLED: "true",
  ECHOVESSEL__VOICE__STT_PROVIDER: "command",
  ECHOVESSEL__VOICE__STT_COMMAND: "pocketsphinx_continuous,-logfn,/dev/null,-infile",
};

execFileSync("espeak-ng", ["-v", "en-us", "-w", SAID, "Good morning. Good morning. Good morning."]);
execFileSync("espeak-ng", ["-v", "en-us", "-w", SAMPLE, "I am a sample of a voice and I speak for a few seconds without any music."]);

const s = story(
  "voice",
  async () => {
    const daemon = await startDaemon(DAEMON, HEARING || {});
    const stop = daemon.stop;
    daemon.stop = async () => {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    };
    return daemon;
  },
  {
    flags: [
      "--use-fake-ui-for-media-stream",
      "--use-fake-device-for-media-stream",
      `--use-file-for-fake-audio-capture=${SAID}`,
      "--autoplay-policy=no-user-gesture-required",
    ],
  },
);
const button = (name) => s.page.getByRole("button", { name, exact: true });
const replies = () => s.page.locator('article[data-role="persona"][data-delivery="kept"]');

s.step("one switch makes the persona speak", async () => {
  await s.page.goto(s.daemon.link);
  await s.page.goto(`${s.daemon.url}/settings/voice`);
  const speak = s.page.getByLabel("Speak replies");
  await speak.check();
  await s.page.getByText("Spoken by espeak-ng (command)").waitFor();
  await s.page.getByLabel("Play new replies automatically").check();
  await s.looks("panel");
});

s.step("voices can be previewed, and another voice activated", async () => {
  const previewed = s.page.waitForResponse((answer) => answer.url().includes("/voice/preview"));
  await button("Preview").first().click();
  const sound = await (await previewed).body();
  assert.equal(sound.subarray(0, 4).toString(), "RIFF");
  assert.ok(sound.length > 20_000, `${sound.length} bytes`);
  await s.page.getByLabel("Voice of this persona").fill("en-gb");
  await button("Activate").click();
  await s.page.getByText("Voice activated.").waitFor();
  await s.clearNotices();
});

s.step("a reply is spoken, and a press plays it with its progress", async () => {
  await s.page.goto(`${s.daemon.url}/`);
  const spoken = s.page.waitForResponse((answer) => answer.url().includes("/api/chat/voice/live/"));
  await s.page.locator("#words").fill("Hello there");
  await s.page.keyboard.press("Enter");
  assert.equal((await spoken).headers()["content-type"], "audio/wav");
  await replies().last().waitFor();
  const play = replies().last().locator('[data-act="play"]');
  // The new reply plays by itself; a press stops it, and another begins anew.
  if ((await play.getAttribute("aria-pressed")) === "true") await play.click();
  await play.focus();
  await s.page.keyboard.press("Enter");
  const progress = replies().last().locator("progress");
  await progress.waitFor();
  await s.page.waitForFunction(() => (document.querySelector("article progress")?.value ?? 0) > 0.05);
  await s.looks("playing");
  await progress.waitFor({ state: "detached" });
});

s.step("the microphone's words become a message", async () => {
  if (!hears) return;
  await button("Record a message").click();
  const meter = s.page.getByLabel("Microphone level");
  await meter.waitFor();
  await s.page.waitForFunction(() => (document.querySelector("form meter")?.value ?? 0) > 0.2);
  await s.looks("recording");
  await s.page.keyboard.press("Escape");
  await meter.waitFor({ state: "detached" });
  await button("Record a message").click();
  await s.page.getByText("3 s", { exact: true }).waitFor();
  const answered = s.page.waitForResponse((answer) => answer.url().includes("/api/chat/transcribe"));
  await button("Finish the recording").click();
  const transcript = await (await answered).json();
  // The fake microphone begins anywhere in its file, so which words are understood differs; crates/voice tests the words.
  assert.match(transcript.text, /\w+ \w+/);
  assert.ok(transcript.duration_seconds > 2.5 && transcript.duration_seconds < 30, `${transcript.duration_seconds} s`);
  await s.page.waitForFunction((text) => document.querySelector("#words").value === text, transcript.text);
  await s.page.keyboard.press("Enter");
  await s.page.locator('article[data-role="user"]').last().filter({ hasText: transcript.text }).waitFor();
});

s.step("a sample is checked when it is uploaded", async () => {
  const token = s.daemon.token();
  const upload = async (bytes) => {
    const form = new FormData();
    form.append("file", new Blob([bytes]), "sample.wav");
    const headers = { authorization: `Bearer ${token}` };
    return fetch(`${s.daemon.url}/api/admin/voice/samples`, { method: "POST", body: form, headers });
  };
  assert.equal((await upload(readFileSync(SAMPLE))).status, 200);
  const refused = await upload(Buffer.from("this is no sound"));
  assert.equal(refused.status, 400);
  assert.match((await refused.json()).detail, /neither a WAV nor an Ogg Opus file/);
});

s.step("a token does not choose which programs run", async () => {
  const headers = { authorization: `Bearer ${s.daemon.token()}`, "content-type": "application/json" };
  const change = (method, path, body) => fetch(`${s.daemon.url}${path}`, { method, headers, body: JSON.stringify(body) });
  for (const key of ["tts_command", "stt_command"]) {
    const refused = await change("PATCH", "/api/admin/config", { voice: { [key]: ["sh", "-c", "id"] } });
    assert.equal(refused.status, 403);
    assert.match((await refused.json()).detail, /set it in config\.toml/);
  }
  assert.equal((await change("POST", "/api/admin/voice/use", { program: "sh" })).status, 404);
});

s.step("the page reads well in Chinese", async () => {
  await s.page.goto(`${s.daemon.url}/settings/voice`);
  await button("切换到中文").or(button("中文")).first().click();
  await s.page.getByText("朗读回复").waitFor();
  await s.looks("panel-chinese");
});
