// Numbers as people read them, and the elements that show them.
'use strict';

/** As C prints numbers: a tie goes to the even digit. */
function fixed(value, digits) {
  const scale = 10 ** digits, tie = (value * scale) % 1 === 0.5;
  return (tie ? 2 * Math.round((value * scale) / 2) / scale : value).toFixed(digits);
}

/** "7.3 MiB", as `switchyard plan` prints sizes. */
function bytesText(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
  let unit = 0;
  while (bytes >= (unit === 0 ? 1024 : 1023.5) && unit + 1 < units.length) bytes /= 1024, ++unit;
  const fraction = unit > 0 && bytes < 9.95 && Math.round(bytes * 10) % 10 !== 0;
  return fixed(bytes, fraction ? 1 : 0) + ' ' + units[unit];
}

/** Three digits and the unit of their size: "15 ms", "1.25 GFLOP". */
function scaled(value, units, step = 1000) {
  let unit = 0;
  while (value >= 999.5 && unit + 1 < units.length) value /= step, ++unit;
  return Number(value.toPrecision(3)) + (units[unit] ? ' ' + units[unit] : '');
}
const secondsText = (s) => (s >= 1 ? Number(s.toPrecision(3)) + ' s' : scaled(s * 1e9, ['ns', 'µs', 'ms', 's']));
const flopsText = (n) => scaled(n, ['FLOP', 'kFLOP', 'MFLOP', 'GFLOP', 'TFLOP', 'PFLOP', 'EFLOP']);
const countText = (n) => scaled(n, ['', 'k', 'M', 'G', 'T']);
const percentText = (share) => Math.round(share * 100) + ' %';
const many = (n, one, more = one + 's') => n.toLocaleString('en') + ' ' + (n === 1 ? one : more);
const sum = (list) => list.reduce((a, b) => a + b, 0);

/** An element; attributes whose value is null or false are left out, children are nodes or text. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes))
    if (value !== null && value !== false) made.setAttribute(key, value === true ? '' : value);
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function svgElement(tag, attributes = {}, text = null) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text;
  return made;
}

/** A number of the plan: what people read, and the value itself for programs. `name` tells it apart from its neighbours. */
const number = (name, value, text) => element('data', {'data-name': name, value}, text(value));

/** Parts of a whole, side by side; [class, share of the width, title]. */
function stack(parts, label) {
  const bar = element('div', {class: 'stack', role: 'img', 'aria-label': label});
  for (const [name, share, title] of parts) {
    if (!(share > 0)) continue;
    const part = element('i', {class: name, title});
    part.style.width = share * 100 + '%';
    bar.append(part);
  }
  return bar;
}

/** At most `limit` rows are there until somebody asks for the others. columns: [title, class]; rows: a list of cells each. */
function table(caption, columns, rows, limit = 100) {
  const body = element('tbody');
  const add = (from, to) => {
    for (const cells of rows.slice(from, to))
      body.append(element('tr', {}, ...cells.map((cell, i) => element('td', {class: columns[i][1] || null}, ...[cell].flat()))));
  };
  add(0, limit);
  const head = columns.map(([title, name]) => element('th', {scope: 'col', class: name || null}, title));
  const made = [element('table', {}, element('caption', {class: 'unseen'}, caption),
                        element('thead', {}, element('tr', {}, ...head)), body)];
  if (rows.length > limit) {
    const more = element('button', {type: 'button', class: 'more'},
                         `${(rows.length - limit).toLocaleString('en')} of ${rows.length.toLocaleString('en')} rows are left out; show all`);
    more.addEventListener('click', () => (add(limit, rows.length), more.remove()));
    made.push(more);
  }
  return made;
}

/** [class, text] each */
const legend = (keys) => element('ul', {class: 'legend'},
                                 ...keys.map(([name, text]) => element('li', {}, element('span', {class: 'key ' + name}), text)));
