// The interface in a browser, against the fixture or a real server (CARILLON_URL, CARILLON_TOKEN). Each test makes the
// jobs that it needs by the API, in a project of this run's own.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { auditPage, overflow } from './checks.mjs';
import { apiOf, jobDocument, pagesOf, startBrowser, startExecutor, startServer, until } from './lib.mjs';

const P = `ui-${Date.now().toString(36)}`;
let server, executor, browser, api;

before(async () => {
  server = await startServer();
  executor = await startExecutor();
  browser = await startBrowser();
  api = apiOf(server);
  await api('PUT', `/projects/${P}`, { apiVersion: 'carillon/v1', kind: 'Project', metadata: { name: P }, spec: { timezone: 'UTC' } });
});

after(async () => {
  await browser?.close();
  executor?.close();
  server?.close();
});

const put = (name, spec, metadata) => api('PUT', `/projects/${P}/jobs/${name}`, jobDocument(P, name, spec, metadata));
const enqueue = async (name, params) => (await api('POST', `/projects/${P}/jobs:enqueue`, { names: [name], ...(params && { params }) })).items[0].result.run;
const ended = (id) => until(`run ${id} ends`, async () => {
  const run = await api('GET', `/projects/${P}/runs/${id}`);
  return run.ended_at ? run : null;
});
const at = (route) => `${server.url}/projects/${P}/${route}`;

const { open, close } = pagesOf(() => ({ browser, server }));

