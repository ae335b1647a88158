// Chat and memory with the real program and a scripted language model.

import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { openBrowser } from "./browser.mjs";
import { DAEMON, startDaemon } from "./daemon.mjs";
import { startModel } from "./model.mjs";
import { SCREENS, visit } from "./screens.mjs";
import { story } from "./steps.mjs";

const CAT = "我养了只白猫,叫小黑。他超调皮,老在半夜跳到我脸上。";
const SCRIPT_BYTES_MAX = 150_000;

let model;
const s = story("chat", async () => {
  model = await startModel();
  const daemon = await startDaemon(DAEMON, model.settings);
  const stop = daemon.stop;
  daemon.stop = async () => {
    await stop();
    model.stop();
  };
  return daemon;
});
const { step, picture, assertAccessible, clearNotices } = s;

const own = () => s.page.locator('article[data-role="user"]');
const replies = () => s.page.locator('article[data-role="persona"][data-delivery="kept"]');
const dialog = () => s.page.getByRole("dialog");
const notice = (text) => s.page.getByTestId("toasts").getByText(text);
const button = (name, within = s.page) => within.getByRole("button", { name, exact: true });

async function say(text, page = s.page) {
  await page.locator("#words").fill(text);
  await page.keyboard.press("Enter");
}

/** Sends a message and waits for the complete reply to it; `text` is nowhere else in the conversation. */
async function talk(text) {
  await say(text);
  await s.page.waitForFunction((said) => {
    const articles = [...document.querySelectorAll("article[data-role]")];
    const sent = articles.findLastIndex(({ dataset, textContent }) => dataset.role === "user" && textContent.includes(said));
    return sent >= 0 && articles.slice(sent + 1).some(({ dataset }) => dataset.role === "persona" && dataset.delivery === "kept");
  }, text);
}

/** The user's message, also while it is being edited. */
async function mine(text) {
  const found = own().filter({ hasText: text });
  return s.page.locator(`article[data-message="${await found.getAttribute("data-message")}"]`);
}

/** Waits until every session is consolidated. */
async function remembered() {
  await s.page.waitForFunction(async () => {
    const { sessions } = await (await api("/api/admin/sessions?limit=200")).json();
    return sessions.every(({ status }) => status === "closed");
  });
}

const screen = (name) => s.page.getByRole("navigation", { name: "Screens" }).getByRole("link", { name }).click();
const tab = (name) => s.page.locator("main").getByRole("link", { name, exact: true }).click();

step("the sign-in link opens the page within its script budget", async () => {
  const scripts = [];
  const weigh = (response) => {
    if (response.url().endsWith(".js")) scripts.push(response.body().then((body) => gzipSync(body).length));
  };
  s.page.on("response", weigh);
  await s.page.goto(s.daemon.link);
  await s.page.locator('[data-connection="live"]').waitFor();
  s.page.off("response", weigh);
  const bytes = (await Promise.all(scripts)).reduce((sum, size) => sum + size, 0);
  const painted = await s.page.evaluate(() => Math.round(performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0));
  console.log(`first load: ${bytes} bytes of script, compressed; first painted after ${painted} ms`);
  assert.ok(bytes > 10_000 && bytes <= SCRIPT_BYTES_MAX, `${bytes} bytes of script at the first load`);
  assert.equal(await s.page.getByTestId("offline").count(), 0, "a model is there");
});

step("a persona is drafted from material and reviewed", async () => {
  await s.page.getByRole("link", { name: "Describe Echo" }).click();
  await s.page.getByRole("heading", { name: "Get started" }).waitFor();
  await s.page.getByLabel("Name", { exact: true }).fill("小鱼");
  await s.page.getByLabel(/From material/).check();
  await s.page.getByLabel("Material", { exact: true }).fill("小鱼在海边长大,说话直,爱笑。");
  await picture("beginning-material");
  await button("Create a draft").click();
  const block = s.page.getByLabel("Who the persona is");
  await block.waitFor();
  await block.fill("小鱼在海边长大,说话直,爱笑。");
  await button("Save and start").click();
  await s.page.getByRole("heading", { name: "小鱼", level: 1 }).waitFor();
});

