// Drawing.

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
  for (const row of rows) drawn += row.track.program ? drawProgram(g, color, row) : drawTrack(g, color, row);
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
  const spans = row.track.spans;
  const first = spans[0][START], last = row.track.end;
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

function drawTrack(g, color, row) {
  const spans = row.track.spans;
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
      if (row.track.rank !== failure.rank || row.track.program) continue;
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
    if (row.track.program) continue;
    for (const span of row.track.spans) {
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
      g.fillText(narrow ? "r" + row.track.rank : "rank " + row.track.rank, 8, row.y + row.size / 2);
      g.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    }
    g.fillStyle = color("dim");
    const left = narrow ? 30 : 66;
    g.save();
    g.beginPath();
    g.rect(left, row.y - 2, gutter - left - 4, row.size + 4);
    g.clip();
    g.fillText(row.track.label, left, row.y + row.size / 2);
    g.restore();
  }
}
