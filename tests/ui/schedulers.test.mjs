// Who fires the jobs. What only a cluster shows is answered here in the form of
// orchestrator/openapi.json; tests/system/test_schedulers_page.py does the same on a cluster.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { auditPage, overflow } from './checks.mjs';
import { apiOf, jobDocument, pagesOf, startBrowser, startExecutor, startServer, until } from './lib.mjs';

const P = `nodes-${Date.now().toString(36)}`;
const WIDE_AND_NARROW = [{ colorScheme: 'light' }, { colorScheme: 'dark' }, { colorScheme: 'light', viewport: { width: 360, height: 740 } }, { locale: 'ja-JP', viewport: { width: 360, height: 740 } }];
let server, executor, browser, api;
const { open, close } = pagesOf(() => ({ browser, server }));

before(async () => {
  server = await startServer();
  executor = await startExecutor();
  browser = await startBrowser();
  api = apiOf(server);
  await api('PUT', `/projects/${P}`, { apiVersion: 'carillon/v1', kind: 'Project', metadata: { name: P }, spec: { timezone: 'UTC' } });
  await api('PUT', `/projects/${P}/jobs/held`, jobDocument(P, 'held', { triggers: [{ name: 'hourly', cron: '0 0 * * * ?' }], graph: [{ step: 'a', url: `${executor.url}/ok` }] }));
});

after(async () => {
  await browser?.close();
  executor?.close();
  server?.close();
});

async function sound(page, where) {
  await page.locator('main h1').waitFor();
  await page.locator('.loading').first().waitFor({ state: 'detached' });
  assert.deepEqual(await auditPage(page), [], where);
  assert.deepEqual(await overflow(page), [], `${where}: scrolls sideways`);
}

test('from a job to who holds it and back; a server that runs alone says so and cannot be drained', async () => {
  const owner = await until('the job has an owner', async () => (await api('GET', `/projects/${P}/jobs/held/status`)).owner_node);
  const page = await open();
  await page.goto(`${server.url}/projects/${P}/jobs/held`);
  await page.locator('.head-line').getByRole('link', { name: owner, exact: true }).click();
  await page.getByRole('heading', { level: 1, name: owner, exact: true }).waitFor();
  await page.locator('.head-line').getByText('working').waitFor();
  await page.getByRole('region', { name: 'Jobs it holds' }).getByRole('link', { name: `${P} / held` }).waitFor();
  await sound(page, 'a scheduler');
  await page.getByRole('link', { name: 'Schedulers' }).first().click();
  await page.getByRole('heading', { level: 1, name: 'Schedulers', exact: true }).waitFor();
  await page.getByRole('row').filter({ hasText: owner }).getByText('working').waitFor();
  if (server.real) {
    await page.getByText('This server runs alone').waitFor();
    assert.equal(await page.getByRole('button', { name: /Drain/ }).count(), 0);
    await page.goto(`${server.url}/projects/${P}/jobs/held`);
    await page.getByRole('button', { name: 'Run now' }).waitFor();
    assert.equal(await page.getByRole('button', { name: /Move to/ }).count(), 0);
  }
  await page.goto(`${server.url}/schedulers/no-such-node`);
  await page.getByRole('heading', { name: 'There is no scheduler no-such-node' }).waitFor();
  await close(page);
});

const ago = (seconds) => new Date(Date.now() - seconds * 1000).toISOString();
const node = (name, state, more) => ({ node: name, boot: '7', address: '10.1.2.3:8420', role: 'scheduler', version: '0.1.0', state, wish: 'working', wish_by: null, wish_at: null, fenced: false, first_seen: ago(9000), started_at: ago(7200), seen_at: ago(1), pool: null, weight: 1, capacity: 0, alarm: false, slots: 256, jobs: 250, runs: 3, waits_for: null, ...more });
const NODES = [
  node('berlin-rack-4-machine-17', 'working', { capacity: 300, alarm: true, weight: 2, pool: 'fast' }),
  node('s2', 'working', { capacity: 1000, jobs: 40, slots: 40 }),
  node('s3', 'draining', { wish: 'draining', wish_by: 'admin', wish_at: ago(30), waits_for: { slots: 1, runs: ['1001', '1002'], total: 2 }, slots: 1, jobs: 1, runs: 2 }),
  node('s4', 'offline', { wish: 'draining', wish_by: 'admin', wish_at: ago(900), slots: 0, jobs: 0, runs: 0 }),
  node('s5', 'down', { seen_at: ago(4000), slots: 0, jobs: 0, runs: 0 }),
];

/** A page whose server has five schedulers; what is asked of them stands in `asked`. */
async function onCluster(options) {
  const page = await open(options);
  page.asked = [];
  const json = (route, value) => route.fulfill({ status: 200, contentType: 'application/json', body: JSON.stringify(value) });
  await page.route('**/api/v1/schedulers', (route) => json(route, { items: NODES, total: NODES.length }));
  await page.route('**/api/v1/schedulers/*', (route) => json(route, { ...NODES.find((each) => route.request().url().endsWith(each.node)), held: [], running: [{ run: '42', project: P, job: 'held', state: 'running', fired_at: ago(100) }] }));
  await page.route('**/api/v1/schedulers/*/jobs*', (route) => json(route, { items: [{ project: P, name: 'held', state: 'active', slot: 12, since: ago(500), running: 1 }], total: 1 }));
  await page.route(/\/api\/v1\/(schedulers|projects\/[^/]+\/jobs):(drain|online|forget|move)$/, (route) => {
    const body = JSON.parse(route.request().postData());
    page.asked.push([route.request().url().split(':').at(-1), body]);
    return json(route, { items: body.names.map((key) => ({ key, ok: key !== 's5', ...(key === 's5' ? { error: { code: 'SCHEDULING_CONFLICT_005', message: 's5 holds slots.' } } : { result: {} }) })) });
  });
  return page;
}

