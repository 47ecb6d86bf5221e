// What was recorded, in words and in places on the canvas. TimelinePage joins these files in one block.

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
  for (const track of data.tracks) {
    if (rank !== null && track.rank !== rank) y += GAP;
    const size = track.program ? PROGRAM_ROW : ROW;
    rows.push({ track, y, size, first: track.rank !== rank });
    rank = track.rank;
    y += size + 2;
  }
  height = y + GAP;
}

const x = (nanos) => gutter + (nanos - view.from) / (view.to - view.from) * (width - gutter);
const at = (pixel) => view.from + (pixel - gutter) / (width - gutter) * (view.to - view.from);

/** The first span that ends after a time; those of one track do not overlap. */
function firstAfter(spans, nanos) {
  let low = 0, high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans[middle][START] + spans[middle][LENGTH] < nanos) low = middle + 1; else high = middle;
  }
  return low;
}
