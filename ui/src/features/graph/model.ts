// A job's graph as the document writes it → steps with predecessors. Pure.

export interface GraphEdge {
  from: string;
  on: string; // success | failure | always | an expression
}

export interface GraphStep {
  name: string;
  kind: string; // http, noop, wait, job, approval, map, broadcast, shard
  calls: string; // what it calls: task name, url, job, or the wait
  after: GraphEdge[];
  join: string; // all | any | n
  onFailure: string; // preset
}

type Doc = Record<string, unknown>;

const isDoc = (value: unknown): value is Doc => typeof value === 'object' && value !== null && !Array.isArray(value);
const text = (value: unknown): string => (typeof value === 'string' ? value : value === undefined || value === null ? '' : String(value));

/** `usual`: the condition that the step gives to all its edges. */
function edgeOf(value: unknown, usual: string): GraphEdge | null {
  if (typeof value === 'string') return { from: value, on: usual };
  if (!isDoc(value)) return null;
  const from = text(value.step);
  return from === '' ? null : { from, on: text(value.when ?? value.on) || usual };
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : value === undefined ? [] : [value]);

/** Several calls in one step: by a list, or by the instances that there are. */
function fanOf(doc: Doc): string {
  if (doc.map !== undefined) return 'map';
  const routing = text(doc.routing);
  return routing === 'broadcast' || routing === 'shard' ? routing : doc.shards !== undefined ? 'shard' : '';
}

function stepOf(doc: Doc, before: string[], inherited: unknown[]): GraphStep {
  const usual = text(doc.when ?? doc.on) || 'success';
  const after = [...listOf(doc.after), ...inherited].map((value) => edgeOf(value, usual)).filter((edge): edge is GraphEdge => edge !== null);
  for (const from of before) {
    if (!after.some((edge) => edge.from === from)) after.push({ from, on: usual });
  }
  const wait = text(doc.wait);
  const kind = text(doc.kind) || (wait ? 'wait' : doc.noop ? 'noop' : doc.job ? 'job' : fanOf(doc) || 'http');
  return {
    name: text(doc.step ?? doc.name),
    kind,
    calls: text(doc.task ?? doc.url ?? doc.job ?? (wait || '')),
    after,
    join: text(doc.join) || 'all',
    onFailure: text(doc.on_failure) || 'stop',
  };
}

/**
 * Blocks `serial: […]` and `parallel: […]` are another way to write the same graph. Returns the names that whatever
 * comes behind has to wait for.
 */
function collect(items: unknown[], serial: boolean, before: string[], inherited: unknown[], steps: GraphStep[]): string[] {
  let ends: string[] = serial ? before : [];
  items.forEach((item, index) => {
    if (!isDoc(item)) return;
    const first = !serial || index === 0;
    const its = collectItem(item, serial ? ends : before, first ? inherited : [], steps);
    ends = serial ? its : [...ends, ...its];
  });
  return ends;
}

/** `inherited`: the `after` of the blocks around, for whatever they begin with. */
function collectItem(item: Doc, before: string[], inherited: unknown[], steps: GraphStep[]): string[] {
  const list = item.serial ?? item.parallel;
  if (Array.isArray(list)) {
    return collect(list, item.serial !== undefined, before, [...listOf(item.after), ...inherited], steps);
  }
  const step = stepOf(item, before, inherited);
  if (step.name === '') return before;
  steps.push(step);
  return [step.name];
}

export function stepsOfGraph(graph: unknown): GraphStep[] {
  const steps: GraphStep[] = [];
  // At the top, steps stand side by side; only `after` and blocks order them.
  if (Array.isArray(graph)) collect(graph, false, [], [], steps);
  return steps;
}

/** Predecessors before successors; steps that are left over (a cycle) keep the order of the document. */
export function inOrder(steps: GraphStep[]): GraphStep[] {
  const done = new Set<string>();
  const names = new Set(steps.map((step) => step.name));
  let rest = steps;
  const ordered: GraphStep[] = [];
  while (rest.length > 0) {
    const ready = rest.filter((step) => step.after.every((edge) => done.has(edge.from) || !names.has(edge.from)));
    if (ready.length === 0) return [...ordered, ...rest];
    for (const step of ready) {
      done.add(step.name);
      ordered.push(step);
    }
    rest = rest.filter((step) => !done.has(step.name));
  }
  return ordered;
}
