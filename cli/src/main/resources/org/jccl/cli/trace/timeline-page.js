// What the page says in words, and its beginning.

function heads(table, names) {
  const row = make("tr", null, make("thead", null, table));
  for (const name of names) make("th", name, row);
}

function cells(row, values) {
  for (const value of values) make("td", value, row);
}

function fillRanks() {
  const table = element("ranks");
  heads(table, ["rank", "operations", "time in operations", "not blocked", "waited for others", "arrived last", "others waited for it"]);
  const body = make("tbody", null, table);
  const most = Math.max(...data.ranks.map((each) => each.waitedFor));
  // Times within a tenth of each other are a tie, and blame nobody.
  const one = data.ranks.filter((each) => each.waitedFor >= 0.9 * most).length === 1;
  for (const each of data.ranks) {
    const row = make("tr", null, body);
    if (one && each.waitedFor === most) row.className = "most";
    const free = each.busy > 0 ? Math.round(100 * (each.busy - each.blocked) / each.busy) + " %" : "";
    cells(row, [each.rank, each.operations, time(each.busy), each.blocked < 0 ? "not recorded" : free, time(each.waited),
      each.last + " times", time(each.waitedFor)]);
  }
}

function fillSteps() {
  const table = element("steps");
  if (data.steps.length < 2) {
    make("caption", "No collective repeats, so there are no steps.", table);
    return;
  }
  heads(table, ["step", "at", "took", "collectives", "slowest rank", "others waited for it"]);
  const body = make("tbody", null, table);
  data.steps.forEach((step, number) => {
    const row = make("tr", null, body);
    row.className = "go";
    row.onclick = () => { toStep(number); canvas.scrollIntoView({ block: "nearest" }); };
    cells(row, [number + 1, moment(step[S_START]), time(step[S_END] - step[S_START]), step[S_COUNT],
      step[S_SLOWEST] < 0 ? "none" : step[S_SLOWEST], step[S_SLOWEST] < 0 ? "" : time(step[S_WAITED])]);
  });
}

function fillWords() {
  const operations = data.ranks.reduce((sum, each) => sum + each.operations, 0);
  const when = new Date(data.originMillis).toISOString().replace("T", " ").replace(/\..*/, " UTC");
  element("summary").textContent = data.ranks.length + (data.ranks.length === 1 ? " rank, " : " ranks, ") + operations
    + " operations, " + time(data.end) + " from " + when;
  for (const failure of data.failures) {
    const box = make("div", "rank " + failure.rank + ", " + failure.group + " failed: " + failure.text, element("failures"));
    box.className = "failure";
  }
  const stuck = data.collectives.find((each) => missing(each));
  if (stuck) {
    make("div", data.names[stuck[C_NAME]] + ", " + data.groups[stuck[C_GROUP]] + " #" + stuck[C_SEQUENCE] + " did not complete: "
      + missing(stuck), element("failures")).className = "failure";
  }
  const legend = element("legend");
  const entry = (background, text) => {
    const item = make("span", null, legend);
    make("i", null, item).style.background = background;
    item.append(text);
  };
  const kinds = [...new Set(kindOf)].sort((a, b) => a - b);
  for (const kind of kinds) entry(KINDS[kind][1], KINDS[kind][0] || "other");
  if (data.collectives.some((each) => each[C_WAITS])) {
    const kind = KINDS[kinds[0]][1];
    entry("linear-gradient(" + kind + "55 70%, " + kind + " 70%)", "waiting for the last rank");
  }
  if (data.tracks.some((each) => each.program)) {
    entry("var(--program)", "program runs");
    entry("var(--blocked)", "program is blocked");
  }
  if (data.tracks.some((each) => each.spans.some((span) => !each.program && !span[COMPLETED]))) entry("var(--bad)", "not completed");
  if (STRIP) entry("var(--mark)", "step: darker means more waiting");
  const notes = element("notes");
  make("h2", "What the times mean", notes);
  make("p", "A bar begins when a rank calls the library and ends when the operation ends. If all ranks need all others"
    + " (allReduce, allGather, reduceScatter, allToAll, barrier), its light part is the time until the last rank called the library;"
    + " the others waited for that rank. In other operations, waiting depends on the root and is not shown.", notes);
  if (data.tracks.some((each) => each.device)) {
    make("p", "On devices a bar begins with the call on the host and ends when the end was noticed, up to 0.1 s late."
      + " The recorder does not see what the device does in between, so this page shows no waiting for other ranks.", notes);
  }
  const ahead = data.ranks.filter((each) => each.ahead !== 0);
  make("p", "Ranks are compared by the clocks of their hosts." + (ahead.length
    ? " The clocks differ, because some operation ended on one rank before another rank began it. Times were corrected: "
      + ahead.map((each) => "rank " + each.rank + " was " + time(Math.abs(each.ahead)) + (each.ahead > 0 ? " ahead" : " behind")).join(", ") + "."
    : " No operation ended on a rank before all others began it, so nothing proves that clocks differ. Between hosts they may differ"
      + " by up to the duration of the shortest operations."), notes);
  make("p", "Not blocked: the share of the time in operations during which no thread of the program waited for one, so the program"
    + " could compute. The recorder keeps the last 2000 operations of each group.", notes);
}

// ---- beginning

for (const track of data.tracks) {
  if (track.program) track.end = Math.max(...data.tracks.filter((each) => each.rank === track.rank)
    .map((each) => each.spans.reduce((last, span) => Math.max(last, span[START] + span[LENGTH]), 0)));
}
layOut();
fillWords();
fillRanks();
fillSteps();
everything();
// For links to a place in the page: #from=MS&to=MS, #step=N or #step=N-M, #select=N (number of the collective), #find=TEXT.
const wanted = new URLSearchParams(location.hash.slice(1));
if (wanted.has("from")) look(wanted.get("from") * 1e6, wanted.get("to") * 1e6);
const steps = (wanted.get("step") || "").split("-").map((each) => Number(each) - 1);
if (data.steps[steps[0]]) toStep(steps[0], data.steps[steps[1]] ? steps[1] : steps[0]);
if (data.collectives[wanted.get("select")]) select(Number(wanted.get("select")));
if (wanted.has("find")) { element("find").value = wanted.get("find"); find(wanted.get("find")); }
new ResizeObserver(redraw).observe(element("chart"));
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
draw();
document.documentElement.dataset.ready = "true";
