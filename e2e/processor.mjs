// Measures the processor time of the page's main thread, which does not depend on the load of the machine.

/** Trace event names: a main-thread task, and the event within the task that makes a frame. */
const TASK = "RunTask";
const FRAME = "Commit";
const CATEGORIES = ["disabled-by-default-devtools.timeline", "devtools.timeline"];

/**
 * Runs `act` and gives, in milliseconds of processor time, the `tasks` that the page's main thread did meanwhile, and the
 * work of each of its `frames`: everything since the frame before.
 */
export async function processorTime(page, act) {
  const session = await page.context().newCDPSession(page);
  const events = [];
  session.on("Tracing.dataCollected", ({ value }) => events.push(...value));
  const over = new Promise((resolve) => session.once("Tracing.tracingComplete", resolve));
  const traceConfig = { recordMode: "recordAsMuchAsPossible", includedCategories: CATEGORIES, excludedCategories: ["*"] };
  await session.send("Tracing.start", { transferMode: "ReportEvents", traceConfig });
  try {
    await act();
  } finally {
    await session.send("Tracing.end");
    await over;
    await session.detach();
  }
  return mainThread(events);
}

/** Processor time that a calm machine takes for the work of {@link slowness}, in milliseconds. */
const REFERENCE_MS = 550;

/**
 * How much longer this machine takes than a calm one for the same work of a page, at least 1: bounds of processor time are
 * multiplied by it. A virtual processor that is shared with others is counted as busy while it waits.
 */
export async function slowness(context) {
  const page = await context.newPage();
  const { tasks } = await processorTime(page, () =>
    page.evaluate(async () => {
      const box = document.body.appendChild(document.createElement("div"));
      for (let frame = 0; frame < 40; frame++) {
        box.replaceChildren(
          ...Array.from({ length: 400 }, (_, row) => {
            const item = document.createElement("p");
            item.textContent = `row ${row} of frame ${frame}, some words of a talk `.repeat(3);
            return item;
          }),
        );
        box.getBoundingClientRect();
        await new Promise(requestAnimationFrame);
      }
      box.remove();
    }),
  );
  await page.close();
  const took = tasks.reduce((all, task) => all + task, 0);
  console.log(`the reference took ${took.toFixed(0)} ms of work`);
  return Math.max(1, took / REFERENCE_MS);
}

function mainThread(events) {
  const threads = new Set(
    events.filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain").map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const measured = [...threads].map((thread) =>
    inFrames(events.filter(({ ph, pid, tid }) => ph === "X" && `${pid} ${tid}` === thread)),
  );
  // A spare renderer process makes no frames.
  return measured.reduce((most, lane) => (lane.frames.length > most.frames.length ? lane : most), { tasks: [], frames: [] });
}

function inFrames(lane) {
  // The task that still runs when the trace ends has no duration.
  const tasks = lane.filter(({ name, tdur }) => name === TASK && tdur !== undefined).sort((a, b) => a.ts - b.ts);
  const drawn = lane.filter(({ name }) => name === FRAME).map(({ ts }) => ts).sort((a, b) => a - b);
  const frames = [];
  let work = 0;
  let next = 0;
  for (const { ts, dur, tdur } of tasks) {
    work += tdur / 1_000;
    const before = next;
    while (next < drawn.length && drawn[next] <= ts + dur) next += 1;
    if (next === before) continue;
    frames.push(work);
    work = 0;
  }
  return { tasks: tasks.map(({ tdur }) => tdur / 1_000), frames };
}