test('sign in: a wrong token is refused with its code and a remedy, the right one opens the jobs, signing out forgets it', async () => {
  const page = await open({}, null);
  await page.goto(at('jobs'));
  await page.getByLabel('API token').fill('wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  const alert = page.getByRole('alert');
  await alert.getByText(/UNAUTHORIZED/).waitFor();
  assert.match(await alert.textContent(), /create-token/);

  await page.getByLabel('API token').fill(` ${server.token}\n`);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor();
  const kept = () => page.evaluate(() => [sessionStorage.getItem('carillon.token'), localStorage.getItem('carillon.token')]);
  assert.deepEqual(await kept(), [server.token, null]);
  assert.ok(!page.url().includes(server.token));

  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('API token').waitFor();
  assert.deepEqual(await kept(), [null, null]);

  await page.getByLabel('API token').fill(server.token);
  await page.getByLabel('Remember it in this browser').check();
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor();
  assert.deepEqual(await kept(), [server.token, server.token]);
  await close(page);
});

test('a token that the server no longer takes leads back to the sign-in, which says why', async () => {
  const page = await open({}, 'expired-token');
  await page.goto(at('jobs'));
  await page.getByText('The server no longer accepts your token').waitFor();
  await close(page);
});

test('an empty project shows the shortest job; the editor names faults at their places and saves', async () => {
  const project = `${P}-empty`;
  await api('PUT', `/projects/${project}`, { apiVersion: 'carillon/v1', kind: 'Project', metadata: { name: project }, spec: { timezone: 'Asia/Tokyo' } });
  const page = await open();
  await page.goto(`${server.url}/projects/${project}/jobs`);
  await page.getByRole('heading', { name: 'No jobs yet' }).waitFor();
  assert.match(await page.getByRole('region', { name: 'The shortest job as YAML' }).textContent(), /kind: Job\n[\s\S]*graph: \[\{step: ping/);
  await page.getByRole('link', { name: 'Make the first job here' }).click();

  const area = page.getByLabel('Definition as JSON');
  const good = { apiVersion: 'carillon/v1', kind: 'Job', metadata: { project, name: 'first' }, spec: { params: { big: 0 }, triggers: [{ name: 'daily', cron: '0 30 2 * * ?' }], graph: [{ step: 'a', url: `${executor.url}/ok` }, { step: 'b', url: `${executor.url}/ok`, after: ['a'] }] } };
  await area.fill('{"metadata": ');
  await page.getByText('This is not JSON: line 1, column 14.').waitFor();
  await area.fill(JSON.stringify({ ...good, spec: { ...good.spec, graph: [good.spec.graph[0], { ...good.spec.graph[1], after: ['nowhere'] }] } }, null, 2));
  await page.getByRole('button', { name: 'Save' }).click();
  const fault = page.getByRole('button', { name: /spec\.graph\[1\]\.after\[0\]/ });
  await fault.click();
  assert.equal(await area.evaluate((element) => element.value.slice(element.selectionStart, element.selectionEnd)), '"nowhere"');

  // The preview: the graph, the words, the next instants in the trigger's zone, here the project's.
  await area.fill(JSON.stringify(good, null, 2).replace('"big": 0', '"big": 123456789012345678901234567890'));
  await page.getByRole('list', { name: 'Next instants' }).getByText('02:30:00').first().waitFor();
  await page.getByText('At 02:30').waitFor();
  await page.getByText("Asia/Tokyo (the project's)").waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { level: 1, name: 'first' }).waitFor();
  assert.equal(new URL(page.url()).pathname, `/projects/${project}/jobs/first`);

  if (server.real) {
    // Whole numbers of any size survive the way there and back.
    await page.goto(`${server.url}/projects/${project}/jobs/first/definition`);
    await page.getByRole('region', { name: 'Definition' }).getByText('123456789012345678901234567890').waitFor();
  }
  await close(page);
});

test('two people edit a job: the second is told, nothing is overwritten', async () => {
  const spec = { triggers: [], graph: [{ step: 'a', url: `${executor.url}/ok` }] };
  await put('contested', spec);
  const page = await open();
  await page.goto(at('jobs/contested/edit'));
  const area = page.getByLabel('Definition as JSON');
  await area.fill((await area.inputValue()).replace('/ok', '/mine'));
  await put('contested', { ...spec, graph: [{ step: 'a', url: `${executor.url}/theirs` }] });
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('alert').getByText('Load it anew').waitFor();
  assert.match(JSON.stringify(await api('GET', `/projects/${P}/jobs/contested`)), /theirs/);

  // Unsaved work is not lost by a click beside it, only by a decision.
  const questions = [];
  page.on('dialog', (dialog) => {
    questions.push(dialog.message());
    void (questions.length === 1 ? dialog.dismiss() : dialog.accept());
  });
  await page.getByRole('link', { name: 'Runs', exact: true }).click();
  assert.match(await area.inputValue(), /mine/);
  await page.getByRole('button', { name: /^Load it anew/ }).click();
  await until('the newer text', async () => /theirs/.test(await area.inputValue()));
  await area.fill((await area.inputValue()).replace('/theirs', '/both'));
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { level: 1, name: 'contested', exact: true }).waitFor();
  assert.match(JSON.stringify(await api('GET', `/projects/${P}/jobs/contested`)), /both/);
  assert.deepEqual(questions, ['You have not saved. Leave, and lose what you wrote?']);
  await close(page);
});

test('the list of jobs: schedule in words, owner, search, pause and resume, one and many', async () => {
  const graph = [{ step: 'a', url: `${executor.url}/ok` }];
  await put('list-nightly', { triggers: [{ name: 'nightly', cron: '0 30 2 * * ?', timezone: 'Asia/Shanghai' }], graph }, { description: '日结 closes the day', owner: 'pay-team' });
  await put('list-weekdays', { triggers: [{ cron: '0 0 9 ? * 2-6' }], graph });
  await put('list-manual', { triggers: [], graph });
  const page = await open();
  await page.goto(at('jobs'));
  await page.getByRole('searchbox', { name: 'Search jobs' }).fill('list-');
  const row = (name) => page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
  await row('list-nightly').getByText('At 02:30').waitFor();
  await until('only the jobs that match', async () => (await page.getByRole('row').count()) === 4);
  await row('list-nightly').getByText('日结 closes the day').waitFor();
  await row('list-nightly').getByText('Asia/Shanghai').waitFor();
  await row('list-weekdays').getByText('Monday through Friday').waitFor();
  await row('list-manual').getByText('by hand only').waitFor();
  await row('list-nightly').getByText(/^in \d+ (hr|min|sec)\./).waitFor();
  assert.match(page.url(), /q=list-/);

  const paused = (name) => async () => (await api('GET', `/projects/${P}/jobs/${name}/status`)).paused;
  await page.getByRole('button', { name: 'Pause list-nightly' }).click();
  await row('list-nightly').getByText('paused', { exact: true }).waitFor();
  assert.equal(await paused('list-nightly')(), true);
  await page.getByRole('button', { name: 'Resume list-nightly' }).click();
  await row('list-nightly').getByText('active', { exact: true }).waitFor();
  assert.equal(await paused('list-nightly')(), false);

  await page.getByRole('checkbox', { name: 'Choose list-nightly' }).check();
  await page.getByRole('checkbox', { name: 'Choose list-manual' }).check();
  await page.getByRole('group', { name: '2 jobs chosen' }).getByRole('button', { name: 'Pause' }).click();
  await page.getByText('2 jobs are paused.').waitFor();
  assert.deepEqual([await paused('list-nightly')(), await paused('list-manual')(), await paused('list-weekdays')()], [true, true, false]);

  await page.getByRole('searchbox', { name: 'Search jobs' }).fill('nothing-like-this');
  await page.getByRole('heading', { name: 'No job matches' }).waitFor();
  await close(page);
});

test('run now with parameters, and watch it live: states change in the graph, in the list and in words', async () => {
  await put('live', {
    triggers: [],
    params: { region: 'cn' },
    graph: [
      { step: 'extract', url: `${executor.url}/slow?ms=1500` },
      { step: 'rates', url: `${executor.url}/ok` },
      { step: 'post', url: `${executor.url}/slow?ms=1500`, after: ['extract', 'rates'] },
    ],
  });
  const big = server.real ? '12345678901234567890' : '1234567890'; // the fixture keeps doubles
  const page = await open();
  await page.goto(at('jobs/live'));
  await page.locator('.node').nth(2).waitFor();
  await page.getByRole('button', { name: 'Run now' }).click();
  const dialog = page.getByRole('dialog', { name: 'Run live now' });
  await dialog.getByLabel('Parameters (JSON)').fill('[1]');
  await dialog.getByRole('button', { name: 'Run', exact: true }).click();
  await dialog.getByText('Parameters are a JSON object').waitFor();
  await dialog.getByLabel('Parameters (JSON)').fill(`{"n": ${big}}`);
  await dialog.getByRole('button', { name: 'Run', exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByText('live will run.').waitFor();

  const node = (name) => page.locator('.node').filter({ has: page.locator('.node-name', { hasText: new RegExp(`^${name}$`) }) });
  await node('extract').getByText('running').waitFor();
  await node('post').getByText('waiting').waitFor();
  await node('extract').getByText('succeeded').waitFor();
  await node('post').getByText('running').waitFor();
  await node('post').getByText('succeeded').waitFor();
  // The same without eyes: an ordered list, predecessors first, and the news.
  const steps = await page.getByRole('list', { name: 'Steps in order' }).getByRole('listitem').allTextContents();
  assert.equal(steps.length, 3);
  assert.match(steps[2], /^postsucceededafter extract, rates/);
  await until('the news', async () => /Run \d+: succeeded/.test(await page.getByTestId('announcer').textContent()));

  await page.getByRole('link', { name: /^latest run/ }).click();
  await page.getByRole('heading', { level: 1, name: /^Run \d+/ }).waitFor();
  await page.getByRole('region', { name: 'Parameters' }).filter({ hasText: big }).first().waitFor();
  await close(page);
});

test('a run tells its attempts: class, status, error, key, both bodies; what was skipped and why', async () => {
  await put('broken', { triggers: [], graph: [{ step: 'sync', url: `${executor.url}/fail`, params: { bell: '鐘' } }, { step: 'index', url: `${executor.url}/ok`, after: ['sync'] }] });
  const id = await enqueue('broken', { note: '<img src=x onerror=alert(1)>' });
  await ended(id);
  const page = await open();
  await page.goto(at(`runs/${id}`));
  const step = page.locator('details.step', { hasText: 'sync' }).first();
  await step.getByText('HTTP 500').first().waitFor(); // failed steps stand open
  await step.getByText(new RegExp(`^${id}\\.sync\\.0\\.\\d+$`)).waitFor();
  await step.getByRole('region', { name: 'Response' }).getByText('the printer is on fire').waitFor();
  await step.getByRole('region', { name: 'Request' }).getByText('"bell": "鐘"').waitFor();
  assert.deepEqual(JSON.parse(executor.calls.find((call) => call.path === '/fail' && call.headers['idempotency-key'].startsWith(id)).body), { bell: '鐘' });
  await page.locator('details.step', { hasText: 'index' }).getByText('skipped').waitFor();
  await page.locator('.page-head').getByText('failed', { exact: true }).waitFor();
  await page.locator('.page-head').getByText(/SCHEDULING_|[A-Z]+_\d+/).first().waitFor();
  await page.getByText('<img src=x onerror=alert(1)>').first().waitFor(); // text stays text
  assert.equal(await page.locator('main img').count(), 0);

  // By keyboard: the step in the graph leads to its calls.
  await page.getByRole('button', { name: /^index, skipped/ }).focus();
  await page.keyboard.press('Enter');
  await until('the step opens and has the focus', () => page.evaluate(() => document.activeElement?.id === 'step-index' && document.activeElement.open));
  await close(page);
});

test('a step of many calls tells how far it has come; what failed stands first, each item with its calls', async (t) => {
  if (!server.real) return t.skip('the fixture makes one call for a step');
  const values = Array.from({ length: 30 }, (_, i) => (i === 20 ? 7 : 2 * i));
  await put('fan', { triggers: [], graph: [{ step: 'each', url: `${executor.url}/even`, map: values, params: { n: '${item}' }, tolerate: 1 }] });
  const id = await enqueue('fan');
  assert.equal((await ended(id)).state, 'succeeded');
  const page = await open();
  await page.goto(at(`runs/${id}`));
  await page.locator('.node').getByText('30/30').waitFor();
  await page.locator('details.step summary').first().click();
  const step = page.locator('details.step');
  await step.getByText('30 items', { exact: true }).waitFor();
  const items = step.locator('.items > li');
  assert.equal(await items.count(), 20);
  await items.first().getByText('failed').waitFor();
  await items.first().locator('summary').first().click();
  await items.first().getByText('HTTP 500').waitFor();
  await items.first().getByText(new RegExp(`^${id}\\.each\\.21\\.\\d+$`)).waitFor();
  await step.getByRole('button', { name: 'Show all 30' }).click();
  assert.equal(await items.count(), 30);
  assert.deepEqual(await auditPage(page), []);
  await close(page);
});

test('run now of a busy job is refused where it was asked; a run is canceled after a question', async () => {
  await put('endless', { triggers: [], graph: [{ step: 'wait', url: `${executor.url}/slow?ms=60000` }] });
  const id = await enqueue('endless');
  await until('it runs', async () => (await api('GET', `/projects/${P}/runs/${id}`)).state === 'running');
  const page = await open();
  await page.goto(at('jobs/endless'));
  await page.getByRole('button', { name: 'Run now' }).click();
  const asked = page.getByRole('dialog', { name: 'Run endless now' });
  await asked.getByText('The job is running right now.').waitFor();
  await asked.getByLabel('If the job is busy, wait for its turn').uncheck();
  await asked.getByRole('button', { name: 'Run', exact: true }).click();
  await asked.getByRole('alert').getByText('SCHEDULING_CONFLICT_001').waitFor();
  await asked.getByText('or queue the new one').waitFor();
  await page.goto(at(`runs/${id}`));
  await page.locator('details.step').getByText('running').waitFor();
  await page.getByRole('button', { name: 'Cancel the run' }).click();
  const dialog = page.getByRole('dialog', { name: `Cancel run ${id}?` });
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Cancel the run');
  await page.keyboard.press('Enter');
  await dialog.getByRole('button', { name: 'Cancel the run' }).click();
  await page.locator('.page-head').getByText('canceled', { exact: true }).waitFor();
  assert.equal((await ended(id)).state, 'canceled');
  await close(page);
});

test('a graph of two hundred steps is drawn, told as a list and followed', async () => {
  const graph = Array.from({ length: 200 }, (_, i) => ({ step: `s${i}`, url: `${executor.url}/ok`, ...(i >= 20 && { after: [`s${i - 20}`] }) }));
  await put('wide', { triggers: [], graph });
  const id = await enqueue('wide');
  const page = await open();
  await page.goto(at(`runs/${id}`));
  await page.locator('.page-head').getByText('succeeded', { exact: true }).waitFor();
  await page.locator('.node.tone-good').first().waitFor();
  assert.equal(await page.getByRole('list', { name: 'Steps in order' }).getByRole('listitem').count(), 200);
  assert.equal(await page.locator('details.step').filter({ hasText: 'succeeded' }).count(), 200);
  // Still answers at once: opening a step is a matter of a frame or two.
  const took = await page.evaluate(async () => {
    const start = performance.now();
    document.querySelector('details.step:last-child summary').click();
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    return performance.now() - start;
  });
  assert.ok(took < 500, `${took} ms`);
  await close(page);
});

test('the list of runs: filters in the address, pages with a total', async () => {
  await put('many', { triggers: [], overlap: 'allow', max_parallel: 100, graph: [{ step: 'a', url: `${executor.url}/ok` }] });
  await put('other', { triggers: [], graph: [{ step: 'a', url: `${executor.url}/fail` }] });
  const batch = await api('POST', `/projects/${P}/jobs:enqueue`, { names: Array(57).fill('many') });
  assert.equal(batch.items.filter((item) => item.ok).length, 57);
  await ended(await enqueue('other'));
  await until('all runs end', async () => (await api('GET', `/projects/${P}/runs?job=many&state=succeeded&limit=1`)).total === 57);
  const page = await open();
  await page.goto(at('runs'));
  await page.getByRole('combobox', { name: 'Job' }).fill('many');
  await page.getByText('1–50 of 57').waitFor();
  await page.getByRole('button', { name: 'Next' }).click();
  await page.getByText('51–57 of 57').waitFor();
  assert.equal(await page.getByRole('row').count(), 8);
  await page.getByLabel('State').selectOption('failed');
  await page.getByRole('heading', { name: 'No run matches' }).waitFor();
  await page.getByRole('button', { name: 'Clear the filters' }).first().click();
  await page.getByRole('link', { name: 'other' }).first().waitFor();
  await page.goto(at('runs?job=other&state=failed'));
  await page.getByText('1–1 of 1').waitFor();
  await page.getByLabel('Before').fill('2020-01-01T00:00');
  await page.getByRole('heading', { name: 'No run matches' }).waitFor();
  await close(page);
});

test('the ledger shows runs and skips with their reason', async () => {
  await put('overlapping', { triggers: [{ name: 'tick', every: '1s' }], overlap: 'skip', graph: [{ step: 'a', url: `${executor.url}/slow?ms=2500` }] });
  await until('a run and a skip', async () => {
    const { items } = await api('GET', `/projects/${P}/ledger?job=overlapping`);
    return items.some((item) => item.outcome === 'skip') && items.some((item) => item.outcome === 'run');
  });
  const page = await open();
  await page.goto(at('jobs/overlapping/ledger'));
  await page.getByRole('row').filter({ hasText: 'another run is in the way' }).first().waitFor();
  await page.getByRole('row').filter({ has: page.getByRole('link', { name: /^\d+$/ }) }).first().waitFor();

  // Pausing the one trigger, and what the page says about it.
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.getByRole('button', { name: 'Pause trigger tick' }).click();
  await page.getByRole('button', { name: 'Resume trigger tick' }).waitFor();
  const why = page.getByRole('region', { name: 'Why' });
  await why.getByText('tick').waitFor();
  await why.getByText('paused', { exact: true }).waitFor();
  await api('POST', `/projects/${P}/jobs:pause`, { names: ['overlapping'] });
  await close(page);
});

test('a page that was cut off from its server says so, keeps what it had and goes on by itself', async () => {
  const page = await open();
  await page.goto(at('jobs'));
  await page.locator('table').waitFor();
  await page.route('**/api/**', (route) => route.abort());
  const alert = page.getByRole('alert');
  await alert.getByText('The server does not answer').waitFor();
  await alert.getByText('UNREACHABLE').waitFor();
  assert.ok(await page.locator('table').isVisible());
  await page.unroute('**/api/**');
  await alert.getByRole('button', { name: 'Try again' }).click();
  await alert.waitFor({ state: 'detached' });
  await close(page);
});

test('a server that is not ready says why', async () => {
  const page = await open();
  await page.route('**/readyz', (route) => route.fulfill({ status: 503, contentType: 'application/json', body: '{"status":"not ready","reason":"draining"}' }));
  await page.goto(at('jobs'));
  await page.getByRole('status').getByText('The server is not ready: it is ending').waitFor();
  await page.unroute('**/readyz');
  await until('it is ready again', async () => (await page.getByText('The server is not ready').count()) === 0);
  await close(page);
});

test('what does not exist: a job, a run, a page', async () => {
  const page = await open();
  await page.goto(at('jobs/no-such-job'));
  await page.getByRole('alert').getByText('SCHEDULING_NOTFOUND_001').waitFor();
  await page.goto(at('runs/123'));
  await page.getByRole('alert').getByText('SCHEDULING_NOTFOUND_004').waitFor();
  await page.goto(`${server.url}/nowhere/at/all`);
  await page.getByRole('heading', { level: 1, name: 'There is no such page' }).waitFor();
  await close(page);
});

test('languages, appearance and clock are chosen, applied at once and kept', async () => {
  await put('worded', { triggers: [{ cron: '0 30 2 * * ?' }], graph: [{ step: 'a', url: `${executor.url}/ok` }] });
  const page = await open({ colorScheme: 'light' });
  await page.goto(at('jobs/worded'));
  const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  await page.locator('.node').waitFor();
  assert.equal(await ground(), 'rgb(247, 245, 240)');
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByLabel('Dark').check({ force: true });
  assert.equal(await ground(), 'rgb(22, 20, 15)');
  await page.getByRole('group', { name: 'Times in' }).getByLabel('UTC').check({ force: true });
  await page.getByText('Times are in UTC').waitFor();
  await page.getByText(/02:30:00/).first().waitFor();
  await page.getByLabel('Language').selectOption('zh');
  await page.getByRole('heading', { name: '触发器' }).waitFor();
  await page.getByText('在02:30').waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.lang), 'zh-CN');
  await page.reload();
  await page.getByRole('heading', { name: '触发器' }).waitFor();
  assert.equal(await ground(), 'rgb(22, 20, 15)');
  await page.getByRole('button', { name: '设置' }).click();
  await page.getByLabel('语言').selectOption('ja');
  await page.getByRole('heading', { name: 'トリガー' }).waitFor();
  await page.getByText('02:30 に実行').waitFor();
  await page.goto(at('jobs/no-such-job'));
  await page.getByRole('alert').getByText('一覧に戻ってください').waitFor();
  await close(page);
});

test('by keyboard alone: skip link, navigation, dialog that keeps and gives back the focus', async () => {
  await put('keys', { triggers: [], graph: [{ step: 'a', url: `${executor.url}/ok` }] });
  const page = await open();
  await page.goto(at('jobs?q=keys'));
  await page.getByRole('link', { name: 'keys', exact: true }).waitFor();
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement?.className), 'skip');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'main');
  const run = page.getByRole('button', { name: 'Run keys' });
  for (let i = 0; i < 20 && !(await run.evaluate((element) => element === document.activeElement)); i++) await page.keyboard.press('Tab');
  assert.ok(await run.evaluate((element) => element === document.activeElement), 'the run button is reached by Tab');
  assert.notEqual(await run.evaluate((element) => getComputedStyle(element).outlineStyle), 'none', 'the focus is seen');
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  for (let i = 0; i < 12; i++) {
    await page.keyboard.press('Tab');
    assert.ok(await page.evaluate(() => document.activeElement === document.body || document.activeElement?.closest('dialog') !== null), 'the focus stays in the dialog');
  }
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  assert.ok(await run.evaluate((element) => element === document.activeElement), 'the focus is back');
  await close(page);
});

