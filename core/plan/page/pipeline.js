// The pipeline as a Gantt chart: a row for each device, a box for each action, hatched where it waits.

const kindNames = {F: 'forward', B: 'backward', I: 'backward, inputs', W: 'backward, weights', R: 'recompute'};
const [KIND, STAGE, MICRO_BATCH, BEGIN, END] = [0, 1, 2, 3, 4];  // of an action in the timeline
const most_transfers = 800;  // drawn at once; more would be a grey cloud

/** A device's waits in seconds: before its first action, between actions, after its last. */
function waitsOf(lane, seconds) {
  const actions = lane.actions;
  if (actions.length === 0) return {start: seconds, between: 0, end: 0, busy: 0};
  const busy = sum(actions.map((a) => a[END] - a[BEGIN])), first = actions[0][BEGIN], last = actions.at(-1)[END];
  return {start: first, between: Math.max(last - first - busy, 0), end: Math.max(seconds - last, 0), busy};
}

/** Seconds that a device spends on one kind of action. */
const busyOf = (lane, kind) => sum(lane.actions.filter((a) => a[KIND] === kind).map((a) => a[END] - a[BEGIN]));

/** Keys of the legend for the kinds of action that occur. */
function kindsIn(timeline) {
  const used = new Set(timeline.devices.flatMap((lane) => lane.actions.map((a) => a[KIND])));
  return Object.keys(kindNames).filter((kind) => used.has(kind)).map((kind) => [kind, `${kind} ${kindNames[kind]}`]);
}

class Pipeline {
  constructor(plan, timeline, view, host, rowHeight) {
    Object.assign(this, {plan, timeline, view, rowHeight});
    this.rowOfDevice = new Map(timeline.devices.map((lane, row) => [lane.device, row]));
    this.deviceOfStage = new Map(plan.devices.flatMap((d) => d.stages.map((s) => [s, d.index])));
    const idle = plan.prediction.idle, most = Math.max(...idle);
    const rows = timeline.devices.map(({device}) => ({
      name: plan.devices[device].name,
      note: percentText(idle[device]) + ' idle',
      most: idle.length > 1 && idle[device] === most,
    }));
    this.transfersNote = element('span');
    host.append(element('div', {class: 'tools'}, this.legend(), this.transfersNote, zoomButtons(view)));
    new TimeChart(host, view, {
      rows, rowHeight, title: 'What each device does over time.',
      paint: (layer, chart) => this.paint(layer, chart),
      describe: (row, at) => this.describe(row, at),
    });
  }

  legend() {
    const keys = [...kindsIn(this.timeline), ['hatch', 'waits']];
    if (this.timeline.transfers.length > 0) keys.push(['thread', 'transfer']);
    return legend(keys);
  }

  paint(layer, chart) {
    layer.append(this.hatch());
    this.timeline.devices.forEach((lane, row) => this.paintLane(layer, chart, lane, row));
    this.paintTransfers(layer, chart);
  }

  hatch() {
    const pattern = svgElement('pattern', {id: 'hatch', width: 5, height: 5, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)'});
    pattern.append(svgElement('line', {class: 'hatch-line', x1: 1, x2: 1, y1: 0, y2: 5}));
    const defs = svgElement('defs');
    defs.append(pattern);
    return defs;
  }

  get gap() { return Math.round(this.rowHeight * 0.16); }

  /** One path for each kind of action, and the numbers that have room. */
  paintLane(layer, chart, lane, row) {
    const top = row * this.rowHeight + this.gap, height = this.rowHeight - 2 * this.gap, bottom = top + height;
    const left = Math.max(chart.x(0), 0), right = Math.min(chart.x(this.view.seconds), chart.plotWidth);
    layer.append(svgElement('rect', {class: 'lane', x: left, y: top, width: Math.max(right - left, 0), height}));
    const paths = {}, texts = [], drawn = {};
    let narrowest = Infinity;
    for (let i = Math.max(lastBefore(lane.actions, this.view.from, (a) => a[BEGIN]), 0); i < lane.actions.length; ++i) {
      const action = lane.actions[i], kind = action[KIND];
      if (action[BEGIN] > chart.until) break;
      const x1 = Math.max(chart.x(action[BEGIN]), -2), x2 = Math.min(chart.x(action[END]), chart.plotWidth + 2);
      if (x2 <= (drawn[kind] ?? -2) + 0.25) continue;  // too small to be seen beside its neighbour
      drawn[kind] = x2;
      narrowest = Math.min(narrowest, x2 - x1);
      paths[kind] = (paths[kind] ?? '') + `M${x1.toFixed(2)} ${top}V${bottom}H${x2.toFixed(2)}V${top}Z`;
      const text = String(action[MICRO_BATCH]);
      if (height >= 11 && x2 - x1 >= text.length * 6.6 + 4) texts.push([(x1 + x2) / 2, text]);
    }
    for (const [kind, d] of Object.entries(paths))
      layer.append(svgElement('path', {class: kind + (narrowest > 3 ? ' apart' : ''), d}));
    for (const [x, text] of texts) layer.append(svgElement('text', {class: 'inside', x, y: top + height / 2 + 4}, text));
  }

  /** From the sender's lane to the taker's. */
  paintTransfers(layer, chart) {
    const seen = this.timeline.transfers.filter(([, , begin, end]) => end >= this.view.from && begin <= chart.until);
    const drawn = seen.length <= most_transfers ? seen : [];
    this.transfersNote.textContent = drawn.length === seen.length ? '' : `${seen.length.toLocaleString('en')} transfers are left out here; zoom in to see them`;
    let d = '';
    for (const [edge, , begin, end] of drawn) {
      const [from, to] = ['from', 'to'].map((side) => this.rowOfDevice.get(this.deviceOfStage.get(this.plan.edges[edge][side])));
      if (from === undefined || to === undefined) continue;
      const down = to > from;
      const y1 = (from + (down ? 1 : 0)) * this.rowHeight + (down ? -this.gap : this.gap);
      const y2 = (to + (down ? 0 : 1)) * this.rowHeight + (down ? this.gap : -this.gap);
      d += `M${chart.x(begin).toFixed(2)} ${y1}L${chart.x(end).toFixed(2)} ${y2}`;
    }
    layer.append(svgElement('path', {class: 'transfer', d}));
  }

  describe(row, at) {
    const {device, actions} = this.timeline.devices[row];
    const name = this.plan.devices[device].name;
    if (at > this.view.seconds) return null;
    const i = lastBefore(actions, at, (a) => a[BEGIN]);
    if (i < 0 || actions[i][END] < at) {
      const begin = i < 0 ? 0 : actions[i][END], end = i + 1 < actions.length ? actions[i + 1][BEGIN] : this.view.seconds;
      return `${name} waits ${secondsText(end - begin)}\n${secondsText(begin)} to ${secondsText(end)}`;
    }
    const [kind, stage, microBatch, begin, end] = actions[i];
    const layers = this.plan.stages[stage].layers;
    const which = layers.length === 1 ? layers[0] : `${layers[0]} … ${layers.at(-1)} (${layers.length})`;
    return `${kind} ${microBatch}: ${kindNames[kind]} of micro-batch ${microBatch}\nstage ${stage} on ${name}: ${which}\n` +
           `${secondsText(begin)} to ${secondsText(end)}, ${secondsText(end - begin)}`;
  }
}
