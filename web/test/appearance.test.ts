// @vitest-environment happy-dom
import { flushSync, mount, unmount } from "svelte";
import { afterEach, expect, test, vi } from "vitest";
import Appearance from "../src/settings/Appearance.svelte";

let end: () => void;

afterEach(() => {
  end();
  document.body.innerHTML = "";
  vi.unstubAllGlobals();
});

async function zoneField(user: { status: number; timezone: string | null }): Promise<HTMLInputElement> {
  const body = { id: "self", display_name: null, timezone: user.timezone, created_at: null, identities: [] };
  vi.stubGlobal("fetch", async () => new Response(JSON.stringify(body), { status: user.status }));
  const screen = mount(Appearance, { target: document.body });
  end = () => void unmount(screen);
  flushSync();
  await new Promise((done) => setTimeout(done, 20));
  flushSync();
  return document.querySelector<HTMLInputElement>('input[autocomplete="off"]')!;
}

test("the time zone field is empty while no zone is saved", async () => {
  const field = await zoneField({ status: 404, timezone: null });
  expect(field.value).toBe("");
  expect(field.placeholder).toContain("not set");
});

test("the time zone field shows the saved zone", async () => {
  expect((await zoneField({ status: 200, timezone: "Asia/Tokyo" })).value).toBe("Asia/Tokyo");
});
