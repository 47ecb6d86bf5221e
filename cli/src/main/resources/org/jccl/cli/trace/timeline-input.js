// Hovering, selecting, finding and moving.

function under(pixelX, pixelY) {
  if (pixelX < gutter) return null;
  const nanos = at(pixelX), slack = (view.to - view.from) / (width - gutter) * 2;
  if (STRIP && pixelY >= AXIS && pixelY < AXIS + STRIP) {
    const step = data.steps.findIndex((each) => each[S_START] <= nanos && nanos < each[S_END]);
    return step < 0 ? null : { step, collective: -1 };
  }
  const row = rows.find((each) => pixelY >= each.y && pixelY < each.y + each.size + 2);
  if (!row) return null;
  const spans = row.track.spans;
  const i = firstAfter(spans, nanos - slack);
  const hit = i < spans.length && spans[i][START] <= nanos + slack ? spans[i] : null;
  if (row.track.program) {
    return { row, wait: hit, collective: hit ? hit[WAIT_COLLECTIVE] : -1 };
  }
  return hit ? { row, span: hit, collective: hit[COLLECTIVE] } : null;
}

function missing(collective) {
  const ranks = collective.slice(C_MISSING);
  if (!ranks.length) return "";
  return (ranks.length === 1 ? "rank " : "ranks ") + ranks.join(", ")
    + " did not reach it, or recorded nothing";
}

function describe(thing) {
  if (thing.step !== undefined) {
    const step = data.steps[thing.step];
    return ["step " + (thing.step + 1) + ", " + time(step[S_END] - step[S_START]) + ", " + step[S_COUNT] + " collectives",
      step[S_SLOWEST] < 0 ? "no rank was late" : "others waited for rank " + step[S_SLOWEST] + ", " + time(step[S_WAITED])];
  }
  const track = thing.row.track;
  if (track.program) {
    if (!thing.wait) return ["rank " + track.rank + ", thread " + track.label, "not blocked: the program runs"];
    const name = thing.collective < 0 ? "a message" : data.names[data.collectives[thing.collective][C_NAME]];
    return ["rank " + track.rank + ", thread " + track.label, "blocked for " + name + ", " + data.groups[thing.wait[WAIT_GROUP]]
      + " #" + thing.wait[3], time(thing.wait[LENGTH]) + ", from " + moment(thing.wait[START])];
  }
  const span = thing.span;
  const lines = [data.names[span[NAME]], "rank " + track.rank + ", " + data.groups[track.group] + " #" + span[SEQUENCE] + ", " + bytes(span[BYTES]),
    time(span[LENGTH]) + (span[COMPLETED] ? "" : ", not completed") + ", from " + moment(span[START])];
  const collective = span[COLLECTIVE] < 0 ? null : data.collectives[span[COLLECTIVE]];
  if (collective && collective[C_WAITS]) {
    const waited = collective[C_LAST] - span[START];
    lines.push(waited > 0 ? "waited " + time(waited) + " for rank " + collective[C_LAST_RANK]
      : "arrived last: the first rank waited " + time(collective[C_LAST] - collective[C_FIRST]));
  }
  if (collective && missing(collective)) lines.push(missing(collective));
  return lines;
}

function showTip(event) {
  const tip = element("tip");
  if (!hovered) { tip.hidden = true; return; }
  tip.textContent = describe(hovered).join("\n");
  tip.hidden = false;
  const box = element("chart").getBoundingClientRect();
  const left = event.clientX - box.left, top = event.clientY - box.top;
  tip.style.left = Math.max(4, Math.min(left + 14, box.width - tip.offsetWidth - 6)) + "px";
  tip.style.top = (top + 16 + tip.offsetHeight > box.height ? Math.max(2, top - tip.offsetHeight - 10) : top + 16) + "px";
}

function select(collective) {
  selected = collective;
  const panel = element("details");
  panel.textContent = "";
  panel.hidden = collective < 0;
  if (collective >= 0) {
    const c = data.collectives[collective];
    make("h2", data.names[c[C_NAME]], panel);
    make("p", data.groups[c[C_GROUP]] + " #" + c[C_SEQUENCE] + ". " + (c[C_WAITS]
      ? "All ranks wait for the last to arrive: rank " + c[C_LAST_RANK] + ", " + time(c[C_LAST] - c[C_FIRST]) + " after the first."
      : missing(c) ? "The ranks that arrived wait: " + missing(c) + "." : "This view cannot show which rank waits: see below."), panel);
    const table = make("table", null, panel);
    heads(table, ["rank", "arrived at", "after the first", "waited for the last", "ended at", "total"]);
    const body = make("tbody", null, table);
    const parts = [];
    for (const row of rows) {
      if (row.track.program) continue;
      for (const span of row.track.spans) if (span[COLLECTIVE] === collective) parts.push([row.track, span]);
    }
    parts.sort((a, b) => a[1][START] - b[1][START]);
    for (const [track, span] of parts) {
      const row = make("tr", null, body);
      if (c[C_WAITS] && track.rank === c[C_LAST_RANK]) row.className = "most";
      const end = span[START] + span[LENGTH];
      cells(row, [track.rank, moment(span[START]), time(span[START] - c[C_FIRST]),
        c[C_WAITS] ? time(c[C_LAST] - span[START]) : "", span[COMPLETED] ? moment(end) : "not completed",
        span[COMPLETED] ? time(span[LENGTH]) : ""]);
    }
  }
  redraw();
}

