// Who may call the API.
import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { apiOf, jobDocument, pagesOf, startBrowser, startServer, until } from './lib.mjs';

const P = `tokens-${Date.now().toString(36)}`;
let server, browser;
const { open, close } = pagesOf(() => ({ browser, server }));

before(async () => {
  server = await startServer();
  browser = await startBrowser();
  const api = apiOf(server);
  await api('PUT', `/projects/${P}`, { apiVersion: 'carillon/v1', kind: 'Project', metadata: { name: P }, spec: { timezone: 'UTC' } });
  await api('PUT', `/projects/${P}/jobs/held`, jobDocument(P, 'held', { triggers: [], graph: [{ step: 'a', url: 'http://127.0.0.1:9/' }] }));
});

after(async () => {
  await browser?.close();
  server?.close();
});

test('tokens: made once and shown once, listed, revoked after a question', async () => {
  const page = await open();
  await page.goto(`${server.url}/projects/${P}/jobs`);
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByRole('link', { name: 'Access tokens' }).click();
  await page.getByRole('heading', { level: 1, name: 'Access tokens' }).waitFor();
  await page.getByRole('button', { name: 'New token' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('Not a name!');
  await dialog.getByRole('button', { name: 'Create' }).click();
  if (server.real) await dialog.getByRole('alert').waitFor();
  const name = `robot-${Date.now().toString(36)}`;
  if (server.real) {
    await dialog.getByLabel('Name').fill(name);
    await dialog.getByLabel('Role').selectOption('viewer');
    await dialog.getByText('sees everything, changes nothing').waitFor();
    await dialog.getByLabel('Project').selectOption(P);
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByText('it is not shown again').waitFor();
    const token = (await dialog.getByRole('region', { name: 'The token' }).textContent()).trim();
    const may = async (method) => (await fetch(`${server.url}/api/v1/projects/${P}/jobs${method === 'POST' ? ':pause' : ''}`, { method, headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' }, body: method === 'POST' ? '{"names":["held"]}' : undefined })).status;
    assert.deepEqual([await may('GET'), await may('POST')], [200, 403]);
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    await dialog.waitFor({ state: 'detached' });
    assert.ok(!(await page.content()).includes(token), 'the token is gone from the page');
    const row = page.getByRole('row').filter({ hasText: name });
    await row.getByText('valid').waitFor();
    await row.getByText(P).waitFor();
    await page.getByRole('button', { name: `Revoke ${name}` }).click();
    await page.getByRole('dialog', { name: `Revoke ${name}?` }).getByRole('button', { name: 'Revoke', exact: true }).click();
    await page.getByText(`${name} is revoked.`).waitFor();
    await until('the token is refused', async () => (await may('GET')) === 401);
  }
  await close(page);
});
