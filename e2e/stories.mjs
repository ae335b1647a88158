// One life over weeks in each language, for the pictures: what the user says, what the persona answers, what is remembered of it.

const line = (says, answer, event, quote, impact, feelings, tags, names) => ({ says, answer, event, quote, impact, feelings, tags, names });

export const STORIES = {
  en: {
    locale: "en-GB",
    persona: {
      display_name: "Mira",
      persona_block: "Mira is a patient, curious companion who keeps track of small things and likes dry jokes.",
      user_block: "Lives in Lisbon with a dog called Biscuit. Runs in spring.",
    },
    names: { Ines: "person", Porto: "place", Biscuit: "pet", Teresa: "person" },
    thought: "They hold on to small traditions when people they love are far away.",
    summary: "They had breakfast together.",
    other: "Tell me more.",
    past: [
      {
        title: "Ines moves to Porto",
        daysAgo: 41,
        lines: [
          line(
            "My sister Ines moved to Porto for her new job. I already miss our Sunday breakfasts.",
            "Sundays will feel quiet for a while. What did you two usually make?",
            "The user's sister Ines moved to Porto for a new job; the user misses their Sunday breakfasts together.",
            "My sister Ines moved to Porto for her new job.",
            -4,
            ["longing"],
            [],
            ["Ines", "Porto"],
          ),
          line(
            "Pancakes, every breakfast, with far too much lemon. She called it our tradition.",
            "Then it is one. You could make them on the same Sunday, each in your own kitchen, and call.",
            "The user and Ines always made pancakes with too much lemon for breakfast, and call it their tradition.",
            "Pancakes, every breakfast, with far too much lemon.",
            5,
            ["warmth", "nostalgia"],
            ["identity-bearing"],
            ["Ines"],
          ),
        ],
      },
      {
        title: "Biscuit at the vet",
        daysAgo: 30,
        lines: [
          line(
            "Biscuit was diagnosed with arthritis on Tuesday. The vet says short walks are best.",
            "Poor Biscuit. Short walks and a warm blanket, then. How is he taking it?",
            "The user's dog Biscuit was diagnosed with arthritis; the vet recommends short walks.",
            "Biscuit was diagnosed with arthritis on Tuesday.",
            -5,
            ["worry"],
            ["unresolved"],
            ["Biscuit"],
          ),
          line(
            "He is fine as long as there is cheese. I signed up for the spring 10k, by the way!",
            "Cheese solves a lot. And a 10k! I'll ask how the training goes.",
            "The user signed up for the spring 10k run.",
            "I signed up for the spring 10k, by the way!",
            6,
            ["excitement", "pride"],
            ["commitment"],
            [],
          ),
        ],
      },
      {
        title: "A hard week",
        daysAgo: 16,
        lines: [
          line(
            "My grandmother Teresa broke her hip. I am taking the train to Braga tonight.",
            "I'm sorry. Travel safely, and tell her the dog sends his regards. Who is with Biscuit?",
            "The user's grandmother Teresa broke her hip; the user took the train to Braga to be with her.",
            "My grandmother Teresa broke her hip.",
            -6,
            ["fear"],
            ["vulnerability"],
            ["Teresa"],
          ),
        ],
      },
      {
        title: "Good news from Braga",
        daysAgo: 6,
        lines: [
          line(
            "Teresa walked to the window today, on her own! The nurses clapped.",
            "That window must have been the best view in Braga. How did you celebrate?",
            "The user's grandmother Teresa walked on her own again after her broken hip.",
            "Teresa walked to the window today, on her own!",
            7,
            ["joy", "relief"],
            [],
            ["Teresa"],
          ),
        ],
      },
    ],
    today: [
      line(
        "Good morning! I am making the Sunday breakfast that Ines and I always had.",
        "Pancakes, then, with far too much lemon. It is your tradition. Did you call her?",
      ),
      line(
        "You remembered! She is on the phone right now, burning hers in Porto.",
        "Then the tradition is safe. Tell her the first one is always for the dog. Biscuit will agree.",
      ),
    ],
    recalling: "It is your tradition",
    remembered: /pancakes with too much lemon/,
    evidence: "Evidence",
    person: "Ines",
  },
  zh: {
    locale: "zh-CN",
    persona: {
      display_name: "小满",
      persona_block: "小满耐心、好奇，记得住小事，偶尔冷幽默。",
      user_block: "住在成都，养了一只叫豆包的狗。春天会跑步。",
    },
    names: { 小雨: "person", 厦门: "place", 豆包: "pet", 外婆: "person" },
    thought: "亲近的人离得远时，TA 会守住两个人的小习惯。",
    summary: "一起吃了早饭。",
    other: "再跟我说说。",
    past: [
      {
        title: "小雨去厦门",
        daysAgo: 41,
        lines: [
          line(
            "我妹妹小雨去厦门上班了，已经开始想我们的周日早饭了。",
            "周日会安静一阵子。你们以前都做什么吃？",
            "用户的妹妹小雨去厦门工作，用户想念两人一起吃的周日早饭。",
            "我妹妹小雨去厦门上班了",
            -4,
            ["想念"],
            [],
            ["小雨", "厦门"],
          ),
          line(
            "每次都是红糖糍粑，糖放得特别多，她说这是我们的传统。",
            "那就是传统了。可以同一个周日各做各的，再打个视频。",
            "用户和小雨的周日早饭总是红糖糍粑，糖放得特别多，两人把它当作传统。",
            "每次都是红糖糍粑，糖放得特别多",
            5,
            ["温暖", "怀念"],
            ["identity-bearing"],
            ["小雨"],
          ),
        ],
      },
      {
        title: "豆包看医生",
        daysAgo: 30,
        lines: [
          line(
            "豆包周二确诊了关节炎，医生说只能短短地遛。",
            "可怜的豆包。那就短短地走，再加一条热毯子。它还好吗？",
            "用户的狗豆包确诊了关节炎，医生建议每次只遛一小会儿。",
            "豆包周二确诊了关节炎",
            -5,
            ["担心"],
            ["unresolved"],
            ["豆包"],
          ),
          line(
            "有奶酪它就开心。对了，我报名了春天的十公里！",
            "奶酪能解决很多事。十公里！我会问你练得怎么样的。",
            "用户报名了春天的十公里跑。",
            "我报名了春天的十公里",
            6,
            ["兴奋", "自豪"],
            ["commitment"],
            [],
          ),
        ],
      },
      {
        title: "难熬的一周",
        daysAgo: 16,
        lines: [
          line(
            "外婆摔断了髋骨，我今晚坐火车去绵阳。",
            "听着就揪心。路上小心，替我问她好。豆包谁来照顾？",
            "用户的外婆摔断了髋骨，用户当晚坐火车去绵阳陪她。",
            "外婆摔断了髋骨",
            -6,
            ["害怕"],
            ["vulnerability"],
            ["外婆"],
          ),
        ],
      },
      {
        title: "绵阳的好消息",
        daysAgo: 6,
        lines: [
          line(
            "外婆今天自己走到窗边了！护士们都鼓掌。",
            "那一定是绵阳最好的风景。你们怎么庆祝的？",
            "用户的外婆髋骨骨折后重新能自己走路了。",
            "外婆今天自己走到窗边了！",
            7,
            ["高兴", "松了口气"],
            [],
            ["外婆"],
          ),
        ],
      },
    ],
    today: [
      line("早！我在做我和小雨以前周日常吃的早饭。", "那就是红糖糍粑，糖要放得特别多，这是你们的传统。给她打电话了吗？"),
      line("你还记得！她正在视频里，厦门那边的快煎糊了。", "那传统就保住了。告诉她第一块归狗，豆包会同意的。"),
    ],
    recalling: "这是你们的传统",
    remembered: /红糖糍粑/,
    evidence: "依据",
    person: "小雨",
  },
};

/** The past talks as the file that ChatGPT exports. */
export function chatGptExport({ past }, now) {
  const conversations = past.map(({ title, daysAgo, lines }, number) => {
    const began = Math.floor(now / 1000) - daysAgo * 86_400;
    const root = { id: `root-${number}`, message: null, parent: null, children: [] };
    const mapping = { [root.id]: root };
    let before = root;
    const said = lines.flatMap(({ says, answer }) => [["user", says], ["assistant", answer]]);
    for (const [at, [role, text]] of said.entries()) {
      const id = `message-${number}-${at}`;
      const message = { id, author: { role }, create_time: began + at * 60, content: { content_type: "text", parts: [text] }, metadata: {} };
      mapping[id] = { id, message, parent: before.id, children: [] };
      before.children.push(id);
      before = mapping[id];
    }
    return { id: `talk-${number}`, title, create_time: began, update_time: began + said.length * 60, mapping, current_node: before.id };
  });
  return JSON.stringify(conversations);
}
