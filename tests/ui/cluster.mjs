// The schedulers page against a cluster of two (s1, s2), the way an operator walks through it. Called by
// tests/system/test_schedulers_page.py; CARILLON_URL and CARILLON_TOKEN name an orchestrator.
import assert from 'node:assert/strict';
import { apiOf, jobDocument, pagesOf, startBrowser, startServer, until } from './lib.mjs';

const server = await startServer();
const browser = await startBrowser();
const api = apiOf(server);
const { open, close } = pagesOf(() => ({ browser, server }));
const LONG = 30_000; // a hand-over on a busy machine

await api('PUT', '/projects/default/jobs/walker', jobDocument('default', 'walker', { triggers: [{ every: '1h' }], graph: [{ step: 'a', kind: 'noop' }] }));
const owner = async () => (await api('GET', '/projects/default/jobs/walker/status')).owner_node;
await until('the job has an owner', owner, LONG);

const page = await open();
page.setDefaultTimeout(LONG);
const row = (name) => page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });

// Moved by hand, to whoever does not hold it.
const first = await owner();
const other = first === 's1' ? 's2' : 's1';
await page.goto(`${server.url}/projects/default/jobs/walker`);
await page.getByRole('button', { name: 'Move to …' }).click();
await page.getByRole('dialog').getByLabel('To').selectOption(other);
await page.getByRole('dialog').getByRole('button', { name: 'Move', exact: true }).click();
await page.locator('.head-line').getByRole('link', { name: other, exact: true }).click();
await page.getByRole('region', { name: 'Jobs it holds' }).getByRole('link', { name: 'default / walker' }).waitFor();

// Drained: the other takes all; and back.
await page.goto(`${server.url}/schedulers`);
await page.getByRole('button', { name: `Drain ${other}` }).click();
await page.getByRole('dialog').getByRole('button', { name: 'Drain', exact: true }).click();
await row(other).getByText('offline', { exact: true }).waitFor();
await until('the job is held by the one that is left', async () => (await owner()) === first, LONG);
assert.equal((await api('GET', `/schedulers/${other}`)).slots, 0);
await page.getByRole('button', { name: `Bring ${other} back` }).click();
await row(other).getByText('working', { exact: true }).waitFor();
await until('it returns to where it was put', async () => (await owner()) === other, LONG);

await close(page);
await browser.close();
console.log('walked');
