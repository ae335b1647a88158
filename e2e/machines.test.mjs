// Two machines: the page of a home that follows another one, and that of its hub.

import assert from "node:assert/strict";
import { DAEMON, startDaemon } from "./daemon.mjs";
import { pushDocument } from "./hub.mjs";
import { visit } from "./screens.mjs";
import { story } from "./steps.mjs";

let hub;
const s = story("machines", async () => {
  hub = await startDaemon(DAEMON, { ECHOVESSEL__HUB__INSTANCE: "home" });
  const answer = await fetch(`${hub.url}/api/admin/tokens`, {
    method: "POST",
    headers: { authorization: `Bearer ${hub.token()}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "laptop", scopes: ["hub:laptop"] }),
  });
  const { token } = await answer.json();
  await pushDocument(hub, "desk", "bond.md", "We like rain.\n", "2026-07-01T10:00:00Z");
  const laptop = await startDaemon(DAEMON, {
    ECHOVESSEL__HUB__INSTANCE: "laptop",
    ECHOVESSEL__SYNC__URL: hub.url,
    ECHOVESSEL_HUB_TOKEN: token,
  });
  const stop = laptop.stop;
  laptop.stop = async () => {
    await stop();
    await hub.stop();
  };
  return laptop;
});
const { step, picture, assertAccessible } = s;
const standing = () => s.page.getByTestId("hub-standing");

step("the page of an embodiment shows its hub", async () => {
  await s.page.goto(s.daemon.link);
  await s.page.locator('[data-connection="live"]').waitFor();
  await visit(s.page, s.daemon.url, "/settings/health");
  await standing().getByText("Connected; changes are synced as they happen").waitFor();
  await standing().getByRole("button", { name: "Sync now" }).click();
  await standing().getByText("Last synced").waitFor();
  assert.match(await standing().innerText(), new RegExp(hub.url));
  await picture("embodiment");
  await assertAccessible("the hub of an embodiment");
});

step("the page of the hub shows who shares it", async () => {
  await s.page.goto(hub.link);
  await s.page.locator('[data-connection="live"]').waitFor();
  await visit(s.page, hub.url, "/settings/health");
  await s.page.getByTestId("hub-instances").getByText("laptop · up to date").waitFor();
  await picture("hub");
  await assertAccessible("the embodiments of a hub");
});

step("a hub that is away is said with its remedy, and everything goes on", async () => {
  await hub.restart(async () => {
    await visit(s.page, s.daemon.url, "/settings/health");
    await standing().getByRole("button", { name: "Sync now" }).click();
    await standing().getByText("Not reachable").waitFor();
    assert.match(await standing().innerText(), /nothing answers at 127\.0\.0\.1/);
    await picture("away");
  });
  await standing().getByRole("button", { name: "Sync now" }).click();
  await standing().getByText("Connected; changes are synced as they happen").waitFor();
});
