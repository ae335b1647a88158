// The graph, the year and the costs.

export const en = {
  insights: "Our story",
  graph: "People and memories",
  year: "The year",
  newestOnly: "newest only",
  graphExplained: "Graph of names, events and thoughts. Arrow keys move it, plus and minus zoom. The names are listed below.",
  graphHint: "Drag to move, scroll to zoom, tap to open.",
  yearCalendar: "Emotional impact by day",
  yearLine: "Emotional impact by week",
  yearMood: "Mood over the year",
  yearMoodEmpty: "No mood recorded yet. A conversation can leave one.",
  heavy: "difficult",
  neutralImpact: "neutral",
  glad: "happy",
  daySummary: "{day}: {events}, impact {n}",
  weekSummary: "Week of {day}: impact {n}",
  dayChosen: "Day",
};

export const zh: typeof en = {
  insights: "我们的故事",
  graph: "人物与记忆",
  year: "这一年",
  newestOnly: "仅最新的",
  graphExplained: "名字、事件和想法的关系图。方向键移动，加减键缩放。名字列在下方。",
  graphHint: "拖动可移动，滚轮缩放，点按打开。",
  yearCalendar: "每天的情感强度",
  yearLine: "每周的情感强度",
  yearMood: "一年中的心情",
  yearMoodEmpty: "还没有心情记录。对话之后可能会留下心情。",
  heavy: "难过",
  neutralImpact: "平静",
  glad: "开心",
  daySummary: "{day}：{events}，情感强度 {n}",
  weekSummary: "{day}开始的一周：情感强度 {n}",
  dayChosen: "日期",
};
