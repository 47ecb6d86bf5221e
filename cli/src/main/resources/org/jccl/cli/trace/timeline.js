
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const element = (id) => document.getElementById(id);
  const canvas = element("canvas");
  const AXIS = 24, STRIP = data.steps.length > 1 ? 20 : 0, ROW = 20, PROGRAM_ROW = 14, GAP = 7;
  // Indexes into the numbers of a span, a collective and a step.
  const START = 0, LENGTH = 1, NAME = 2, SEQUENCE = 3, BYTES = 4, COMPLETED = 5, COLLECTIVE = 6;
  const WAIT_GROUP = 2, WAIT_COLLECTIVE = 4;
  const C_GROUP = 0, C_SEQUENCE = 1, C_NAME = 2, C_FIRST = 3, C_LAST = 4, C_LAST_RANK = 5, C_WAITS = 6, C_MISSING = 7;
  const S_START = 0, S_END = 1, S_COUNT = 2, S_SLOWEST = 3, S_WAITED = 4;
  const KINDS = [
    ["allReduce", "#3987d6"], ["broadcast", "#e07b39"], ["reduceScatter", "#a56fd0"], ["reduce", "#c65b9b"],
    ["allGather", "#2fa084"], ["allToAll", "#4fb3d9"], ["barrier", "#8b949e"], ["gather", "#7a9e3c"],
    ["scatter", "#b59a2b"], ["send", "#d9a321"], ["recv", "#c98a4b"], ["", "#7f8ea3"]];
  const kindOf = data.names.map((name) => KINDS.findIndex(([prefix]) => name.startsWith(prefix)));

  const total = Math.max(1, data.end);
  let view = { from: 0, to: total };
  let rows = [], height = 0, width = 0, gutter = 0;
  let hovered = null, selected = -1, matches = null, match = -1, frame = 0;

  function time(nanos) {
    const size = Math.abs(nanos);
    if (size >= 1e9) return (nanos / 1e9).toFixed(size >= 1e11 ? 1 : 3) + " s";
    if (size >= 1e6) return (nanos / 1e6).toFixed(size >= 1e8 ? 1 : 2) + " ms";
    if (size >= 1e3) return (nanos / 1e3).toFixed(1) + " \u00b5s";
    return Math.round(nanos) + " ns";
  }

  const moment = (nanos) => (nanos / 1e6).toFixed(3) + " ms";

  function bytes(count) {
    const units = ["B", "KB", "MB", "GB", "TB"];
    let unit = 0;
    while (count >= 1024 && unit < units.length - 1) { count /= 1024; unit++; }
    return (Number.isInteger(count) ? count : count.toFixed(1)) + " " + units[unit];
  }

  function make(tag, text, parent) {
    const made = document.createElement(tag);
    if (text !== undefined && text !== null) made.textContent = text;
    if (parent) parent.append(made);
    return made;
  }

  // ---- what is where

  function layOut() {
    rows = [];
    let y = AXIS + STRIP + GAP;
    let rank = null;
    for (const lane of data.lanes) {
      if (rank !== null && lane.rank !== rank) y += GAP;
      const size = lane.program ? PROGRAM_ROW : ROW;
      rows.push({ lane, y, size, first: lane.rank !== rank });
      rank = lane.rank;
      y += size + 2;
    }
    height = y + GAP;
  }

  const x = (nanos) => gutter + (nanos - view.from) / (view.to - view.from) * (width - gutter);
  const at = (pixel) => view.from + (pixel - gutter) / (width - gutter) * (view.to - view.from);

  /** The first span that ends after a time; those of one lane do not overlap. */
  function firstAfter(spans, nanos) {
    let low = 0, high = spans.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (spans[middle][START] + spans[middle][LENGTH] < nanos) low = middle + 1; else high = middle;
    }
    return low;
  }

  // ---- drawing

  function draw() {
    frame = 0;
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue("--" + name).trim();
    const scale = window.devicePixelRatio || 1;
    width = canvas.clientWidth;
    gutter = width < 640 ? 78 : 156;
    canvas.style.height = height + "px";
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
    }
    const g = canvas.getContext("2d");
    g.setTransform(scale, 0, 0, scale, 0, 0);
    g.fillStyle = color("back");
    g.fillRect(0, 0, width, height);
    g.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    g.textBaseline = "middle";
    drawAxis(g, color);
    g.save();
    g.beginPath();
    g.rect(gutter, 0, width - gutter, height);
    g.clip();
    drawSteps(g, color);
    let drawn = 0;
    for (const row of rows) drawn += row.lane.program ? drawProgram(g, color, row) : drawLane(g, color, row);
    drawFailures(g, color);
    drawSelection(g, color);
    g.restore();
    drawLabels(g, color);
    canvas.dataset.drawn = drawn;
  }

  function redraw() {
    if (!frame) frame = requestAnimationFrame(draw);
  }

  function drawAxis(g, color) {
    const span = view.to - view.from;
    const wanted = span / Math.max(2, (width - gutter) / 110);
    const power = Math.pow(10, Math.floor(Math.log10(wanted)));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= wanted);
    g.textAlign = "left";
    for (let tick = Math.ceil(view.from / step) * step; tick <= view.to; tick += step) {
      const place = Math.round(x(tick)) + .5;
      if (place < gutter) continue;
      g.strokeStyle = color("line");
      g.lineWidth = 1;
      g.beginPath();
      g.moveTo(place, 4);
      g.lineTo(place, height);
      g.stroke();
      g.fillStyle = color("dim");
      g.fillText(tickText(tick, step), place + 4, 11);
    }
  }

  function tickText(tick, step) {
    const [unit, name] = step >= 1e8 ? [1e9, " s"] : step >= 1e5 ? [1e6, " ms"] : step >= 1e2 ? [1e3, " \u00b5s"] : [1, " ns"];
    const decimals = Math.max(0, -Math.floor(Math.log10(step / unit) + 1e-9));
    return (tick / unit).toFixed(decimals) + name;
  }

  function drawSteps(g, color) {
    if (!STRIP) return;
    g.textAlign = "center";
    let until = -1;
    data.steps.forEach((step, number) => {
      const left = x(step[S_START]), right = x(step[S_END]);
      if (right < gutter || left > width || right < until + .5) return;
      until = right;
      const share = step[S_WAITED] / Math.max(1, step[S_END] - step[S_START]);
      g.globalAlpha = Math.min(.6, .08 + .6 * share);
      g.fillStyle = color("mark");
      g.fillRect(left, AXIS, Math.max(1, right - left - 1), STRIP - 4);
      g.globalAlpha = 1;
      const shown = Math.min(right, width) - Math.max(left, gutter);
      if (shown > 30) {
        g.fillStyle = color("text");
        const slowest = step[S_SLOWEST] < 0 ? "" : "rank " + step[S_SLOWEST] + " last";
        const text = shown > 150 ? "step " + (number + 1) + (slowest && ": " + slowest) : shown > 66 ? slowest : String(number + 1);
        g.fillText(text, (Math.max(left, gutter) + Math.min(right, width)) / 2, AXIS + (STRIP - 4) / 2);
      }
    });
  }

  function drawProgram(g, color, row) {
    const spans = row.lane.spans;
    const first = spans[0][START], last = row.lane.end;
    g.globalAlpha = matches ? .4 : 1;
    g.fillStyle = color("program");
    g.fillRect(x(first), row.y, Math.max(1, x(last) - x(first)), row.size);
    g.fillStyle = color("blocked");
    let drawn = 0, until = -1;
    for (let i = firstAfter(spans, view.from); i < spans.length && spans[i][START] <= view.to; i++) {
      const left = x(spans[i][START]), right = x(spans[i][START] + spans[i][LENGTH]);
      if (right < until + .4) continue;
      until = Math.max(right, left + .6);
      g.fillRect(left, row.y, Math.max(.6, right - left), row.size);
      drawn++;
    }
    g.globalAlpha = 1;
    return drawn;
  }

  function drawLane(g, color, row) {
    const spans = row.lane.spans;
    let drawn = 0, until = -1;
    for (let i = firstAfter(spans, view.from); i < spans.length && spans[i][START] <= view.to; i++) {
      const span = spans[i];
      const left = x(span[START]), right = Math.max(left + 1, x(span[START] + span[LENGTH]));
      const isMatch = matches && matches.has(span);
      if (right < until + .6 && !isMatch) continue;
      until = right;
      drawn++;
      const kind = KINDS[kindOf[span[NAME]]][1];
      const collective = span[COLLECTIVE] < 0 ? null : data.collectives[span[COLLECTIVE]];
      const alpha = matches && !isMatch ? .18 : 1;
      g.fillStyle = kind;
      const waits = collective && collective[C_WAITS]
        ? Math.min(right, Math.max(left, x(collective[C_LAST]))) : left;
      if (waits > left) { // until the last rank has come
        g.globalAlpha = alpha * .33;
        g.fillRect(left, row.y, waits - left, row.size);
      }
      g.globalAlpha = alpha;
      g.fillRect(waits, row.y, Math.max(waits === left ? 1 : .5, right - waits), row.size);
      if (waits > left) g.fillRect(left, row.y + row.size - 3, waits - left, 3);
      if (right - left > 3) { // so that neighbours can be told apart
        g.fillStyle = color("back");
        g.fillRect(right - 1, row.y, 1, row.size);
      }
      if (!span[COMPLETED]) {
        g.strokeStyle = color("bad");
        g.lineWidth = 2;
        g.strokeRect(left + 1, row.y + 1, Math.max(2, right - left - 2), row.size - 2);
      }
      const shownLeft = Math.max(left, gutter), shown = Math.min(right, width) - shownLeft;
      if (shown > 40) {
        g.fillStyle = waits - shownLeft > 20 ? color("text") : "#ffffff";
        g.textAlign = "left";
        const text = data.names[span[NAME]];
        const room = Math.floor((shown - 8) / 6);
        g.save();
        g.beginPath();
        g.rect(shownLeft, row.y, shown - 2, row.size);
        g.clip();
        g.fillText(text.length > room ? text.slice(0, text.indexOf("(") > 0 ? text.indexOf("(") : room) : text, shownLeft + 4, row.y + row.size / 2);
        g.restore();
      }
      g.globalAlpha = 1;
    }
    return drawn;
  }

  function drawFailures(g, color) {
    for (const failure of data.failures) {
      for (const row of rows) {
        if (row.lane.rank !== failure.rank || row.lane.program) continue;
        g.fillStyle = color("bad");
        g.fillRect(x(failure.at) - 1, row.y - 2, 3, row.size + 4);
      }
    }
  }

  function drawSelection(g, color) {
    const shown = selected >= 0 ? selected : hovered && hovered.collective;
    if (shown === null || shown === undefined || shown < 0) return;
    const collective = data.collectives[shown];
    g.strokeStyle = color("mark");
    g.lineWidth = 2;
    for (const row of rows) {
      if (row.lane.program) continue;
      for (const span of row.lane.spans) {
        if (span[COLLECTIVE] !== shown) continue;
        const left = x(span[START]), right = x(span[START] + span[LENGTH]);
        g.strokeRect(left, row.y, Math.max(2, right - left), row.size);
      }
    }
    if (!collective[C_WAITS]) return;
    const place = Math.round(x(collective[C_LAST])) + .5;
    g.lineWidth = 1.5;
    g.setLineDash([5, 3]);
    g.beginPath();
    g.moveTo(place, AXIS + STRIP);
    g.lineTo(place, height);
    g.stroke();
    g.setLineDash([]);
  }

  function drawLabels(g, color) {
    g.fillStyle = color("back");
    g.fillRect(0, 0, gutter - 1, height);
    g.strokeStyle = color("line");
    g.lineWidth = 1;
    g.beginPath();
    g.moveTo(gutter - .5, 0);
    g.lineTo(gutter - .5, height);
    g.stroke();
    g.textAlign = "left";
    const narrow = gutter < 100;
    if (STRIP) {
      g.fillStyle = color("dim");
      g.fillText("steps", 8, AXIS + (STRIP - 4) / 2);
    }
    for (const row of rows) {
      if (row.first) {
        g.fillStyle = color("text");
        g.font = "600 12px system-ui, 'DejaVu Sans', sans-serif";
        g.fillText(narrow ? "r" + row.lane.rank : "rank " + row.lane.rank, 8, row.y + row.size / 2);
        g.font = "11px system-ui, 'DejaVu Sans', sans-serif";
      }
      g.fillStyle = color("dim");
      const left = narrow ? 30 : 66;
      g.save();
      g.beginPath();
      g.rect(left, row.y - 2, gutter - left - 4, row.size + 4);
      g.clip();
      g.fillText(row.lane.label, left, row.y + row.size / 2);
      g.restore();
    }
  }

  // ---- hover, select, find

  function under(pixelX, pixelY) {
    if (pixelX < gutter) return null;
    const nanos = at(pixelX), slack = (view.to - view.from) / (width - gutter) * 2;
    if (STRIP && pixelY >= AXIS && pixelY < AXIS + STRIP) {
      const step = data.steps.findIndex((each) => each[S_START] <= nanos && nanos < each[S_END]);
      return step < 0 ? null : { step, collective: -1 };
    }
    const row = rows.find((each) => pixelY >= each.y && pixelY < each.y + each.size + 2);
    if (!row) return null;
    const spans = row.lane.spans;
    const i = firstAfter(spans, nanos - slack);
    const hit = i < spans.length && spans[i][START] <= nanos + slack ? spans[i] : null;
    if (row.lane.program) {
      return { row, wait: hit, collective: hit ? hit[WAIT_COLLECTIVE] : -1 };
    }
    return hit ? { row, span: hit, collective: hit[COLLECTIVE] } : null;
  }

  function missing(collective) {
    const ranks = collective.slice(C_MISSING);
    if (!ranks.length) return "";
    return (ranks.length === 1 ? "rank " : "ranks ") + ranks.join(", ")
      + (ranks.length === 1 ? " has not come, or has recorded nothing" : " have not come, or have recorded nothing");
  }

  function describe(thing) {
    if (thing.step !== undefined) {
      const step = data.steps[thing.step];
      return ["step " + (thing.step + 1) + ", " + time(step[S_END] - step[S_START]) + ", " + step[S_COUNT] + " collectives",
        step[S_SLOWEST] < 0 ? "no rank was waited for" : "rank " + step[S_SLOWEST] + " was waited for, " + time(step[S_WAITED])];
    }
    const lane = thing.row.lane;
    if (lane.program) {
      if (!thing.wait) return ["rank " + lane.rank + ", thread " + lane.label, "not blocked: the program runs"];
      const name = thing.collective < 0 ? "a message" : data.names[data.collectives[thing.collective][C_NAME]];
      return ["rank " + lane.rank + ", thread " + lane.label, "blocked for " + name + ", " + data.groups[thing.wait[WAIT_GROUP]]
        + " #" + thing.wait[3], time(thing.wait[LENGTH]) + ", from " + moment(thing.wait[START])];
    }
    const span = thing.span;
    const lines = [data.names[span[NAME]], "rank " + lane.rank + ", " + data.groups[lane.group] + " #" + span[SEQUENCE] + ", " + bytes(span[BYTES]),
      time(span[LENGTH]) + (span[COMPLETED] ? "" : ", not completed") + ", from " + moment(span[START])];
    const collective = span[COLLECTIVE] < 0 ? null : data.collectives[span[COLLECTIVE]];
    if (collective && collective[C_WAITS]) {
      const waited = collective[C_LAST] - span[START];
      lines.push(waited > 0 ? "waited " + time(waited) + " for rank " + collective[C_LAST_RANK]
        : "came last: the first to come waited " + time(collective[C_LAST] - collective[C_FIRST]));
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
        ? "All wait for the last to come: rank " + c[C_LAST_RANK] + ", " + time(c[C_LAST] - c[C_FIRST]) + " after the first."
        : missing(c) ? "Those that came wait: " + missing(c) + "." : "Who waits for whom is not seen here: see below."), panel);
      const table = make("table", null, panel);
      heads(table, ["rank", "came at", "after the first", "waited for the last", "ended at", "in all"]);
      const body = make("tbody", null, table);
      const parts = [];
      for (const row of rows) {
        if (row.lane.program) continue;
        for (const span of row.lane.spans) if (span[COLLECTIVE] === collective) parts.push([row.lane, span]);
      }
      parts.sort((a, b) => a[1][START] - b[1][START]);
      for (const [lane, span] of parts) {
        const row = make("tr", null, body);
        if (c[C_WAITS] && lane.rank === c[C_LAST_RANK]) row.className = "most";
        const end = span[START] + span[LENGTH];
        cells(row, [lane.rank, moment(span[START]), time(span[START] - c[C_FIRST]),
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
      for (const lane of data.lanes) {
        if (lane.program) continue;
        const where = " rank " + lane.rank + " " + lane.label.toLowerCase() + " ";
        for (const span of lane.spans) {
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

  // ---- what the page says in words

  function heads(table, names) {
    const row = make("tr", null, make("thead", null, table));
    for (const name of names) make("th", name, row);
  }

  function cells(row, values) {
    for (const value of values) make("td", value, row);
  }

  function fillRanks() {
    const table = element("ranks");
    heads(table, ["rank", "operations", "time in them", "of it not blocked", "waited for others", "came last", "others waited for it"]);
    const body = make("tbody", null, table);
    const most = Math.max(...data.ranks.map((each) => each.waitedFor));
    for (const each of data.ranks) {
      const row = make("tr", null, body);
      if (most > 0 && each.waitedFor === most) row.className = "most";
      const free = each.busy > 0 ? Math.round(100 * (each.busy - each.blocked) / each.busy) + " %" : "";
      cells(row, [each.rank, each.operations, time(each.busy), each.blocked < 0 ? "not recorded" : free, time(each.waited),
        each.last + " times", time(each.waitedFor)]);
    }
  }

  function fillSteps() {
    const table = element("steps");
    if (data.steps.length < 2) {
      make("caption", "No collective is repeated, so there are no steps.", table);
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
      make("div", data.names[stuck[C_NAME]] + ", " + data.groups[stuck[C_GROUP]] + " #" + stuck[C_SEQUENCE] + " did not end: "
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
    if (data.lanes.some((each) => each.program)) {
      entry("var(--program)", "program runs");
      entry("var(--blocked)", "program is blocked");
    }
    if (data.lanes.some((each) => each.spans.some((span) => !each.program && !span[COMPLETED]))) entry("var(--bad)", "not completed");
    if (STRIP) entry("var(--mark)", "step: the darker, the more of it was spent waiting");
    const notes = element("notes");
    make("h2", "What these times are", notes);
    make("p", "A bar begins when a rank calls the library and ends when the operation is over. Where all ranks need all others"
      + " (allReduce, allGather, reduceScatter, allToAll, barrier) its light part is the time until the last rank had called, and that rank is the one"
      + " that was waited for. In other operations who waits for whom depends on the root, and is not shown.", notes);
    if (data.lanes.some((each) => each.device)) {
      make("p", "On devices a bar begins with the call on the host and ends when the end was noticed, up to 0.1 s late."
        + " What happens on the device in between is not seen, so there is no waiting for others here.", notes);
    }
    const ahead = data.ranks.filter((each) => each.ahead !== 0);
    make("p", "Ranks are compared by the clocks of their hosts." + (ahead.length
      ? " They differ, since some operation ended on one rank before another had begun it; so times were moved: "
        + ahead.map((each) => "rank " + each.rank + " was " + time(Math.abs(each.ahead)) + (each.ahead > 0 ? " ahead" : " behind")).join(", ") + "."
      : " No operation ended on a rank before all others had begun it, so nothing proves that clocks differ; between hosts they may,"
        + " by as much as the shortest operations take."), notes);
    make("p", "Not blocked: the share of the time in operations in which no thread of the program waited for one, so that it"
      + " could compute. The recorder keeps the last 2000 operations of each group.", notes);
  }

  // ---- beginning

  for (const lane of data.lanes) {
    if (lane.program) lane.end = Math.max(...data.lanes.filter((each) => each.rank === lane.rank)
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
})();