step("a reply streams in, word by word", async () => {
  await s.page.evaluate(() => {
    globalThis.growth = new Set();
    new MutationObserver(() => {
      const writing = document.querySelector('article[data-delivery="streaming"] .text');
      if (writing?.textContent.trim()) globalThis.growth.add(writing.textContent);
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  // Releases a few more tokens each time the page has shown the last ones.
  model.hold(4);
  await say(CAT);
  for (const times of [1, 2, 3]) {
    await s.page.waitForFunction((count) => globalThis.growth.size >= count, times);
    model.hold(times < 3 ? 4 + 2 * times : null);
  }
  await replies().filter({ hasText: "小黑" }).waitFor();
  assert.equal(await own().count(), 1);
  assert.equal(await s.page.locator("#words").inputValue(), "");
});

step("after a silence the session ends and the timeline grows", async () => {
  const timeline = s.page.getByTestId("timeline");
  await timeline.locator('li[data-kind="event"]').filter({ hasText: "小黑" }).first().waitFor();
  await timeline.locator('li[data-kind="session_close"]').first().waitFor();
  await s.page.locator("li.divider").first().waitFor();
});

step("a draft survives a reload", async () => {
  await s.page.locator("#words").fill("not yet said");
  await s.page.reload();
  await s.page.locator('[data-connection="live"]').waitFor();
  assert.equal(await s.page.locator("#words").inputValue(), "not yet said");
  await s.page.locator("#words").fill("");
});

step("recalled memories can be pinned, corrected and forgotten from the receipt, each with undo", async () => {
  await talk("你还记得我的猫小黑吗");
  await replies().last().locator('[data-act="why"]').click();
  const first = dialog().getByTestId("used").filter({ hasText: "The user said" }).filter({ hasText: "小黑" }).first();
  const used = dialog().locator(`[data-memory="${await first.getAttribute("data-memory")}"]`);
  await picture("receipt");

  await button("Pin", used).click();
  await notice("Pinned: always remembered.").waitFor();
  await button("Undo").click();
  await button("Pin", used).waitFor();

  await button("Correct", used).click();
  await used.getByRole("textbox").fill("小黑其实是黑猫。");
  await button("Save", used).click();
  await notice("Corrected.").waitFor();
  await used.getByText("小黑其实是黑猫。").waitFor();
  await s.page.getByTestId("toasts").getByRole("button", { name: "Undo" }).last().click();
  await used.getByText("The user said").waitFor();

  await button("Forget", used).click();
  await s.page.getByTestId("toasts").getByText("Forgotten.").waitFor();
  await s.page.getByTestId("toasts").getByRole("button", { name: "Undo" }).last().click();
  await button("Forget", used).waitFor();
});

step("'Show message' leads to the message", async () => {
  const used = dialog().getByTestId("used").filter({ hasText: "The user said" }).first();
  await button("Show message", used).click();
  await dialog().waitFor({ state: "detached" });
  await s.page.locator("article.highlighted").filter({ hasText: "小黑" }).waitFor();
});

step("a new reply replaces the last one", async () => {
  const before = await replies().last().getAttribute("data-message");
  await replies().last().hover();
  await button("New reply", replies().last()).click();
  await s.page.waitForFunction((id) => {
    const kept = [...document.querySelectorAll('article[data-role="persona"][data-delivery="kept"]')];
    return kept.length === 2 && !kept.some((article) => article.dataset.message === id);
  }, before);
});

step("a reply can be stopped, and its text so far is kept", async () => {
  model.hold(6);
  await say("tell me something long: " + "one two three four five six seven eight nine ten ".repeat(2));
  await s.page.locator('article[data-delivery="streaming"] .text').filter({ hasText: "heard" }).waitFor();
  await s.page.locator("#words").fill("");
  await button("Stop the reply").click();
  await s.page.getByText("This reply was cut off.").waitFor();
  model.hold(null);
});

step("a message can be edited; Escape cancels", async () => {
  const article = await mine("tell me something long");
  await article.hover();
  await button("Edit", article).click();
  await article.getByRole("textbox").press("Escape");
  await article.hover();
  await button("Edit", article).click();
  await article.getByRole("textbox").fill("tell me something short");
  await picture("editing");
  await button("Save", article).click();
  await own().filter({ hasText: "tell me something short" }).waitFor();
});

step("a message is deleted only after confirmation", async () => {
  const article = own().filter({ hasText: "tell me something short" });
  await article.hover();
  await button("Delete", article).click();
  await dialog().getByText("Also deleted").waitFor();
  await picture("delete-message");
  await assertAccessible("deleting a message");
  await button("Cancel", dialog()).click();
  assert.equal(await article.count(), 1, "Cancel cancels");
  await article.hover();
  await button("Delete", article).click();
  await dialog().getByText("Also deleted").waitFor();
  await button("Delete", dialog()).click();
  await article.waitFor({ state: "detached" });
});

step("a search in Chinese finds the memory and shows its evidence", async () => {
  await screen("Memory");
  await s.page.getByRole("searchbox").fill("小黑");
  const found = s.page.getByTestId("found").locator("[data-memory]").filter({ hasText: "小黑" });
  await found.first().waitFor();
  await picture("search-chinese");
  await assertAccessible("search");
  await clearNotices();
  await found.filter({ hasText: "我养了只白猫" }).first().getByRole("button").first().click();
  await dialog().getByText("Evidence").waitFor();
  await dialog().getByText("undone").waitFor();
  await picture("memory-detail");
  await assertAccessible("a memory");
});

step("the title and the close button of a sheet stay in view while it scrolls", async () => {
  await s.page.setViewportSize({ width: 1180, height: 320 });
  const sheet = dialog();
  const scrolled = await sheet.evaluate((element) => {
    element.scrollTop = element.scrollHeight;
    return element.scrollTop;
  });
  assert.ok(scrolled > 0, "the sheet scrolls");
  const [top, close] = [await sheet.boundingBox(), await button("Close", sheet).boundingBox()];
  assert.ok(close.y >= top.y && close.y < top.y + 60, `the close button is at ${close.y - top.y} px`);
  await picture("sheet-scrolled");
  await s.page.setViewportSize({ width: 1180, height: 800 });
});

step("a search without a hit says that nothing was found", async () => {
  await s.page.keyboard.press("Escape");
  await dialog().waitFor({ state: "detached" });
  await s.page.getByRole("searchbox").fill("zzzqq");
  await s.page.getByText("Nothing found.").waitFor();
  assert.equal(await s.page.getByTestId("found").locator("li").count(), 0);
});

step("forgetting shows the thoughts that came from a memory; Cancel cancels", async () => {
  await s.page.getByRole("searchbox").fill("");
  await tab("Events");
  const event = s.page.getByTestId("memories").locator("[data-memory]").filter({ hasText: "我养了只白猫" });
  await event.getByRole("button").first().click();
  await button("Forget…", dialog()).click();
  const asked = dialog().filter({ hasText: "Forget this memory?" });
  await asked.getByText(/based on it/).waitFor();
  await picture("forget-memory");
  await assertAccessible("forgetting a memory");
  await button("Cancel", asked).click();
  await asked.waitFor({ state: "detached" });
  assert.equal(await event.count(), 1);
  await button("Forget…", dialog()).click();
  await asked.getByText(/based on it/).waitFor();
  await asked.getByLabel(/Don't mention these messages again/).check();
  await asked.getByRole("button", { name: /^(Forget thoughts too|Delete)$/ }).click();
  await notice("Memory forgotten.").waitFor();
  await event.waitFor({ state: "detached" });
});

step("a text is erased everywhere, with a receipt that does not contain it", async () => {
  await tab("Erased");
  const receipts = s.page.getByTestId("receipts");
  await remembered();
  await s.page.waitForFunction(() => !document.querySelector("main").innerText.includes("Loading…"));
  const before = await receipts.locator("li").count();
  await s.page.getByLabel("Erase everything that mentions…").fill("小黑");
  await button("Preview").click();
  await s.page.getByTestId("erase-preview").getByText("This would erase").waitFor();
  const words = s.page.getByTestId("erase-preview").getByRole("listitem");
  assert.ok((await words.filter({ hasText: "小黑" }).count()) > 0, "the words that would go are shown");
  await picture("erase-preview");
  await button("Erase now").click();
  await receipts.locator("li").nth(before).waitFor();
  assert.ok(!(await receipts.innerText()).includes("小黑"));
  await picture("erase-receipt");
  await screen("Chat");
  await s.page.locator("#words").waitFor();
  await own().filter({ hasText: "小黑" }).first().waitFor({ state: "detached" });
});

step("a setting applies at once, another after a restart, an invalid one is rejected", async () => {
  await screen("Settings");
  await tab("All settings");
  const live = s.page.locator('[data-setting="session.max_messages"]');
  await live.getByRole("textbox").fill("150");
  await button("Save", live).click();
  await notice("session.max_messages changed.").waitFor();
  const later = s.page.locator('[data-setting="session.answer_within"]');
  await later.getByRole("textbox").fill("5m");
  await button("Save", later).click();
  await later.getByText("restart pending").waitFor();
  await live.getByRole("textbox").fill("many");
  await button("Save", live).click();
  await live.getByRole("alert").waitFor();
  await picture("settings-refused");
  s.browser.complaints.length = 0; // the browser itself reports the 422
  await s.page.reload();
  assert.equal(await live.getByRole("textbox").inputValue(), "150");
});

step("a memory forgotten in one click is gone also when the page is left at once", async () => {
  await screen("Chat");
  await talk("我昨天在河边看见一只白鹭,它站了很久,我一直看到天黑才回家。");
  const event = s.page.getByTestId("timeline").locator('li[data-kind="event"]').filter({ hasText: "白鹭" });
  await event.waitFor();
  await talk("白鹭后来怎么样了");
  await replies().last().locator('[data-act="why"]').click();
  const used = dialog().getByTestId("used").filter({ hasText: "The user said" }).filter({ hasText: "看见一只白鹭" }).first();
  await button("Forget", used).click();
  await visit(s.page, s.daemon.url, "/memory/events");
  await s.page.getByTestId("memories").getByText("白鹭后来怎么样了").or(s.page.getByText("No memories yet.")).first().waitFor();
  await s.page.waitForFunction(() => !document.querySelector('[data-testid="memories"]')?.innerText.includes("看见一只白鹭"));
  await screen("Settings");
});

step("a token is shown once and can be revoked", async () => {
  await tab("Access");
  await s.page.getByLabel("Token name").fill("phone");
  await button("Create token").click();
  assert.match(await s.page.getByTestId("token").innerText(), /^ev_/);
  await picture("token-made");
  await button("Revoke").click();
  await button("Revoke", dialog()).click();
  await notice("phone revoked.").waitFor();
});

step("logged-in browsers are listed, told of and logged out", async () => {
  const logins = s.page.getByTestId("login");
  await logins.first().getByText("this browser").waitFor();
  const answer = await s.page.evaluate(() => api("/api/admin/login-code", { method: "POST" }).then((response) => response.json()));
  assert.equal((await fetch(answer.url, { redirect: "manual", headers: { "User-Agent": "curl/8.5.0" } })).status, 303);
  await notice("New login: curl/8.5.0 (127.0.0.1)").waitFor();
  const other = logins.filter({ hasText: "curl/8.5.0" });
  await picture("logins");
  await button("Log out", other).click();
  await notice("curl/8.5.0 is logged out.").waitFor();
  await other.waitFor({ state: "detached" });
  assert.equal(await logins.count(), 1);
});

step("the persona's blocks are replaced, not appended", async () => {
  await tab("Persona");
  const block = s.page.getByLabel("Who you are");
  await block.waitFor();
  await block.fill("养过一只猫。");
  await s.page.locator("main form").first().getByRole("button", { name: "Save" }).click();
  await notice("Saved.").first().waitFor();
  await s.page.reload();
  await block.waitFor();
  assert.equal(await block.inputValue(), "养过一只猫。");
});

step("further conversations become memory", async () => {
  await screen("Chat");
  await s.page.locator("#words").waitFor();
  await talk("昨天我和妹妹去了海边,捡了一大袋贝壳,晚上一起煮了鱼汤,聊到很晚。");
  await talk("My sister Ines moved to Porto for her new job last week, and I already miss our Sunday breakfasts a lot.");
  const events = s.page.getByTestId("timeline").locator('li[data-kind="event"]');
  await events.filter({ hasText: "Porto" }).waitFor();
});

step("while the server restarts the page says so, then catches up", async () => {
  await screen("Chat");
  await s.daemon.restart(async () => {
    await s.page.locator('[data-connection="lost"]').waitFor();
    await picture("reconnecting");
  });
  await s.page.locator('[data-connection="live"]').waitFor();
  s.browser.complaints.length = 0; // the browser itself reports the broken stream
  await talk("are you back?");
});

step("a message in one tab appears in the other", async () => {
  const other = await s.browser.context.newPage();
  await other.goto(s.daemon.url);
  await other.locator('[data-connection="live"]').waitFor();
  await say("said in the other tab", other);
  await own().filter({ hasText: "said in the other tab" }).waitFor();
  await s.page.locator('article[data-role="persona"][data-delivery="kept"]', { hasText: "said in the other tab" }).waitFor();
  assert.equal(await own().filter({ hasText: "said in the other tab" }).count(), 1);
  await other.close();
});

step("with the keyboard alone: to a screen and back, a message, a receipt", async () => {
  await s.page.reload();
  await s.page.locator('[data-connection="live"]').waitFor();
  const reach = async (wanted) => {
    for (let presses = 0; presses < 80; presses++) {
      if (await s.page.evaluate((selector) => document.activeElement?.matches(selector), wanted)) return;
      await s.page.keyboard.press("Tab");
    }
    throw new Error(`Tab never reached ${wanted}`);
  };
  await s.page.evaluate(() => document.activeElement?.blur());
  await reach('nav a[href="/settings"]');
  await s.page.keyboard.press("Enter");
  await s.page.getByRole("heading", { name: "Settings" }).waitFor();
  await s.page.goBack();
  await s.page.locator("#words").waitFor();
  await reach("#words");
  await s.page.keyboard.type("typed by hand");
  await s.page.keyboard.press("Enter");
  await replies().filter({ hasText: "typed by hand" }).waitFor();
  await s.page.keyboard.press("Shift+Tab");
  for (let presses = 0; presses < 20; presses++) {
    if (await s.page.evaluate(() => document.activeElement?.dataset.act === "why")) break;
    await s.page.keyboard.press("Shift+Tab");
  }
  await s.page.keyboard.press("Enter");
  await dialog().waitFor();
  await s.page.keyboard.press("Escape");
  await dialog().waitFor({ state: "detached" });
  assert.equal(await s.page.evaluate(() => document.activeElement?.dataset.act), "why", "the focus returns");
});

for (const [theme, language] of [["light", "English"], ["dark", "中文"]]) {
  step(`every screen, ${theme}, ${language}: axe finds nothing`, async () => {
    await visit(s.page, s.daemon.url, "/settings");
    await s.page.getByLabel(language, { exact: true }).check();
    await s.page.locator(`input[name="theme"][value="${theme}"]`).check();
    for (const [name, path] of Object.entries(SCREENS)) {
      await visit(s.page, s.daemon.url, path);
      await picture(`screen-${name}-${theme}`);
      await assertAccessible(`${name}, ${theme}, ${language}`);
    }
  });
}

step("tabs and filters take one row on a phone", async () => {
  await s.page.setViewportSize({ width: 360, height: 740 });
  for (const path of ["/memory", "/settings"]) {
    await visit(s.page, s.daemon.url, path);
    for (const row of await s.page.locator("main .one-row").all()) {
      const { height } = await row.boundingBox();
      assert.ok(height < 50, `${path}: ${height} px`);
    }
  }
  await visit(s.page, s.daemon.url, "/settings/log");
  const current = await s.page.locator('main nav [aria-current="page"]').boundingBox();
  assert.ok(current.x >= 0 && current.x + current.width <= 360, "the current tab is in view");
});

step("every screen fits a phone of 360 pixels", async () => {
  await s.page.setViewportSize({ width: 360, height: 740 });
  for (const [name, path] of Object.entries(SCREENS)) {
    await visit(s.page, s.daemon.url, path);
    await picture(`phone-${name}`);
    const over = await s.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(over <= 0, `${name} is ${over} px too wide`);
  }
  await assertAccessible("phone");
});

step("the page can be installed, and stores nothing private offline", async () => {
  const manifest = await s.page.evaluate(async () => {
    const answer = await fetch(document.querySelector('link[rel="manifest"]').href);
    return { type: answer.headers.get("content-type"), body: await answer.json() };
  });
  assert.match(manifest.type, /manifest\+json/);
  for (const icon of manifest.body.icons) {
    assert.equal((await fetch(s.daemon.url + icon.src)).status, 200, icon.src);
  }
  assert.equal(await s.page.evaluate(() => navigator.serviceWorker?.getRegistrations().then((found) => found.length) ?? 0), 0);
});

step("no request left the origin, the page has no inline script, and the browser reported no problem", async () => {
  const foreign = s.browser.requests.filter((url) => new URL(url).origin !== s.daemon.url && !url.startsWith("data:"));
  assert.deepEqual(foreign, []);
  assert.equal(await s.page.evaluate(() => document.querySelectorAll("script:not([src])").length), 0);
  assert.deepEqual(s.browser.complaints, []);
});

step("a first visit uses the browser's language and motion preference", async () => {
  const visitor = await openBrowser({ locale: "zh-CN", colorScheme: "dark" });
  await visitor.page.goto(s.daemon.url);
  await visitor.page.getByText("需要登录").waitFor();
  await visitor.close();
});
