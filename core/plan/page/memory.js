// Memory over time: a row for each device, with its budget.

const memoryParts = {
  weights: 'weights', masters: 'fp32 copies', gradients: 'gradients', states: 'optimizer', edges: 'edges', activations: 'activations',
};

class MemoryChart {
  constructor(plan, timeline, view, host, rowHeight) {
    Object.assign(this, {plan, timeline, view, rowHeight});
    this.largest = Math.max(...plan.devices.map((d) => d.memory.peak), 1);
    const fullest = fullestDevice(plan);
    const rows = timeline.devices.map(({device}) => ({
      name: plan.devices[device].name,
      note: this.noteOf(plan.devices[device]),
      most: plan.devices.length > 1 && device === fullest,
    }));
    const keys = [['fixed', 'weights, gradients, optimizer, edges'], ['activations', 'activations']];
    if (plan.devices.some((d) => d.budget)) keys.push(['line', 'budget']);
    host.append(element('div', {class: 'tools'}, legend(keys), zoomButtons(view)));
    new TimeChart(host, view, {
      rows, rowHeight, title: 'Bytes alive on each device over time.',
      paint: (layer, chart) => timeline.devices.forEach((lane, row) => this.paintLane(layer, chart, lane, row)),
      describe: (row, at) => this.describe(row, at),
    });
  }

  noteOf({memory, budget}) {
    if (!budget) return bytesText(memory.peak);
    return this.rowHeight >= 34 ? `${bytesText(memory.peak)} of ${bytesText(budget)}` : percentText(memory.peak / budget);
  }
  /** The bytes that fill a lane: the budget, or without one the largest peak of all. */
  fullOf(device) { return this.plan.devices[device].budget ?? this.largest; }

  /** Bytes that are there all the time. */
  fixedOf(device) {
    const m = this.plan.devices[device].memory;
    return m.weights + m.masters + m.gradients + m.states + m.edges;
  }

  paintLane(layer, chart, {device, memory}, row) {
    const base = (row + 1) * this.rowHeight - 3, height = this.rowHeight - 9;
    const y = (bytes) => base - (bytes / this.fullOf(device)) * height;
    const {budget} = this.plan.devices[device];
    const end = Math.min(chart.x(this.view.seconds), chart.plotWidth + 2);
    if (memory.length > 0) {
      let d = '', last = null, peak = memory[0];
      const first = Math.max(lastBefore(memory, this.view.from, (p) => p[0]), 0);
      for (let i = first; i < memory.length && memory[i][0] <= chart.until; ++i) {
        const x = Math.max(chart.x(memory[i][0]), -2).toFixed(2);
        d += last === null ? `M${x} ${y(memory[i][1]).toFixed(2)}` : `H${x}V${y(memory[i][1]).toFixed(2)}`;
        last = memory[i];
      }
      d += `H${end.toFixed(2)}`;
      const left = Math.max(chart.x(0), 0), fixed = y(this.fixedOf(device));
      layer.append(svgElement('rect', {class: 'fixed', x: left, y: fixed, width: Math.max(end - left, 0), height: base - fixed}),
                   svgElement('path', {class: 'area', d: `${d}V${fixed}H${Math.max(chart.x(memory[first][0]), -2).toFixed(2)}Z`}),
                   svgElement('path', {class: 'level', d}));
      for (const point of memory) if (point[1] > peak[1]) peak = point;
      if (peak[0] >= this.view.from && peak[0] <= chart.until)
        layer.append(svgElement('circle', {class: 'peak', cx: chart.x(peak[0]).toFixed(2), cy: y(peak[1]).toFixed(2), r: this.rowHeight >= 34 ? 4 : 3}));
    }
    if (budget) layer.append(svgElement('line', {class: 'budget', x1: 0, x2: Math.max(end, 0), y1: y(budget), y2: y(budget)}));
  }

  describe(row, at) {
    const {device, memory} = this.timeline.devices[row];
    const {name, budget} = this.plan.devices[device];
    const i = lastBefore(memory, at, (p) => p[0]);
    if (i < 0 || at > this.view.seconds) return null;
    const of = budget ? ` of ${bytesText(budget)} (${percentText(memory[i][1] / budget)})` : '';
    return `${name} at ${secondsText(at)}\n${bytesText(memory[i][1])}${of}`;
  }
}

/** The one with the least room: by share of the budget where all have one, else by bytes. */
function fullestDevice(plan) {
  const budgets = plan.devices.every((d) => d.budget);
  const fill = plan.devices.map((d) => (budgets ? d.memory.peak / d.budget : d.memory.peak));
  return fill.indexOf(Math.max(...fill));
}
