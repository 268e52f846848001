// A test fixture, not the product: enough of the API of Carillon, in memory, to develop and test the interface without a
// server. It keeps what is PUT, fires `every` triggers, calls the steps' URLs in the order of the graph and remembers the
// attempts. It knows nothing of the real rules of time, failure or overlap.
//
//   node tests/ui/fake-server.mjs [port]      then: cd ui && CARILLON_URL=http://127.0.0.1:<port> npm run dev
import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const DIST = process.env.CARILLON_UI_DIST ?? path.join(here, '../../ui/dist');
const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8', '.svg': 'image/svg+xml', '.txt': 'text/plain; charset=utf-8' };

const iso = (ms) => new Date(ms).toISOString();
const spanOf = (text) => {
  const match = /^(\d+)(ms|s|m|h|d)$/.exec(String(text));
  return match ? Number(match[1]) * { ms: 1, s: 1e3, m: 6e4, h: 36e5, d: 864e5 }[match[2]] : NaN;
};

class Refusal extends Error {
  constructor(status, code, message, details = []) {
    super(message);
    Object.assign(this, { status, code, details });
  }
}

// ---- time: the little that the pages need -----------------------------------------------------------------------------
function fieldMatches(field, value, low) {
  if (field === '*' || field === '?') return true;
  return field.split(',').some((part) => {
    const [range, step] = part.split('/');
    const [from, to] = range === '*' ? [low, 99] : range.split('-').map(Number);
    const last = to ?? (step ? 99 : from);
    return value >= from && value <= last && (value - from) % Number(step ?? 1) === 0;
  });
}

