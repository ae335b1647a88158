// Some days of invented history for the mock, long enough for paging.

const DAY_MS = 86_400_000;
const TALK = [
  ["今天面试过了！下周一入职。", "太好了。你准备了那么久，今晚值得好好吃一顿。是那家做地图的公司吗？"],
  ["对，就是他们。有点紧张。", "紧张也正常，第一周谁都在找饮水机在哪儿。"],
  ["I finally called my sister.", "That call has been sitting in your pocket for a month. How did it feel to hear her voice?"],
  ["Strange, then easy. We talked about the house.", "The one with the fig tree? I remember you said the door never closed properly."],
  ["外婆住院了，我有点怕。", "我在。先别急着想最坏的。医生今天怎么说？"],
  ["说是肺炎，要观察几天。", "好。今晚你先睡一会儿，明早我们再一起看看要带什么去医院。"],
];
const REMEMBERED = [
  ["event", "用户通过了地图公司的面试，下周一入职", 7],
  ["thought", "他把紧张藏在玩笑里，其实很在意别人怎么看他的第一天", 3],
  ["event", "The user called their sister after a month of silence", 5],
  ["entity", "外婆", null, "person"],
  ["event", "外婆因肺炎住院，用户很害怕", -8],
  ["thought", "When it matters, he writes in Chinese", 0],
];

export function seed(world) {
  const start = Date.now() - 9 * DAY_MS;
  for (let day = 0; day < 9; day++) {
    const session = `seed-session-${day}`;
    for (let pair = 0; pair < 6; pair++) {
      const [user, persona] = TALK[(day + pair) % TALK.length];
      const at = start + day * DAY_MS + pair * 240_000;
      const turn_id = `seed-turn-${day}-${pair}`;
      const origin = { turn_id, session_id: session, source_channel_id: day % 4 === 3 ? "discord" : "web", incomplete: false };
      world.messages.push({ id: `${turn_id}-u`, ...origin, role: "user", content: user, created_at: new Date(at).toISOString() });
      world.messages.push({ id: `${turn_id}-p`, ...origin, role: "persona", content: persona, created_at: new Date(at + 9_000).toISOString() });
    }
    const closed = start + day * DAY_MS + 3_600_000;
    const [kind, text, impact, entityKind] = REMEMBERED[day % REMEMBERED.length];
    const data =
      kind === "entity"
        ? { entity_id: `seed-entity-${day}`, canonical_name: text, kind: entityKind, merge_status: "confirmed" }
        : { node_id: `seed-node-${day}`, type: kind, subject: "user", description: text, emotional_impact: impact, session_id: session };
    world.timeline.push({ kind, timestamp: new Date(closed).toISOString(), data });
    world.timeline.push({
      kind: "session_close",
      timestamp: new Date(closed + 1000).toISOString(),
      data: { session_id: session, channel_id: "web", events_count: kind === "event" ? 1 : 0, thoughts_count: kind === "thought" ? 1 : 0, duration_seconds: 1500, trivial: false },
    });
  }
  world.mood = { mood: "关切", energy: 6, last_user_signal: "tired", updated_at: new Date(start + 8 * DAY_MS + 3_602_000).toISOString() };
}
