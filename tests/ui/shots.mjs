// Pictures of the pages, to look at: node tests/ui/shots.mjs FOLDER. Runs against the fixture or CARILLON_URL.
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { apiOf, jobDocument, startBrowser, startExecutor, startServer, until } from './lib.mjs';

const folder = process.argv[2];
if (!folder) throw new Error('usage: node tests/ui/shots.mjs FOLDER');
mkdirSync(folder, { recursive: true });

const server = await startServer();
const executor = await startExecutor();
const api = apiOf(server);
const browser = await startBrowser();
const P = `shots-${Date.now().toString(36)}`;

await api('PUT', `/projects/${P}`, { apiVersion: 'carillon/v1', kind: 'Project', metadata: { name: P }, spec: { timezone: 'Asia/Shanghai' } });

async function page(options, storage = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, timezoneId: 'Europe/Berlin', locale: 'en-GB', ...options });
  await context.addInitScript(({ token, storage: kept }) => {
    sessionStorage.setItem('carillon.token', token);
    for (const [key, value] of Object.entries(kept)) localStorage.setItem(key, value);
  }, { token: server.token, storage });
  return context.newPage();
}
const shot = async (p, name, full = true) => {
  await p.waitForTimeout(500);
  await p.screenshot({ path: path.join(folder, `${name}.png`), fullPage: full });
};

{
  const context = await browser.newContext({ viewport: { width: 1000, height: 700 }, locale: 'en-GB' });
  const login = await context.newPage();
  await login.goto(server.url);
  await shot(login, 'login');
  await login.getByLabel('API token').fill('wrong');
  await login.getByRole('button', { name: 'Sign in' }).click();
  await login.getByRole('alert').waitFor();
  await shot(login, 'login-refused');
}
const light = await page({ colorScheme: 'light' });
await light.goto(`${server.url}/projects/${P}/jobs`);
await shot(light, 'empty');

const e = executor.url;
const put = (name, spec, metadata) => api('PUT', `/projects/${P}/jobs/${name}`, jobDocument(P, name, spec, metadata));
await put('nightly-close', {
  triggers: [{ name: 'nightly', cron: '0 30 2 * * ?', timezone: 'Asia/Shanghai', misfire: 'latest' }, { name: 'often', every: '4s' }],
  overlap: 'wait', timeout: '2h', params: { region: 'cn', big: 123 },
  graph: [
    { step: 'extract', url: `${e}/slow?ms=500` },
    { step: 'fx', url: `${e}/ok` },
    { step: 'post', url: `${e}/flaky?a`, after: ['extract', 'fx'], retry: { max: 2, delay: '300ms', on: ['busy', 'http_5xx'] }, on_failure: 'retry' },
    { step: 'statements', url: `${e}/slow?ms=1500`, after: ['post'] },
    { step: 'report', url: `${e}/echo`, after: ['post'], on_failure: 'ignore' },
    { step: 'notify', url: `${e}/ok`, after: ['statements', 'report'] },
  ],
}, { description: '日结 – closes the books of the day', owner: 'pay-team', labels: { tier: 'gold' } });
await put('stock-sync', { triggers: [{ every: '6s' }], graph: [{ step: 'sync', url: `${e}/fail` }, { step: 'index', url: `${e}/ok`, after: ['sync'] }] }, { description: 'Stock levels to the search index' });
await put('hourly-rates', { triggers: [{ name: 'hourly', cron: '0 0 * * * ?' }], graph: [{ step: 'load', url: `${e}/ok` }] });
await put('by-hand', { triggers: [], graph: [{ step: 'go', url: `${e}/slow?ms=60000` }] });
await put('weekdays', { triggers: [{ cron: '0 15 8 ? * 2-6' }], graph: [{ step: 'mail', url: `${e}/ok` }] });
await api('POST', `/projects/${P}/jobs:pause`, { names: ['weekdays'] });
await api('POST', `/projects/${P}/jobs:enqueue`, { names: ['by-hand'], params: { list: [1, 2, 3] } });
await until('runs', async () => (await api('GET', `/projects/${P}/runs?job=nightly-close`)).total >= 4, 40_000);

