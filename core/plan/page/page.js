// Fills the page from the plan's JSON and its timeline, which stand in the page.

const read = (id) => JSON.parse(document.getElementById(id).textContent);
const fill = (id, ...children) => document.getElementById(id).replaceChildren(...children);

function fillShape(plan) {
  const {count, rows, passes} = plan.micro_batches;
  const sizes = rows.length === 0 ? '' : ' of ' + [...new Set([rows.at(-1), rows[0]])].join(' to ');
  fill('shape', [
    `${countText(plan.parameters)} parameters in ${many(plan.layers.length, 'layer')}`,
    `${many(plan.stages.length, 'stage')} on ${many(plan.devices.length, 'device')}`,
    [plan.policy, plan.schedule].filter(Boolean).join(', '),
    `${many(count, 'micro-batch', 'micro-batches')}${sizes}${passes > 1 ? `, ${passes} passes a step` : ''}`,
  ].join(' · '));
}

function tile(name, figure, ...notes) {
  return element('div', {}, element('dt', {}, name), element('dd', {class: 'figure'}, figure), ...notes.map((note) => element('dd', {}, note)));
}

function fillGlance(plan) {
  const {step_s, idle} = plan.prediction, transfers = plan.transfers;
  const laziest = idle.indexOf(Math.max(...idle)), fullest = plan.devices[fullestDevice(plan)];
  const mean = sum(idle) / idle.length;
  const tiles = [tile('One step takes', number('step_s', step_s, secondsText), 'predicted')];
  tiles.push(tile('Devices wait', number('idle_mean', mean, percentText),
                  idle.length > 1 ? `of the step; most of all ${plan.devices[laziest].name}: ${percentText(idle[laziest])}` : 'of the step'));
  tiles.push(tile('The fullest device needs', number('fullest', fullest.memory.peak, bytesText),
                  fullest.name + (fullest.budget ? `: ${percentText(fullest.memory.peak / fullest.budget)} of ${bytesText(fullest.budget)}` : ', without a budget')));
  const count = transfers.forward + transfers.backward;
  tiles.push(tile('Each micro-batch is handed over', count === 0 ? 'never' : many(count, 'time'),
                  count === 0 ? 'nothing travels between devices'
                              : `${bytesText(transfers.forward_bytes)} forward, ${bytesText(transfers.backward_bytes)} back`));
  fill('glance', ...tiles);
}

function fillRemarks(plan) {
  const remark = (kind, name, text) => element('p', {class: 'remark ' + kind}, element('b', {}, name + ' '), text);
  fill('remarks', ...(plan.why ? [remark('why', 'Why this split:', plan.why)] : []),
       ...plan.warnings.map((text) => remark('warning', 'Warning:', text)), ...plan.notes.map((text) => remark('note', 'Note:', text)));
}

/** Waiting before the first action, work by kind, waiting between actions, waiting after the last. */
function timeBar(lane, seconds) {
  const waits = waitsOf(lane, seconds);
  const wait = (part, when) => ['wait', waits[part], `waits ${when}`];
  const busy = Object.entries(kindNames).map(([kind, name]) => [kind, busyOf(lane, kind), name]);
  const parts = [wait('start', 'at the start'), ...busy, wait('between', 'between actions'), wait('end', 'at the end')]
      .filter(([, part]) => part > 0).map(([name, part, title]) => [name, part / seconds, `${title}: ${secondsText(part)}`]);
  return stack(parts, parts.map(([, , title]) => title).join(', '));
}

function memoryBar({memory, budget}, largest) {
  const full = budget ?? largest;
  const parts = Object.entries(memoryParts).map(([part, name]) => [part, memory[part] / full, `${name}: ${bytesText(memory[part])}`]);
  return stack(parts, parts.map(([, , title]) => title).join(', '));
}