test('every page, light and dark, wide and 360 pixels narrow: labels, roles, headings, contrast, no sideways scrolling', async () => {
  const long = `${'very-long-'.repeat(9)}name`;
  await put(long, {
    triggers: [{ name: 'nightly', cron: '0 30 2 * * ?', timezone: 'America/Argentina/Buenos_Aires' }, { name: 'often', every: '2s' }],
    params: { text: 'x'.repeat(300) },
    graph: [{ step: `step-${'x'.repeat(90)}`, url: `${executor.url}/flaky?${'y'.repeat(150)}` }, { step: 'b', url: `${executor.url}/fail`, after: [`step-${'x'.repeat(90)}`] }, { step: 'c', url: `${executor.url}/ok` }],
  }, { description: 'A description that goes on and on. '.repeat(8) });
  const { id } = (await until('runs', async () => {
    const { items } = await api('GET', `/projects/${P}/runs?job=${long}`);
    return items.length >= 3 && items.filter((item) => item.ended_at);
  }))[0];
  await api('POST', `/projects/${P}/jobs:pause`, { names: [long] });
  const routes = ['jobs', `jobs/${long}`, `jobs/${long}/runs`, `jobs/${long}/ledger`, `jobs/${long}/definition`, `jobs/${long}/edit`, 'new-job', 'runs', `runs/${id}`, 'jobs/no-such-job', 'jobs?q=nothing-like-this'];
  // Each in a window of its own and all at once: most of the time goes in waiting for pages.
  const looks = [{ colorScheme: 'light' }, { colorScheme: 'dark' }, { colorScheme: 'light', viewport: { width: 360, height: 740 } }].map(async (options) => {
    const page = await open(options);
    for (const route of routes) {
      await page.goto(at(route));
      await page.locator('main h1').waitFor();
      await page.locator('.loading').first().waitFor({ state: 'detached' });
      await page.waitForTimeout(150);
      const where = `${JSON.stringify(options)} ${route}`;
      assert.deepEqual(await auditPage(page), [], where);
      assert.deepEqual(await overflow(page), [], `${where}: scrolls sideways`);
    }
    await page.goto(at('jobs'));
    await page.getByRole('button', { name: /^Run / }).first().click();
    await page.getByRole('dialog').waitFor();
    assert.deepEqual(await auditPage(page), [], 'run dialog');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Settings' }).click();
    assert.deepEqual(await auditPage(page), [], 'settings');
    assert.deepEqual(await overflow(page), [], 'settings: scrolls sideways');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API token').waitFor();
    assert.deepEqual(await auditPage(page), [], 'sign-in');
    assert.deepEqual(await overflow(page), [], 'sign-in: scrolls sideways');
    await close(page);
  });
  // Words are longer or shorter elsewhere.
  const words = ['zh-CN', 'ja-JP'].map(async (locale) => {
    const page = await open({ locale, viewport: { width: 360, height: 740 } });
    for (const route of routes) {
      await page.goto(at(route));
      await page.locator('main h1').waitFor();
      await page.locator('.loading').first().waitFor({ state: 'detached' });
      assert.equal(await page.evaluate(() => document.documentElement.lang.slice(0, 2)), locale.slice(0, 2));
      assert.deepEqual(await auditPage(page), [], `${locale} ${route}`);
      assert.deepEqual(await overflow(page), [], `${locale} ${route}: scrolls sideways`);
    }
    await close(page);
  });
  await Promise.all([...looks, ...words]);
});

test('the first load is below 400 KB compressed, under a policy without exceptions', async () => {
  const page = await open();
  let total = 0;
  const waits = [];
  page.on('response', (response) => {
    if (/\.(js|css|svg)$|jobs$/.test(new URL(response.url()).pathname) && !response.url().includes('/api/')) {
      waits.push(response.body().then((body) => { total += gzipSync(body).length; }));
    }
  });
  await put('sized', { triggers: [], graph: [{ step: 'a', url: `${executor.url}/ok` }] });
  const answer = await page.goto(at('jobs/sized')); // with the graph
  const policy = answer.headers()['content-security-policy'];
  assert.match(policy, /script-src 'self'(;|$)/);
  assert.doesNotMatch(policy, /unsafe|https?:|\*/);
  await page.locator('.node').waitFor();
  await Promise.all(waits);
  assert.ok(total > 50_000 && total < 400_000, `${total} bytes`);
  const licenses = await (await fetch(`${server.url}/licenses.txt`)).text();
  for (const name of ['react-dom', '@xyflow/react', 'cronstrue']) assert.match(licenses, new RegExp(`^${name} \\d`, 'm'));
  await close(page);
});