/** Difference between a zone's clock and UTC at an instant; a fixture needs no change of it in between. */
function offsetOf(zone, at) {
  const parts = Object.fromEntries(new Intl.DateTimeFormat('en', { timeZone: zone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' }).formatToParts(at).map(({ type, value }) => [type, Number(value)]));
  return Date.UTC(parts.year, parts.month - 1, parts.day, parts.hour, parts.minute, parts.second) - Math.floor(at / 1000) * 1000;
}

function cronNext(cron, from, count, zone) {
  let fields = cron.trim().split(/\s+/);
  if (fields.length === 5) fields = ['0', ...fields];
  if (fields.length !== 6) throw new Refusal(400, 'SCHEDULING_VALIDATION_001', `"${cron}" has ${fields.length} fields, not 5 to 7`);
  const offset = offsetOf(zone, from);
  const found = [];
  for (let at = Math.floor(from / 1000) * 1000 + 1000; found.length < count && at < from + 3 * 864e5; at += 1000) {
    const date = new Date(at + offset);
    if (fieldMatches(fields[0], date.getUTCSeconds(), 0) && fieldMatches(fields[1], date.getUTCMinutes(), 0) && fieldMatches(fields[2], date.getUTCHours(), 0)) found.push(iso(at));
  }
  return found;
}

const scheduleOf = (trigger) => ['cron', 'every', 'delay', 'at'].filter((kind) => trigger[kind] !== undefined).map((kind) => ({ kind, schedule: String(trigger[kind]) }))[0];

// ---- jobs and runs ----------------------------------------------------------------------------------------------------
export function createFake({ token = randomBytes(16).toString('hex') } = {}) {
  const projects = new Map();
  let lastRun = 18_270_000_000_000_000n;
  let stopped = false;
  const nodes = new Map(['fake', 'spare', 'gone'].map((node, i) => [node, { node, boot: String(i + 1), address: `10.0.0.${i + 1}:8420`, role: 'scheduler', state: node === 'gone' ? 'down' : 'working', version: '0', pool: '', weight: 1, capacity: 20, started_at: iso(Date.now() - 36e5), seen_at: iso(Date.now() - (node === 'gone' ? 9e5 : 0)) }]));
  const tokens = [{ id: '1', name: 'fixture', role: 'admin', project: null, created_at: iso(Date.now()), expires_at: null, last_used_at: iso(Date.now()) }];

  const projectOf = (name) => {
    const found = projects.get(name);
    if (!found) throw new Refusal(404, 'SCHEDULING_NOTFOUND_001', `There is no project "${name}".`);
    return found;
  };
  const jobOf = (project, name) => {
    const found = projectOf(project).jobs.get(name);
    if (!found) throw new Refusal(404, 'SCHEDULING_NOTFOUND_001', `There is no job "${name}" in project "${project}".`);
    return found;
  };
  const addProject = (name, spec) => projects.set(name, { name, spec, jobs: projects.get(name)?.jobs ?? new Map(), runs: projects.get(name)?.runs ?? [] });
  addProject('default', { timezone: 'UTC' });

  function faultsOf(document) {
    const details = [];
    const fault = (path, message) => details.push({ path, code: 'SCHEDULING_VALIDATION_001', message });
    const names = new Set();
    const graph = document.spec?.graph;
    if (!Array.isArray(graph) || graph.length === 0) fault('spec.graph', 'A job needs at least one step.');
    for (const [i, step] of (graph ?? []).entries()) {
      if (!step.step) fault(`spec.graph[${i}]`, 'A step needs a name.');
      if (names.has(step.step)) fault(`spec.graph[${i}].step`, `There are two steps named "${step.step}".`);
      names.add(step.step);
    }
    for (const [i, step] of (graph ?? []).entries()) {
      for (const [k, name] of (step.after ?? []).entries()) if (!names.has(name)) fault(`spec.graph[${i}].after[${k}]`, `There is no step named "${name}".`);
    }
    for (const [i, trigger] of (document.spec?.triggers ?? []).entries()) {
      const schedule = scheduleOf(trigger);
      if (!schedule) fault(`spec.triggers[${i}]`, 'A trigger needs one of cron, every, delay, at.');
      else if (schedule.kind === 'every' && Number.isNaN(spanOf(schedule.schedule))) fault(`spec.triggers[${i}].every`, `"${schedule.schedule}" is not a duration such as 90s.`);
      else if (schedule.kind === 'cron') {
        try {
          cronNext(schedule.schedule, Date.now(), 1, 'UTC');
        } catch (error) {
          fault(`spec.triggers[${i}].cron`, error.message);
        }
      }
    }
    return details;
  }

  function putJob(project, name, document) {
    const details = faultsOf(document);
    if (details.length) throw new Refusal(400, 'SCHEDULING_VALIDATION_001', 'The definition has faults.', details);
    if (!/^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/.test(name)) throw new Refusal(400, 'SCHEDULING_VALIDATION_001', `"${name}" is not a name.`);
    const old = projectOf(project).jobs.get(name);
    const job = {
      name, project, document,
      version: (old?.version ?? 0) + 1,
      paused: old?.paused ?? false,
      since: old?.since ?? Date.now(),
      skips: old?.skips ?? [],
      pausedTriggers: old?.pausedTriggers ?? new Set(),
      cursor: Date.now(),
    };
    projectOf(project).jobs.set(name, job);
    return !old;
  }

  function statusOf(job) {
    const now = Date.now();
    const runs = projectOf(job.project).runs.filter((run) => run.job === job.name);
    const triggers = (job.document.spec.triggers ?? []).map((trigger) => {
      const name = trigger.name ?? 'default';
      const schedule = scheduleOf(trigger);
      const paused = job.pausedTriggers.has(name);
      let next = [];
      if (schedule.kind === 'cron') next = cronNext(schedule.schedule, now, 5, trigger.timezone ?? projectOf(job.project).spec.timezone);
      if (schedule.kind === 'every') next = [1, 2, 3, 4, 5].map((k) => iso((Math.floor(now / spanOf(schedule.schedule)) + k) * spanOf(schedule.schedule)));
      if (schedule.kind === 'at' && Date.parse(schedule.schedule) > now) next = [schedule.schedule];
      if (paused || job.paused) next = [];
      return { name, ...schedule, zone: trigger.timezone ?? projectOf(job.project).spec.timezone, state: paused || job.paused ? 'paused' : next.length ? 'waiting' : 'complete', reason: null, paused, next };
    });
    const last = runs.at(-1);
    return {
      name: job.name, project: job.project, version: job.version, paused: job.paused, state: job.paused ? 'paused' : 'active',
      description: job.document.metadata?.description ?? null, owner_node: job.node ?? 'fake', owner_since: iso(job.since), triggers,
      running: runs.filter((run) => !run.ended_at).length,
      last_run: last ? { id: last.id, state: last.state, scheduled_at: last.scheduled_at, ended_at: last.ended_at } : null,
      next_at: triggers.flatMap((trigger) => trigger.next).sort()[0] ?? null,
    };
  }

  function fire(job, trigger, origin, scheduled, params) {
    const run = {
      id: String(++lastRun), job: job.name, trigger, origin, generation: 0, scheduled_at: iso(scheduled), fired_at: iso(Date.now()), ended_at: null,
      state: 'running', reason: null, error: null, scheduler: 'fake', family: null, retry_of: null, retry_no: 0, version: job.version,
      params: params ?? job.document.spec.params ?? null, zone: 'UTC',
      steps: job.document.spec.graph.map((step) => ({ step: step.step, state: 'waiting', reason: null, attempts: [] })),
    };
    const runs = projectOf(job.project).runs;
    runs.push(run);
    if (runs.length > 5000) runs.shift();
    void drive(run, job.document.spec.graph);
    return run;
  }

  async function drive(run, graph) {
    const stepOf = (name) => run.steps.find((step) => step.step === name);
    const done = (state) => ['succeeded', 'failed', 'ignored', 'skipped', 'canceled'].includes(state);
    await new Promise((resolve) => {
      const look = () => {
        if (run.steps.every((step) => done(step.state))) return resolve();
        for (const spec of graph) {
          const step = stepOf(spec.step);
          if (step.state !== 'waiting') continue;
          const before = (spec.after ?? []).map((name) => stepOf(name).state);
          if (!before.every(done)) continue;
          if (run.canceling) step.state = 'canceled';
          else if (before.some((state) => state !== 'succeeded' && state !== 'ignored')) Object.assign(step, { state: 'skipped', reason: 'predecessor' });
          else {
            step.state = 'running';
            void call(run, spec, step).then(look);
            continue;
          }
          return look();
        }
      };
      look();
    });
    const states = run.steps.map((step) => step.state);
    run.state = run.canceling ? 'canceled' : states.includes('failed') ? 'failed' : 'succeeded';
    if (run.state === 'failed') run.error = { code: 'SCHEDULING_UNEXPECTED_001', args: { step: run.steps.find((step) => step.state === 'failed').step } };
    if (run.state === 'canceled') run.error = { code: 'SCHEDULING_CONFLICT_003', args: {} };
    run.ended_at = iso(Date.now());
  }

  async function call(run, spec, step) {
    const most = 1 + (spec.retry?.max ?? 0);
    for (let n = 1; n <= most; n++) {
      const body = JSON.stringify(spec.params ?? {});
      const attempt = {
        n, try: n, item: 0, instance: URL.canParse(spec.url ?? '') ? new URL(spec.url).host : null, scheduler: 'fake', epoch: '1', state: 'started', class: null,
        started_at: iso(Date.now()), ended_at: null, http_status: null, error: null, idempotency_key: `${run.id}.${spec.step}.0.${n}`, bytes_sent: null,
        reused_connection: n > 1, stale: false, request: body, response: null,
      };
      step.attempts.push(attempt);
      run.abort = new AbortController();
      try {
        const answer = await fetch(spec.url, { method: 'POST', body, headers: { 'content-type': 'application/json', 'idempotency-key': attempt.idempotency_key }, signal: run.abort.signal });
        attempt.response = await answer.text();
        attempt.http_status = answer.status;
        attempt.bytes_sent = body.length + 180;
        attempt.class = answer.ok ? 'success' : `http_${Math.floor(answer.status / 100)}xx`;
        if (!answer.ok) attempt.error = `The executor answered ${answer.status}.`;
      } catch {
        attempt.class = run.canceling ? 'canceled' : 'not_sent';
        attempt.error = run.canceling ? 'canceled' : `Cannot connect to ${attempt.instance}.`;
      }
      attempt.ended_at = iso(Date.now());
      attempt.state = 'ended';
      if (attempt.class === 'success') return void (step.state = 'succeeded');
      if (run.canceling) return void (step.state = 'canceled');
      if (n < most) {
        step.reason = 'retry';
        await new Promise((resolve) => setTimeout(resolve, spanOf(spec.retry?.delay ?? '300ms')));
        step.reason = null;
      }
    }
    step.state = spec.on_failure === 'ignore' ? 'ignored' : 'failed';
  }

  const timer = setInterval(() => {
    const now = Date.now();
    for (const project of projects.values()) {
      for (const job of project.jobs.values()) {
        for (const trigger of job.document.spec.triggers ?? []) {
          const period = trigger.every ? spanOf(trigger.every) : NaN;
          const name = trigger.name ?? 'default';
          if (Number.isNaN(period) || job.paused || job.pausedTriggers.has(name)) continue;
          const due = Math.floor(now / period) * period;
          if (due <= (job.cursor ?? 0)) continue;
          if (project.runs.some((run) => run.job === job.name && !run.ended_at)) job.skips.push({ trigger: name, at: due });
          else fire(job, name, 'schedule', due);
        }
        job.cursor = now;
      }
    }
  }, 100);
  timer.unref();

  // ---- routes -----------------------------------------------------------------------------------------------------------
  const page = (items, query) => {
    const skip = Number(query.get('skip') ?? 0);
    const limit = Number(query.get('limit') ?? 100);
    return { items: items.slice(skip, skip + limit), total: items.length, cursor: null };
  };
  const each = (keys, keyText, work) => ({
    items: keys.map((key) => {
      try {
        return { key: keyText(key), ok: true, result: work(key) ?? {} };
      } catch (error) {
        return { key: keyText(key), ok: false, error: { code: error.code, message: error.message } };
      }
    }),
  });
  const inRange = (query) => (at) => (!query.get('from') || at >= query.get('from')) && (!query.get('to') || at < query.get('to'));

  function findRun(project, id) {
    const run = projectOf(project).runs.find((each) => each.id === id);
    if (!run) throw new Refusal(404, 'SCHEDULING_NOTFOUND_004', `There is no run ${id}.`);
    return run;
  }

  const jobsOn = (node) => [...projects.values()].flatMap((project) => [...project.jobs.values()].map(statusOf)).filter((status) => status.owner_node === node);

  const routes = [
    ['GET', /^\/whoami$/, () => ({ name: 'fake', role: 'admin', project: null, version: '0' })],
    ['GET', /^\/schedulers$/, (_, query) => page([...nodes.values()].map((node) => {
      const held = jobsOn(node.node);
      return { ...node, slots: held.length, jobs: held.length, runs: held.reduce((sum, status) => sum + status.running, 0) };
    }), query)],
    ['GET', /^\/schedulers\/([^/]+)\/jobs$/, ([node], query) => page(jobsOn(node).map(({ project, name, state, running, owner_since }) => ({ project, name, state, slot: 17, since: owner_since, running })), query)],
    ['GET', /^\/schedulers\/([^/]+)$/, ([node]) => ({ ...nodes.get(node), held: [], running: [...projects.values()].flatMap((project) => project.runs.filter((run) => !run.ended_at && (project.jobs.get(run.job)?.node ?? 'fake') === node).map((run) => ({ run: run.id, project: project.name, job: run.job, state: run.state, fired_at: run.fired_at }))) })],
    ['POST', /^\/schedulers:(drain|online|forget)$/, ([verb], _, text) => each(JSON.parse(text).names, (name) => name, (name) => {
      const node = nodes.get(name);
      if (!node) throw new Refusal(404, 'SCHEDULING_NOTFOUND_001', `There is no scheduler "${name}".`);
      if (verb === 'forget' && node.state !== 'down') throw new Refusal(409, 'SCHEDULING_CONFLICT_005', `${name} is alive.`);
      if (verb === 'forget') return void nodes.delete(name);
      Object.assign(node, { state: verb === 'drain' ? 'draining' : 'working', wish: verb === 'drain' ? 'draining' : 'working', wish_by: 'fixture', wish_at: iso(Date.now()) });
    })],
    ['GET', /^\/tokens$/, (_, query) => page(tokens, query)],
    ['POST', /^\/tokens$/, (_, __, text) => {
      const made = { id: String(tokens.length + 1), project: null, expires_at: null, created_at: iso(Date.now()), last_used_at: null, ...JSON.parse(text) };
      tokens.push(made);
      return { ...made, token: randomBytes(16).toString('hex') };
    }],
    ['POST', /^\/tokens:revoke$/, (_, __, text) => each(JSON.parse(text).ids, (id) => id, (id) => void Object.assign(tokens.find((each) => each.id === id) ?? {}, { revoked_at: iso(Date.now()) }))],
    ['POST', /^\/projects\/([^/]+)\/jobs:move$/, ([project], _, text) => {
      const { names, node } = JSON.parse(text);
      return each(names, (name) => name, (name) => void (jobOf(project, name).node = node ?? undefined));
    }],
    ['GET', /^\/projects$/, (_, query) => page([...projects.values()].map(({ name, spec }) => ({ name, metadata: { name }, spec })), query)],
    ['PUT', /^\/projects\/([^/]+)$/, ([name], _, body) => (addProject(name, { timezone: 'UTC', ...JSON.parse(body).spec }), {})],
    ['GET', /^\/projects\/([^/]+)\/jobs$/, ([project], query) => page([...projectOf(project).jobs.values()].filter((job) => job.name.includes(query.get('q') ?? '')).sort((a, b) => (a.name < b.name ? -1 : 1)).map(statusOf), query)],
    ['PUT', /^\/projects\/([^/]+)\/jobs\/([^/]+)$/, ([project, name], _, body, headers) => {
      const match = headers['if-match'];
      const old = projectOf(project).jobs.get(name);
      if (match && old && match.replaceAll('"', '') !== String(old.version)) throw new Refusal(412, 'SCHEDULING_CONFLICT_004', `Job "${name}" is at version ${old.version} by now.`);
      putJob(project, name, JSON.parse(body));
      return {};
    }],
    ['GET', /^\/projects\/([^/]+)\/jobs\/([^/]+)$/, ([project, name]) => {
      const job = jobOf(project, name);
      return { apiVersion: 'carillon/v1', kind: 'Job', ...job.document, metadata: { ...job.document.metadata, project, name, version: job.version }, status: statusOf(job) };
    }],
    ['GET', /^\/projects\/([^/]+)\/jobs\/([^/]+)\/status$/, ([project, name]) => statusOf(jobOf(project, name))],
    ['GET', /^\/projects\/([^/]+)\/jobs\/([^/]+)\/explain$/, ([project, name]) => {
      const job = jobOf(project, name);
      const status = statusOf(job);
      const waiting = projectOf(project).runs.filter((run) => run.job === name && !run.ended_at).flatMap((run) => run.steps.filter((step) => step.state === 'running' && step.reason).map((step) => ({ run: run.id, step: step.step, reason: step.reason, since: run.fired_at })));
      return { job: name, owner: { node: job.node ?? 'fake', since: iso(job.since), slot: 17 }, state: status.state, triggers: status.triggers, waiting };
    }],
    ['POST', /^\/projects\/([^/]+)\/jobs:(pause|resume|run|enqueue|cancel)$/, ([project, verb], _, text) => {
      const { names, params } = JSON.parse(text);
      return each(names, (name) => name, (name) => {
        const job = jobOf(project, name);
        if (verb === 'pause' || verb === 'resume') return void (job.paused = verb === 'pause');
        if (verb === 'run' && statusOf(job).running > 0) throw new Refusal(409, 'SCHEDULING_CONFLICT_001', `Job "${name}" is running.`);
        const trigger = `manual-${randomBytes(4).toString('hex')}`;
        return { run: fire(job, trigger, 'manual', Date.now(), params).id, trigger };
      });
    }],
    ['POST', /^\/projects\/([^/]+)\/triggers:(pause|resume)$/, ([project, verb], _, text) => each(JSON.parse(text).keys, (key) => `${key.job}/${key.trigger}`, (key) => {
      const { pausedTriggers } = jobOf(project, key.job);
      if (verb === 'pause') pausedTriggers.add(key.trigger);
      else pausedTriggers.delete(key.trigger);
    })],
    ['GET', /^\/projects\/([^/]+)\/runs$/, ([project], query) => {
      const states = query.get('state')?.split(',');
      const within = inRange(query);
      return page(projectOf(project).runs.filter((run) => (!query.get('job') || run.job === query.get('job')) && (!states || states.includes(run.state)) && within(run.scheduled_at)).reverse().map(publicRun), query);
    }],
    ['GET', /^\/projects\/([^/]+)\/runs\/([^/]+)$/, ([project, id]) => {
      const run = findRun(project, id);
      return { ...publicRun(run), params: run.params, zone: run.zone, steps: run.steps };
    }],
    ['POST', /^\/projects\/([^/]+)\/runs:cancel$/, ([project], _, text) => each(JSON.parse(text).ids, (id) => id, (id) => {
      const run = findRun(project, id);
      if (run.ended_at) throw new Refusal(404, 'SCHEDULING_NOTFOUND_004', `Run ${id} has ended.`);
      run.canceling = true;
      run.abort?.abort();
    })],
    ['GET', /^\/projects\/([^/]+)\/ledger$/, ([project], query) => {
      const job = jobOf(project, query.get('job'));
      const within = inRange(query);
      const runs = projectOf(project).runs.filter((run) => run.job === job.name && run.origin === 'schedule').map((run) => ({ trigger: run.trigger, scheduled_at: run.scheduled_at, outcome: 'run', run: run.id, count: 1 }));
      const skips = job.skips.map(({ trigger, at }) => ({ trigger, scheduled_at: iso(at), outcome: 'skip', run: null, reason: 'overlap', from: iso(at), to: iso(at), count: 1 }));
      return page([...runs, ...skips].filter((item) => within(item.scheduled_at)).sort((a, b) => (a.scheduled_at < b.scheduled_at ? 1 : -1)), query);
    }],
    ['POST', /^\/cron\/next$/, (_, __, text) => {
      const request = JSON.parse(text);
      return { next: cronNext(request.cron, Date.parse(request.from), request.count, request.timezone) };
    }],
  ];

  const publicRun = ({ params, zone, steps, abort, canceling, ...run }) => run;

  function answer(method, url, headers, body) {
    if (headers.authorization !== `Bearer ${token}`) throw new Refusal(401, 'SCHEDULING_UNAUTHORIZED_001', 'A valid token is needed.');
    const pathName = url.pathname.slice('/api/v1'.length);
    for (const [verb, pattern, handler] of routes) {
      const match = verb === method && pattern.exec(pathName);
      if (match) return handler(match.slice(1).map(decodeURIComponent), url.searchParams, body, headers);
    }
    throw new Refusal(404, 'SCHEDULING_NOTFOUND_000', 'There is no such route.');
  }

  const server = http.createServer((request, response) => {
    const url = new URL(request.url, 'http://fake');
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', async () => {
      if (!url.pathname.startsWith('/api/')) return serveFile(url.pathname, response);
      try {
        const result = answer(request.method, url, request.headers, Buffer.concat(chunks).toString());
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(result));
      } catch (error) {
        const { status = 500, code = 'SCHEDULING_UNEXPECTED_001', message, details = [] } = error;
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { code, message, args: {}, details, trace_id: createHash('sha1').update(message).digest('hex').slice(0, 16) } }));
      }
    });
  });

  return {
    token,
    listen: (port = 0) => new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve(`http://127.0.0.1:${server.address().port}`))),
    close: () => {
      if (stopped) return;
      stopped = true;
      clearInterval(timer);
      server.closeAllConnections();
      server.close();
    },
  };
}

// The pages under the very policy that the real server sends.
async function policy() {
  const header = await readFile(path.join(here, '../../ui/assets.h'), 'utf8');
  const macro = /UI_CONTENT_SECURITY_POLICY((?:\s*\\?\s*"[^"]*")+)/.exec(header)[1];
  return [...macro.matchAll(/"([^"]*)"/g)].map((match) => match[1]).join('');
}

async function serveFile(name, response) {
  const file = path.join(DIST, path.normalize(name));
  const headers = { 'content-security-policy': await policy() };
  try {
    const bytes = await readFile(file);
    response.writeHead(200, { ...headers, 'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream' }).end(bytes);
  } catch {
    if (name.startsWith('/assets/')) return response.writeHead(404).end();
    response.writeHead(200, { ...headers, 'content-type': TYPES['.html'] }).end(await readFile(path.join(DIST, 'index.html')));
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const fake = createFake();
  console.log(`${await fake.listen(Number(process.argv[2] ?? 8420))}  token: ${fake.token}`);
}