function fillDevices(plan, timeline) {
  const lanes = new Map(timeline.devices.map((lane) => [lane.device, lane]));
  const idle = plan.prediction.idle, laziest = Math.max(...idle), fullest = fullestDevice(plan);
  const largest = Math.max(...plan.devices.map((d) => d.memory.peak), 1), several = plan.devices.length > 1;
  const tag = (text) => element('span', {class: 'tag'}, text);
  const rows = plan.devices.map((d, i) => [
    element('b', {}, d.name),
    d.layers || 'none',
    lanes.has(i) ? timeBar(lanes.get(i), timeline.seconds) : '',
    [number(`idle.${i}`, idle[i], percentText), ' idle', several && idle[i] === laziest && laziest > 0 ? tag('waits most') : null],
    memoryBar(d, largest),
    [number(`peak.${i}`, d.memory.peak, bytesText), ...(d.budget ? [' of ', number(`budget.${i}`, d.budget, bytesText)] : []),
     several && i === fullest ? tag('fullest') : null],
  ]);
  const shown = Object.entries(memoryParts).filter(([part]) => plan.devices.some((d) => d.memory[part] > 0));
  fill('devices', element('div', {class: 'tools'}, legend([...kindsIn(timeline), ['hatch', 'waits'], ...shown])),
       ...table('Devices', [['device'], ['layers', 'wide'], ['time', 'bar'], [''], ['memory', 'bar'], ['']], rows, 64));
}

function fillPipeline(plan, timeline, view) {
  const {devices, left_out} = timeline;
  const rest = left_out > 0 ? ` Drawn are ${many(devices.length, 'device')} of ${plan.devices.length.toLocaleString('en')}; ` +
                              `${many(left_out, 'device')} are left out here, but not in sums and tables.` : '';
  const passes = plan.micro_batches.passes;
  fill('pipeline-caption', `${passes > 1 ? `One of ${passes} equal passes` : 'One pass'}, ${secondsText(timeline.seconds)}; numbers are micro-batches.${rest}`);
  new Pipeline(plan, timeline, view, document.getElementById('pipeline'), rowHeight(devices.length, 38, 26, 17));
  const rows = devices.map(({device, actions}) => {
    const waits = waitsOf({actions}, timeline.seconds);
    return [plan.devices[device].name, number(`actions.${device}`, actions.length, String),
            ...['start', 'busy', 'between', 'end'].map((part) => number(`${part}.${device}`, waits[part], secondsText)),
            number(`program.${device}`, plan.prediction.idle[device], percentText)];
  });
  fill('pipeline-numbers', ...table('Seconds of each device in one pass',
       [['device'], ...['actions', 'waits at the start', 'busy', 'waits between', 'waits at the end', 'idle'].map((name) => [name, 'number'])], rows));
}

function fillMemory(plan, timeline, view) {
  const scale = plan.devices.every((d) => d.budget) ? 'A full lane is the device’s budget.'
      : plan.devices.some((d) => d.budget) ? 'A full lane is the device’s budget; without one, the largest peak.'
      : `No device has a budget; a full lane is the largest peak, ${bytesText(Math.max(...plan.devices.map((d) => d.memory.peak)))}.`;
  fill('memory-caption', scale + ' The dot is the worst moment.');
  new MemoryChart(plan, timeline, view, document.getElementById('memory'), rowHeight(timeline.devices.length, 60, 40, 26));
  const parts = Object.keys(memoryParts);
  const rows = plan.devices.map((d, i) => [
    d.name, ...parts.map((part) => number(`${part}.${i}`, d.memory[part], bytesText)), number(`memory_peak.${i}`, d.memory.peak, bytesText),
    d.budget ? number(`memory_budget.${i}`, d.budget, bytesText) : 'none', d.budget ? percentText(d.memory.peak / d.budget) : '',
  ]);
  fill('memory-numbers', ...table('Bytes of each device at its worst moment',
       [['device'], ...[...Object.values(memoryParts), 'peak', 'budget', 'full'].map((name) => [name, 'number'])], rows));
}