function find(text) {
  const wanted = text.trim().toLowerCase();
  matches = null;
  match = -1;
  if (wanted) {
    matches = new Set();
    for (const track of data.tracks) {
      if (track.program) continue;
      const where = " rank " + track.rank + " " + track.label.toLowerCase() + " ";
      for (const span of track.spans) {
        const all = data.names[span[NAME]].toLowerCase() + where + "#" + span[SEQUENCE] + " " + (span[COMPLETED] ? "" : "not completed ");
        // A number is to be found whole.
        if (all.includes(/\d$/.test(wanted) ? wanted + " " : wanted) || (/\d$/.test(wanted) && !/(#|rank )\d+$/.test(wanted) && all.includes(wanted))) matches.add(span);
      }
    }
  }
  element("found").textContent = matches ? matches.size + " found" : "";
  redraw();
}

function go(direction) {
  if (!matches || !matches.size) return;
  const list = [...matches].sort((a, b) => a[START] - b[START]);
  match = (match + direction + list.length) % list.length;
  const span = list[match];
  const size = Math.min(view.to - view.from, Math.max(span[LENGTH] * 6, 20000));
  const middle = span[START] + span[LENGTH] / 2;
  look(middle - size / 2, middle + size / 2);
  element("found").textContent = (match + 1) + " of " + list.length;
  select(span[COLLECTIVE]);
}

// ---- moving

function look(from, to) {
  const size = Math.min(total * 1.04, Math.max(200, to - from));
  let start = (from + to) / 2 - size / 2;
  start = Math.max(-total * .02, Math.min(start, total * 1.02 - size));
  view = { from: start, to: start + size };
  redraw();
}

function zoom(factor, middle) {
  const center = middle === undefined ? (view.from + view.to) / 2 : middle;
  const size = Math.min(total * 1.04, Math.max(200, (view.to - view.from) * factor));
  const share = (center - view.from) / (view.to - view.from);
  look(center - size * share, center + size * (1 - share));
}

const move = (share) => look(view.from + share * (view.to - view.from), view.to + share * (view.to - view.from));
const everything = () => look(-total * .02, total * 1.02);

canvas.addEventListener("wheel", (event) => {
  if (event.ctrlKey || event.metaKey) {
    event.preventDefault();
    zoom(Math.exp(event.deltaY * .002), at(event.offsetX));
  } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    event.preventDefault();
    move((event.deltaX || event.deltaY) / (width - gutter));
  }
}, { passive: false });

let drag = null;
canvas.addEventListener("pointerdown", (event) => {
  drag = { at: event.clientX, from: view.from, to: view.to, moved: false };
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener("pointermove", (event) => {
  if (drag) {
    const shift = event.clientX - drag.at;
    drag.moved = drag.moved || Math.abs(shift) > 3;
    if (drag.moved) {
      const nanos = shift / (width - gutter) * (drag.to - drag.from);
      look(drag.from - nanos, drag.to - nanos);
    }
  }
  hovered = drag && drag.moved ? null : under(event.offsetX, event.offsetY);
  showTip(event);
  redraw();
});
canvas.addEventListener("pointerup", (event) => {
  if (drag && !drag.moved) {
    const thing = under(event.offsetX, event.offsetY);
    if (thing && thing.step !== undefined) toStep(thing.step); else select(thing ? thing.collective : -1);
  }
  drag = null;
});
canvas.addEventListener("pointercancel", () => { drag = null; });
canvas.addEventListener("pointerleave", () => { hovered = null; element("tip").hidden = true; redraw(); });
canvas.addEventListener("dblclick", (event) => {
  const thing = under(event.offsetX, event.offsetY);
  const span = thing && (thing.span || thing.wait);
  if (span) look(span[START] - span[LENGTH], span[START] + 2 * span[LENGTH]);
});
window.addEventListener("keydown", (event) => {
  if (event.target === element("find") || event.ctrlKey || event.metaKey || event.altKey) return;
  const actions = { w: () => zoom(.7), "+": () => zoom(.7), s: () => zoom(1.4), "-": () => zoom(1.4),
    a: () => move(-.2), d: () => move(.2), ArrowLeft: () => move(-.2), ArrowRight: () => move(.2), "0": everything,
    Escape: () => select(-1), n: () => go(1), "/": () => element("find").focus() };
  if (actions[event.key]) { event.preventDefault(); actions[event.key](); }
});
element("in").onclick = () => zoom(.6);
element("out").onclick = () => zoom(1.6);
element("all").onclick = everything;
element("next").onclick = () => go(1);
element("previous").onclick = () => go(-1);
element("find").addEventListener("input", (event) => find(event.target.value));
element("find").addEventListener("keydown", (event) => { if (event.key === "Enter") go(event.shiftKey ? -1 : 1); });

function toStep(number, last = number) {
  const from = data.steps[number][S_START], to = data.steps[last][S_END];
  const margin = (to - from) * .03;
  look(from - margin, to + margin);
}
