// A job's graph as the document writes it → steps with predecessors. Pure.

export interface GraphEdge {
  from: string;
  on: string; // success | failure | always | an expression
}

export interface GraphStep {
  name: string;
  kind: string; // http, noop, wait, job, approval, map
  calls: string; // what it calls: task name, url, job, or the wait
  after: GraphEdge[];
  join: string; // all | any | n
  onFailure: string; // preset
}

type Doc = Record<string, unknown>;

const isDoc = (value: unknown): value is Doc => typeof value === 'object' && value !== null && !Array.isArray(value);
const text = (value: unknown): string => (typeof value === 'string' ? value : value === undefined || value === null ? '' : String(value));

function edgeOf(value: unknown): GraphEdge | null {
  if (typeof value === 'string') return { from: value, on: 'success' };
  if (!isDoc(value)) return null;
  const from = text(value.step ?? value.from ?? value.name);
  return from === '' ? null : { from, on: text(value.when ?? value.on ?? value.if) || 'success' };
}

function stepOf(doc: Doc, inherited: string[]): GraphStep {
  const own = Array.isArray(doc.after) ? doc.after : doc.after === undefined ? [] : [doc.after];
  const after = own.map(edgeOf).filter((edge): edge is GraphEdge => edge !== null);
  for (const from of inherited) {
    if (!after.some((edge) => edge.from === from)) after.push({ from, on: 'success' });
  }
  const wait = text(doc.wait);
  const kind = text(doc.kind) || (wait ? 'wait' : doc.job ? 'job' : 'http');
  return {
    name: text(doc.step ?? doc.name),
    kind,
    calls: text(doc.task ?? doc.url ?? doc.job ?? (wait || '')),
    after,
    join: isDoc(doc.join) ? text(doc.join.n) : text(doc.join) || 'all',
    onFailure: text(doc.on_failure) || 'stop',
  };
}

/**
 * Blocks `serial: […]` and `parallel: […]` are another way to write the same graph. Returns the names that whatever
 * comes behind has to wait for.
 */
function collect(items: unknown[], serial: boolean, inherited: string[], steps: GraphStep[]): string[] {
  let ends: string[] = serial ? inherited : [];
  for (const item of items) {
    if (!isDoc(item)) continue;
    const before = serial ? ends : inherited;
    let its: string[];
    if (Array.isArray(item.serial)) its = collect(item.serial, true, before, steps);
    else if (Array.isArray(item.parallel)) its = collect(item.parallel, false, before, steps);
    else {
      const step = stepOf(item, before);
      if (step.name === '') continue;
      steps.push(step);
      its = [step.name];
    }
    ends = serial ? its : [...ends, ...its];
  }
  return ends;
}

export function stepsOfGraph(graph: unknown): GraphStep[] {
  const steps: GraphStep[] = [];
  // At the top, steps stand side by side; only `after` and blocks order them.
  if (Array.isArray(graph)) collect(graph, false, [], steps);
  else if (isDoc(graph)) collect([graph], false, [], steps);
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