const rowHeight = (rows, few, some, lots) => (rows <= 8 ? few : rows <= 32 ? some : lots);

function fillEdges(plan) {
  const edges = plan.edges.filter((e) => e.capacity > 0), inside = plan.edges.length - edges.length;
  if (edges.length === 0) {
    fill('edges-caption', 'Nothing travels between devices.');
    return;
  }
  fill('edges-caption', 'What one micro-batch hands over, the way it goes, and how many tensors may wait on the edge.' +
       (inside > 0 ? ` ${many(inside, 'edge')} between stages of one device ${inside === 1 ? 'moves' : 'move'} nothing and ${inside === 1 ? 'is' : 'are'} not listed.` : ''));
  const largest = Math.max(...edges.map((e) => e.bytes)), differ = edges.some((e) => e.bytes !== largest), deviceOf = (stage) => plan.stages[stage].device;
  const rows = edges.map((e) => [
    `${deviceOf(e.from)} → ${deviceOf(e.to)}`,
    `${e.from} → ${e.to}`,
    e.direction,
    e.use ? `gradient of ${e.use.layer}’s input ${e.use.input}` : `${e.layer}${e.output > 0 ? `, output ${e.output}` : ''}`,
    ...(differ ? [stack([['share', e.bytes / largest, bytesText(e.bytes)]], bytesText(e.bytes))] : []),
    number(`bytes.${e.index}`, e.bytes, bytesText),
    number(`travel_s.${e.index}`, e.travel_s, secondsText),
    number(`capacity.${e.index}`, e.capacity, String),
    e.path,
  ]);
  fill('edges', ...table('Edges between devices', [['devices'], ['stages'], ['direction'], ['what', 'wide'], ...(differ ? [['', 'bar']] : []), ['bytes', 'number'],
                                                  ['time', 'number'], ['room', 'number'], ['path']], rows, 32));
}

function fillLayers(plan) {
  const costs = plan.layers.map(({cost}) => ({...cost, seconds: cost.forward_s + cost.input_s + cost.weight_s}));
  const total = sum(costs.map((c) => c.seconds)), largest = Math.max(...costs.map((c) => c.seconds), 1e-30);
  fill('layers-caption', `Of one micro-batch, forward and backward: ${secondsText(total)} on all layers together.`);
  const rows = plan.layers.map((layer, i) => {
    const c = costs[i];
    return [
      layer.name, element('small', {}, layer.type), layer.device + (layer.recompute ? ', recomputed' : ''),
      stack([['F', c.forward_s / largest, 'forward: ' + secondsText(c.forward_s)],
             ['B', (c.input_s + c.weight_s) / largest, 'backward: ' + secondsText(c.input_s + c.weight_s)]], secondsText(c.seconds)),
      number(`share.${i}`, total > 0 ? c.seconds / total : 0, (share) => (share * 100).toFixed(1) + ' %'),
      number(`layer_s.${i}`, c.seconds, secondsText),
      number(`flops_forward.${i}`, c.flops_forward, flopsText), number(`flops_backward.${i}`, c.flops_input + c.flops_weight, flopsText),
      number(`saved.${i}`, c.saved, bytesText), number(`workspace.${i}`, c.workspace, bytesText),
    ];
  });
  fill('layers', ...table('Costs of each layer', [['layer', 'wide'], ['type'], ['device'], ['', 'bar'],
       ...['share', 'time', 'forward', 'backward', 'saved', 'workspace'].map((name) => [name, 'number'])], rows));
}

const plan = read('plan-json'), timeline = read('timeline-json');
const view = new View(timeline.seconds);
fillShape(plan);
fillGlance(plan);
fillRemarks(plan);
fillDevices(plan, timeline);
fillPipeline(plan, timeline, view);
fillMemory(plan, timeline, view);
fillEdges(plan);
fillLayers(plan);
