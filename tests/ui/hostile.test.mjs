// What strangers write, in a browser: markup, addresses that are scripts, templates, characters that turn lines round, and
// very much of it. It is shown as text, it runs nowhere, it does not push the page apart; and no other site can act for a
// person who is signed in.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { overflow } from './checks.mjs';
import { apiOf, jobDocument, pagesOf, startBrowser, startExecutor, startServer, until } from './lib.mjs';

const P = `hostile-${Date.now().toString(36)}`;
let server, executor, browser, api;
const { open, close } = pagesOf(() => ({ browser, server }));

const MARKUP = '<img src=x onerror=alert(1)><svg onload=alert(2)><script>alert(3)</script><iframe srcdoc="<script>alert(4)</script>">';
const QUOTES = `"'><b onmouseover=alert(5)>x</b> javascript:alert(6) data:text/html,<script>alert(7)</script>`;
const TEMPLATES = '{{7*7}} ${7*7} $t(action.run) {{count}} <%= 7*7 %> #{7*7} [[x]](javascript:alert(8)) &lt;b&gt; %s%n';
const TURNED = 'abc\u202edcba\u2066\u200b\u0007\u001b[31mred\ufeffend';
const ALL = [MARKUP, QUOTES, TEMPLATES, TURNED];
const LONG = 'L'.repeat(65_536);

before(async () => {
  server = await startServer();
  executor = await startExecutor();
  browser = await startBrowser();
  api = apiOf(server);
  await api('PUT', `/projects/${P}`, { apiVersion: 'carillon/v1', kind: 'Project', metadata: { name: P, display_name: MARKUP, description: MARKUP }, spec: { timezone: 'UTC' } });
});

after(async () => {
  await browser?.close();
  executor?.close();
  server?.close();
});

/** Faults of a page that foreign text got the better of. */
async function caught(page) {
  return page.evaluate(() => {
    const faults = [];
    for (const element of document.querySelectorAll('script, iframe, object, embed, base, meta[http-equiv]')) {
      if (element.tagName !== 'SCRIPT' || !element.src.startsWith(location.origin)) faults.push(`<${element.tagName}>`);
    }
    for (const element of document.querySelectorAll('main *')) {
      for (const { name, value } of element.attributes) {
        if (/^on/.test(name)) faults.push(`${name} on <${element.tagName}>`);
        if (/^(href|src|action|formaction|xlink:href)$/.test(name) && /^\s*(javascript|data|vbscript):/i.test(value)) faults.push(`${name}=${value.slice(0, 40)}`);
      }
      if (element.tagName === 'IMG' || element.tagName === 'B') faults.push(`<${element.tagName}>`);
    }
    return faults;
  });
}

/** Opens a page of the project, waits for `text`, and looks at what became of it. */
async function look(page, route, text) {
  await page.goto(`${server.url}/projects/${P}/${route}`);
  await page.locator('main h1').waitFor();
  await page.locator('.loading').first().waitFor({ state: 'detached' });
  if (text) await until(`${route} shows ${text.slice(0, 30)}`, async () => (await page.locator('body').innerText()).includes(text));
  assert.deepEqual(await caught(page), [], route);
  assert.deepEqual(await overflow(page), [], `${route}: scrolls sideways`);
}

