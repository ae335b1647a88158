// Every screen of the page.

export const SCREENS = {
  chat: "/",
  timeline: "/memory",
  events: "/memory/events",
  thoughts: "/memory/thoughts",
  people: "/memory/people",
  diary: "/memory/diary",
  weeks: "/memory/weeks",
  documents: "/memory/documents",
  conflicts: "/memory/conflicts",
  rejected: "/memory/rejected",
  forgotten: "/memory/forgotten",
  graph: "/insights",
  year: "/insights/year",
  "cost-over-time": "/insights/cost",
  appearance: "/settings",
  persona: "/settings/persona",
  users: "/settings/users",
  import: "/settings/import",
  "all-settings": "/settings/keys",
  tokens: "/settings/tokens",
  work: "/settings/work",
  traces: "/settings/traces",
  health: "/settings/health",
  cost: "/settings/cost",
  log: "/settings/log",
  beginning: "/onboarding",
};

/** Opens a URL and waits until everything is loaded. */
export async function visit(page, url, path) {
  await page.goto(url + path);
  await page.locator('[data-connection="live"]').waitFor();
  await page.waitForFunction(() => !/^(Loading…|正在加载…)$/m.test(document.body.innerText));
}
