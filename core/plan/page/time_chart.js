// A picture over time with one row for each device. Charts with one View zoom and scroll together. Only what can be seen is drawn.
//
//   scroller ┬ axis   sticky at the top
//            └ plot   as wide as the scroller, stuck to its left edge; redrawn for the part of time that is scrolled to
class View {
  constructor(seconds) {
    this.seconds = seconds > 0 ? seconds : 1;
    this.zoom = 1;
    this.from = 0;  // seconds at the left edge
    this.charts = [];
  }
  change(zoom, from) {
    this.zoom = Math.min(Math.max(zoom, 1), 4096);
    this.from = Math.min(Math.max(from, 0), this.seconds * (1 - 1 / this.zoom));
    for (const chart of this.charts) chart.show();
  }
  /** The moment `at` stays where it is. */
  zoomBy(factor, at = this.from + this.seconds / this.zoom / 2) {
    const zoom = Math.min(Math.max(this.zoom * factor, 1), 4096);
    this.change(zoom, at - ((at - this.from) * this.zoom) / zoom);
  }
}

class TimeChart {
  /**
   * rows: {name, note, most (whether the note stands out)} each; paint(layer, chart) draws all rows; describe(row, seconds)
   * is the text under the pointer, or null.
   */
  constructor(host, view, {rows, rowHeight, title, paint, describe}) {
    Object.assign(this, {view, rows, rowHeight, paint});
    this.nameWidth = 150;
    this.axis = svgElement('svg', {class: 'axis', height: 26, 'aria-hidden': 'true'});
    this.plot = svgElement('svg', {height: rows.length * rowHeight + 6, role: 'img', 'aria-label': title});
    this.inner = element('div', {}, this.axis, this.plot);
    this.scroller = element('div', {class: 'chart', tabindex: 0, role: 'group', 'aria-label': title + ' Plus and minus zoom, arrows scroll.'}, this.inner);
    host.append(this.scroller);
    this.listen(describe);
    view.charts.push(this);
    this.show();
  }

  listen(describe) {
    const {view, scroller} = this;
    scroller.addEventListener('scroll', () => {
      if (Math.abs(scroller.scrollLeft - this.scrolled) >= 1) view.change(view.zoom, this.secondsOf(scroller.scrollLeft));
    });
    scroller.addEventListener('keydown', (event) => {
      if (event.key === '+' || event.key === '=') view.zoomBy(2);
      else if (event.key === '-') view.zoomBy(0.5);
      else if (event.key === '0') view.change(1, 0);
    });
    scroller.addEventListener('wheel', (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      view.zoomBy(Math.exp(-event.deltaY / 200), this.timeAt(event));
    }, {passive: false});
    this.plot.addEventListener('pointermove', (event) => {
      const row = Math.floor((event.clientY - this.plot.getBoundingClientRect().top) / this.rowHeight);
      const at = this.timeAt(event);
      showTip(row >= 0 && row < this.rows.length && at >= 0 ? describe(row, at) : null, event);
    });
    this.plot.addEventListener('pointerleave', () => showTip(null));
    new ResizeObserver(() => this.show()).observe(scroller);
  }

  get plotWidth() { return Math.max(this.width - this.nameWidth - 14, 50); }
  get until() { return this.view.from + this.view.seconds / this.view.zoom; }
  secondsOf(pixels) { return (pixels / this.plotWidth) * (this.view.seconds / this.view.zoom); }
  timeAt(event) {
    return this.view.from + this.secondsOf(event.clientX - this.plot.getBoundingClientRect().left - this.nameWidth);
  }
  /** Pixels from the left edge of the plot. */
  x(seconds) { return ((seconds - this.view.from) / this.view.seconds) * this.view.zoom * this.plotWidth; }

  show() {
    this.width = this.scroller.clientWidth || 1000;
    this.inner.style.width = this.width + this.plotWidth * (this.view.zoom - 1) + 'px';
    this.scrolled = (this.view.from / this.view.seconds) * this.view.zoom * this.plotWidth;
    if (Math.abs(this.scroller.scrollLeft - this.scrolled) >= 1) this.scroller.scrollLeft = this.scrolled;
    for (const svg of [this.axis, this.plot]) svg.setAttribute('width', this.width), svg.replaceChildren();
    const height = this.rows.length * this.rowHeight;
    const layer = svgElement('svg', {x: this.nameWidth, width: this.plotWidth, height});
    this.drawTicks(layer, height);
    this.plot.append(layer);
    this.rows.forEach((row, i) => this.drawName(row, i));
    this.paint(layer, this);
  }

  drawName(row, i) {
    const top = i * this.rowHeight, two = this.rowHeight >= 34;
    if (i > 0) this.plot.append(svgElement('line', {class: 'rule', x1: 0, x2: this.width, y1: top, y2: top}));
    const name = row.name.length > 14 ? row.name.slice(0, 13) + '…' : row.name;
    const middle = top + this.rowHeight / 2;
    this.plot.append(svgElement('text', {class: 'name', x: 12, y: two ? middle - 3 : middle + 4.5}, name));
    const place = two ? {x: 12, y: middle + 13} : {x: this.nameWidth - 12, y: middle + 4.5, 'text-anchor': 'end'};
    this.plot.append(svgElement('text', {...place, class: row.most ? 'most' : 'note'}, row.note));
  }

  drawTicks(layer, height) {
    const span = this.view.seconds / this.view.zoom;
    const rough = span / Math.max(this.plotWidth / 110, 1), power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
    for (let i = Math.ceil(this.view.from / step); i * step <= this.until * (1 + 1e-9); ++i) {
      const x = this.x(i * step), anchor = x < 1 ? 'start' : x > this.plotWidth - 20 ? 'end' : 'middle';
      layer.append(svgElement('line', {class: 'tick', x1: x, x2: x, y1: 0, y2: height}));
      this.axis.append(svgElement('text', {x: this.nameWidth + x, y: 18, 'text-anchor': anchor}, i === 0 ? '0' : secondsText(i * step)));
    }
    this.axis.append(svgElement('line', {class: 'rule', x1: 0, x2: this.width, y1: 25.5, y2: 25.5}));
  }
}

function showTip(text, event) {
  const tip = document.getElementById('tip');
  tip.hidden = text === null;
  if (tip.hidden) return;
  tip.textContent = text;
  tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + 'px';
  tip.style.top = (event.clientY + 18 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 10 : event.clientY + 18) + 'px';
}

/** Buttons for one view. */
function zoomButtons(view) {
  const button = (text, label, press) => {
    const made = element('button', {type: 'button', 'aria-label': label, title: label}, text);
    made.addEventListener('click', press);
    return made;
  };
  return element('div', {class: 'zoom'}, button('−', 'Zoom out', () => view.zoomBy(0.5)), button('+', 'Zoom in', () => view.zoomBy(2)),
                 button('all', 'The whole pass', () => view.change(1, 0)));
}

/** The last item of an ascending list that begins at or before `at`; -1: none. */
function lastBefore(list, at, begin) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (begin(list[middle]) <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
