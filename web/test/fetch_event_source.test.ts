// @vitest-environment happy-dom
import { afterEach, expect, test, vi } from "vitest";
import { takeLoginFromAddress } from "../src/credentials";
import { FetchEventSource } from "../src/live/fetch_event_source";

afterEach(() => vi.unstubAllGlobals());

/** A server whose stream sends these pieces and then ends. */
function serve(pieces: string[], status = 200): { headers: Record<string, string>[] } {
  const seen = { headers: [] as Record<string, string>[] };
  vi.stubGlobal("fetch", async (_: string, init: { headers: Record<string, string> }) => {
    seen.headers.push(init.headers);
    const bytes = new ReadableStream({
      start(controller) {
        for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece));
        controller.close();
      },
    });
    return new Response(bytes, { status });
  });
  return seen;
}

/** Everything that the source told until it was closed by the other side. */
function told(source: FetchEventSource): Promise<string[]> {
  const all: string[] = [];
  source.onopen = () => all.push("open");
  for (const name of ["chat.message.token", "chat.connection.heartbeat"])
    source.addEventListener(name, ({ data, lastEventId }) => all.push(`${name} ${data} ${lastEventId}`));
  return new Promise((done) => (source.onerror = () => done(all)));
}

test("events arrive with their names and ids, however the bytes are cut", async () => {
  const text = 'id: r-1\nevent: chat.message.token\ndata: {"text":"猫"}\n\n:\n\nevent: chat.connection.heartbeat\ndata: {}\n\n';
  for (const size of [1, 2, 7, text.length]) {
    serve([...text.matchAll(new RegExp(`[^]{1,${size}}`, "g"))].map(([piece]) => piece));
    const source = new FetchEventSource("/api/chat/events");
    expect(await told(source)).toEqual(["open", 'chat.message.token {"text":"猫"} r-1', "chat.connection.heartbeat {} "]);
    expect(source.readyState).toBe(2);
  }
});

test("a rejected stream is closed without having been open", async () => {
  serve(['{"detail":"no"}'], 401);
  expect(await told(new FetchEventSource("/api/chat/events"))).toEqual([]);
});

test("a stream that the page closes says nothing more", async () => {
  serve(["event: chat.message.token\ndata: 1\n\n"]);
  const source = new FetchEventSource("/api/chat/events");
  const onerror = vi.fn();
  source.onerror = onerror;
  source.close();
  await new Promise((done) => setTimeout(done));
  expect(onerror).not.toHaveBeenCalled();
});

test("the page's half of the login is taken from the address and sent", async () => {
  history.replaceState(null, "", "/#login=abc123");
  takeLoginFromAddress();
  expect(location.hash).toBe("");
  const seen = serve([]);
  await told(new FetchEventSource("/api/chat/events"));
  expect(seen.headers[0]).toMatchObject({ "X-EchoVessel-Login": "abc123", Accept: "text/event-stream" });
});