async function watched(options) {
  const page = await open(options);
  page.on('dialog', (dialog) => {
    page.faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return page;
}

test('markup, scripts, templates and turned text in every field are text on every page', async () => {
  const texts = ALL.join(' · ');
  const params = Object.fromEntries(ALL.map((text, i) => [`k${i}${text.slice(0, 60)}`, text]));
  const answer = { status: 'failure', code: MARKUP.slice(0, 60), message: texts.slice(0, 400), result: params };
  await api('PUT', `/projects/${P}/jobs/fields`, jobDocument(P, 'fields', {
    triggers: [],
    params,
    graph: [
      { step: 'says', url: `${executor.url}/hostile`, params: answer },
      { step: 'page', url: `${executor.url}/page`, params: { body: texts } },
      { step: 'echoes', url: `${executor.url}/echo`, params: { body: texts } },
    ],
  }, { description: texts, owner: TEMPLATES, display_name: MARKUP, labels: { kind: QUOTES.slice(0, 100) } }));
  const id = (await api('POST', `/projects/${P}/jobs:enqueue`, { names: ['fields'], params })).items[0].result.run;
  await until('the run ends', async () => (await api('GET', `/projects/${P}/runs/${id}`)).ended_at);

  for (const options of [{}, { viewport: { width: 360, height: 740 } }]) {
    const page = await watched(options);
    await look(page, 'jobs', '<img src=x onerror=alert(1)>');
    await look(page, 'jobs/fields', 'Belongs to {{7*7}} ${7*7} $t(action.run) {{count}}');
    await look(page, `runs/${id}`, '<script>alert(3)</script>');
    for (const step of await page.locator('details.step').all()) await step.evaluate((element) => { element.open = true; });
    assert.deepEqual(await caught(page), []);
    assert.deepEqual(await overflow(page), [], 'all steps open: scrolls sideways');
    await look(page, 'jobs/fields/definition', 'javascript:alert(6)');
    await look(page, 'jobs/fields/runs');
    await look(page, 'jobs/fields/edit');
    assert.match(await page.getByLabel('Definition as JSON').inputValue(), /onerror=alert/);
    await look(page, 'runs');
    await page.goto(`${server.url}/projects/${P}/jobs/fields`);
    await page.getByRole('button', { name: 'Run now' }).click();
    await page.getByRole('dialog').waitFor();
    assert.deepEqual(await caught(page), []);
    await close(page);
  }

  // What acts without being seen is seen: a reader of a definition reads what is there.
  const page = await watched();
  await look(page, 'jobs/fields');
  assert.ok((await page.locator('.lead .acting').allTextContents()).includes('U+202E'));
  assert.ok(!(await page.locator('.lead').textContent()).includes('\u202e'));
  await close(page);
});

test('addresses that carry markup are names that do not exist', async () => {
  const page = await watched();
  for (const route of [encodeURIComponent(MARKUP), `jobs/${encodeURIComponent(MARKUP)}`, `runs/${encodeURIComponent(QUOTES)}`, `jobs?q=${encodeURIComponent(MARKUP)}`, `runs?job=${encodeURIComponent(QUOTES)}&state=${encodeURIComponent(MARKUP)}`]) {
    await look(page, route);
  }
  for (const path of [`/projects/${encodeURIComponent(MARKUP)}/jobs`, `/schedulers/${encodeURIComponent(MARKUP)}`, '/projects/%2e%2e%2f%2e%2e/jobs', '//evil.example/jobs', '/projects/%E0%A4%A/jobs', '/schedulers/%zz']) {
    const answer = await page.goto(server.url + path);
    if (answer.status() === 404) continue; // refused before it is a page
    await page.locator('main h1').waitFor();
    assert.deepEqual(await caught(page), [], path);
    assert.deepEqual(await overflow(page), [], `${path}: scrolls sideways`);
  }
  await close(page);
});

test('64 KiB in a field: refused, or folded until someone asks for it', async () => {
  const graph = [{ step: 'a', url: `${executor.url}/hostile`, params: { status: 'failure', code: 'E_LONG', message: LONG.slice(0, 60_000) } }];
  const put = (name, spec, metadata) => fetch(`${server.url}/api/v1/projects/${P}/jobs/${name}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(jobDocument(P, name, spec, metadata)),
  });
  assert.ok([400, 404, 414, 431].includes((await put('x'.repeat(65_536), { triggers: [], graph })).status), 'a name of 64 KiB');
  const described = await put('long', { triggers: [], graph }, { description: LONG, owner: LONG.slice(0, 4_000) });
  if (!described.ok) assert.equal((await put('long', { triggers: [], graph }, { description: LONG.slice(0, 4_000) })).status, 201);
  const id = (await api('POST', `/projects/${P}/jobs:enqueue`, { names: ['long'] })).items[0].result.run;
  await until('the run ends', async () => (await api('GET', `/projects/${P}/runs/${id}`)).ended_at);
  for (const options of [{}, { viewport: { width: 360, height: 740 } }]) {
    const page = await watched(options);
    for (const route of ['jobs', 'jobs/long', `runs/${id}`]) {
      await look(page, route);
      const height = await page.evaluate(() => document.querySelector('.page-head').getBoundingClientRect().height);
      assert.ok(height < 1_200, `${route}: the head is ${height} pixels high`);
    }
    await close(page);
  }
});

test('no other site acts for who is signed in: no cookie, no foreign origin, no frame', async () => {
  const foreign = { origin: 'https://evil.example', 'content-type': 'text/plain' };
  const answer = await fetch(`${server.url}/api/v1/projects/${P}/jobs:pause`, { method: 'POST', headers: foreign, body: '{"names":["fields"]}' });
  assert.equal(answer.status, 401);
  for (const method of ['OPTIONS', 'GET']) {
    const asked = await fetch(`${server.url}/api/v1/projects`, { method, headers: { ...foreign, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' } });
    for (const name of ['access-control-allow-origin', 'access-control-allow-credentials', 'set-cookie']) assert.equal(asked.headers.get(name), null, `${method}: ${name}`);
  }

  const page = await watched();
  const { headers } = { headers: (await page.goto(`${server.url}/projects/${P}/jobs`)).headers() };
  const policy = headers['content-security-policy'];
  for (const rule of ["frame-ancestors 'none'", "default-src 'none'", "base-uri 'none'", "form-action 'self'"]) assert.ok(policy.includes(rule), rule);
  if (server.real) {
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.equal(headers['x-frame-options'], 'DENY');
    assert.equal(headers['referrer-policy'], 'no-referrer');
    assert.equal(headers['cross-origin-opener-policy'], 'same-origin');
  }
  assert.deepEqual(await page.context().cookies(), []);
  await close(page);

  // A page elsewhere that frames ours gets nothing to click on.
  const context = await browser.newContext();
  const other = await context.newPage();
  await other.route('http://evil.example/', (route) => route.fulfill({ contentType: 'text/html', body: `<iframe src="${server.url}/" width="900" height="700"></iframe>` }));
  await other.goto('http://evil.example/');
  await other.waitForTimeout(800);
  const framed = other.frames().find((frame) => frame !== other.mainFrame());
  assert.equal(await framed.locator('#root, main, input').count().catch(() => 0), 0);
  await context.close();
});
