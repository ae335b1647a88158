// The graph and the year.

export const en = {
  insights: "Pictures",
  graph: "Who and what",
  year: "A year",
  newestOnly: "the newest only",
  graphExplained: "Graph of names, events and thoughts. Arrow keys move it, plus and minus zoom. The names are listed below.",
  graphHint: "Drag to move, scroll to zoom, tap to open.",
  yearCalendar: "What weighed on each day",
  yearLine: "How the weeks felt",
  heavy: "heavy",
  glad: "glad",
  dayTold: "{day}: {events}, on average {n}",
  dayChosen: "Day",
};

export const zh: typeof en = {
  insights: "图景",
  graph: "人与事",
  year: "一年",
  newestOnly: "只有最新的",
  graphExplained: "名字、事件和想法的关系图。方向键移动，加减键缩放。名字列在下面。",
  graphHint: "拖动可移动，滚轮缩放，轻点打开。",
  yearCalendar: "每一天的分量",
  yearLine: "每一周的心情",
  heavy: "沉重",
  glad: "高兴",
  dayTold: "{day}：{events}，平均 {n}",
  dayChosen: "日期",
};