await shot(light, 'jobs');
await light.goto(`${server.url}/projects/${P}/jobs/nightly-close`);
await light.locator('.node').first().waitFor();
await light.waitForTimeout(2500);
await shot(light, 'job');
const runs = await api('GET', `/projects/${P}/runs?job=nightly-close&state=succeeded`);
await light.goto(`${server.url}/projects/${P}/runs/${runs.items[0].id}`);
await light.locator('.node').first().waitFor();
await light.getByRole('button', { name: /^post,/ }).click();
await light.waitForTimeout(800);
await light.evaluate(() => window.scrollTo(0, 0));
await shot(light, 'run');
const failed = await api('GET', `/projects/${P}/runs?job=stock-sync&state=failed`);
await light.goto(`${server.url}/projects/${P}/runs/${failed.items[0].id}`);
await light.locator('.node').first().waitFor();
await shot(light, 'run-failed');
await light.goto(`${server.url}/projects/${P}/runs`);
await shot(light, 'runs', false);
await light.goto(`${server.url}/projects/${P}/jobs/nightly-close/ledger`);
await shot(light, 'ledger', false);
await light.goto(`${server.url}/projects/${P}/jobs/nightly-close/definition`);
await shot(light, 'definition');
await light.goto(`${server.url}/projects/${P}/jobs/nightly-close/edit`);
const area = light.getByLabel('Definition as JSON');
await area.waitFor();
await area.fill((await area.inputValue()).replace('"post"', '"pst"').replace('"4s"', '"4 apples"'));
await light.getByRole('button', { name: 'Save' }).click();
await light.getByRole('alert').waitFor();
await shot(light, 'editor');
await light.goto(`${server.url}/projects/${P}/jobs`);
await light.getByRole('button', { name: 'Run by-hand' }).click();
await shot(light, 'run-dialog', false);
await light.goto(`${server.url}/projects/${P}/jobs/nothing-here`);
await light.getByRole('alert').first().waitFor();
await shot(light, 'error');

const dark = await page({ colorScheme: 'dark' });
await dark.goto(`${server.url}/projects/${P}/jobs`);
await dark.locator('table').waitFor();
await dark.getByRole('button', { name: 'Settings' }).click();
await shot(dark, 'dark-jobs');
await dark.goto(`${server.url}/projects/${P}/jobs/nightly-close`);
await dark.locator('.node').first().waitFor();
await dark.waitForTimeout(2500);
await shot(dark, 'dark-job');

// Every page in every language, wide and narrow, by day and by night.
const routes = {
  jobs: `/projects/${P}/jobs`,
  job: `/projects/${P}/jobs/nightly-close`,
  run: `/projects/${P}/runs/${failed.items[0].id}`,
  runs: `/projects/${P}/runs`,
  ledger: `/projects/${P}/jobs/nightly-close/ledger`,
  editor: `/projects/${P}/jobs/nightly-close/edit`,
  schedulers: '/schedulers',
  scheduler: `/schedulers/${(await api('GET', '/schedulers')).items[0].node}`,
  tokens: '/tokens',
};
for (const language of ['en', 'zh', 'ja']) {
  for (const [width, colorScheme] of [[1280, 'light'], [360, 'light'], [360, 'dark']]) {
    const p = await page({ viewport: { width, height: width === 360 ? 740 : 860 }, colorScheme }, { 'carillon.language': language });
    for (const [name, route] of Object.entries(routes)) {
      await p.goto(server.url + route);
      await p.locator('main h1').waitFor();
      await p.waitForTimeout(700);
      await shot(p, `${language}-${width}-${colorScheme}-${name}`);
    }
    await p.context().close();
  }
}

await browser.close();
executor.close();
server.close();