test('a cluster: states, load, alarm; drain and forget after a question, back without one; a refusal is told', async () => {
  const page = await onCluster();
  await page.goto(`${server.url}/schedulers`);
  const row = (name) => page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
  await row('berlin-rack-4-machine-17').getByText('nearly full').waitFor();
  const meter = row('berlin-rack-4-machine-17').getByRole('meter', { name: 'Capacity' });
  assert.deepEqual([await meter.getAttribute('aria-valuenow'), await meter.getAttribute('aria-valuetext')], ['83', '250 of 300']);
  for (const [name, state] of [['s2', 'working'], ['s3', 'draining'], ['s4', 'offline'], ['s5', 'down']]) await row(name).getByText(state, { exact: true }).waitFor();
  await row('s5').getByText('last seen').waitFor();

  await page.getByRole('button', { name: 'Drain s2' }).click();
  const dialog = page.getByRole('dialog', { name: 'Drain s2?' });
  await dialog.getByText('handed to the other schedulers at once').waitFor();
  assert.equal(await dialog.getByText('No other scheduler is working').count(), 0);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  assert.deepEqual(page.asked, []);
  await page.getByRole('button', { name: 'Drain s2' }).click();
  await dialog.getByRole('button', { name: 'Drain', exact: true }).click();
  await page.getByText('s2 is draining.').waitFor();
  await page.getByRole('button', { name: 'Bring s4 back' }).click();
  await page.getByText('s4 takes jobs again.').waitFor();
  await page.getByRole('button', { name: 'Forget s5' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Forget', exact: true }).click();
  await page.getByText('s5: s5 holds slots.').waitFor();
  assert.deepEqual(page.asked, [['drain', { names: ['s2'] }], ['online', { names: ['s4'] }], ['forget', { names: ['s5'] }]]);

  await page.goto(`${server.url}/schedulers/s3`);
  await page.getByText('1 slot is still to be handed over. It finishes 2 runs.').waitFor();
  await page.getByRole('region', { name: 'Runs in flight' }).getByRole('link', { name: '42' }).waitFor();

  await page.goto(`${server.url}/projects/${P}/jobs/held`);
  await page.getByRole('button', { name: 'Move to …' }).click();
  const move = page.getByRole('dialog', { name: 'Move held' });
  await move.getByLabel('To').selectOption('s2');
  await move.getByRole('button', { name: 'Move', exact: true }).click();
  await page.getByText('held moves to s2.').waitFor();
  assert.deepEqual(page.asked.at(-1), ['move', { names: ['held'], node: 's2' }]);
  await page.getByRole('button', { name: 'Move to …' }).click();
  await move.getByRole('button', { name: 'Move', exact: true }).click();
  await page.getByText('held goes where there is room.').waitFor();
  assert.deepEqual(page.asked.at(-1), ['move', { names: ['held'], node: null }]);
  await close(page);
});

test('who may only look is not offered what is refused', async () => {
  const page = await onCluster();
  await page.route('**/api/v1/whoami', (route) => route.fulfill({ status: 200, contentType: 'application/json', body: '{"name":"guest","role":"viewer","project":null,"version":"0"}' }));
  await page.goto(`${server.url}/schedulers`);
  await page.getByRole('link', { name: 's2' }).waitFor();
  await until('the buttons go', async () => (await page.getByRole('button', { name: /Drain|Forget|Bring/ }).count()) === 0);
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByText('Signed in as guest (viewer)').waitFor();
  assert.equal(await page.getByRole('link', { name: 'Access tokens' }).count(), 0);
  await close(page);
});

test('no scheduler at all, or a list that does not come: said, with what to do', async () => {
  const page = await open();
  let answer = { status: 200, body: '{"items":[],"total":0}' };
  await page.route('**/api/v1/schedulers', (route) => route.fulfill({ contentType: 'application/json', ...answer }));
  await page.goto(`${server.url}/schedulers`);
  await page.getByRole('heading', { name: 'No scheduler has ever been started' }).waitFor();
  await sound(page, 'no schedulers');
  answer = { status: 503, body: '{"error":{"code":"SCHEDULING_UNAVAILABLE_001","message":"The store is away.","args":{},"details":[],"trace_id":"t"}}' };
  await page.reload();
  await page.getByRole('alert').getByText('The store is away.').waitFor();
  await sound(page, 'schedulers refused');
  answer = { status: 200, body: JSON.stringify({ items: [NODES[3], NODES[4]], total: 2 }) };
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('No scheduler is working: nothing fires until one is.').waitFor();
  await close(page);
});

test('schedulers and tokens, light and dark, wide and 360 pixels narrow: labels, roles, headings, contrast, no sideways scrolling', async () => {
  await Promise.all(WIDE_AND_NARROW.map(async (options) => {
    const page = await onCluster(options);
    for (const route of ['schedulers', 'schedulers/berlin-rack-4-machine-17', 'schedulers/s3', 'schedulers/nowhere', 'tokens', `projects/${P}/jobs/held`]) {
      await page.goto(`${server.url}/${route}`);
      await sound(page, `${JSON.stringify(options)} ${route}`);
    }
    for (const [route, button] of [['schedulers', '.row-actions button'], ['tokens', '.page-head-actions button'], [`projects/${P}/jobs/held`, '.page-head-actions button:has(.icon-arrow)']]) {
      await page.goto(`${server.url}/${route}`);
      await page.locator(button).first().click();
      await page.getByRole('dialog').waitFor();
      await sound(page, `${JSON.stringify(options)} ${route}: its dialog`);
    }
    await close(page);
  }));
});
