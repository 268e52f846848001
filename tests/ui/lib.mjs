// What the browser tests share: a server (the real one when CARILLON_URL is set, else the fixture), an executor that
// answers as its path says, and a browser.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createFake } from './fake-server.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const modules = process.env.CARILLON_UI_MODULES ?? path.join(here, '../../ui/node_modules');
const { chromium } = createRequire(path.join(modules, 'x.js'))('playwright-core');

/** CARILLON_URL with CARILLON_TOKEN or CARILLON_TOKEN_FILE. */
export async function startServer() {
  if (process.env.CARILLON_URL) {
    const token = process.env.CARILLON_TOKEN ?? readFileSync(process.env.CARILLON_TOKEN_FILE, 'utf8').trim();
    return { url: process.env.CARILLON_URL.replace(/\/$/, ''), token, real: true, close: () => undefined };
  }
  const fake = createFake();
  return { url: await fake.listen(), token: fake.token, real: false, close: fake.close };
}

/** A plain executor. /ok, /slow?ms=n, /fail, /flaky (every second call fails), /echo, /hostile, /page, /even */
export async function startExecutor() {
  const calls = [];
  const flaky = new Map();
  const server = http.createServer((request, response) => {
    const url = new URL(request.url, 'http://executor');
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      calls.push({ path: url.pathname, body, headers: request.headers });
      const send = (status, value) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
      const ok = { status: 'success', result: { rows: 42, note: '千客万来' } };
      switch (url.pathname) {
        case '/slow':
          return void setTimeout(() => send(200, ok), Number(url.searchParams.get('ms') ?? 3000));
        case '/fail':
          return send(500, { message: 'the printer is on fire' });
        case '/flaky': {
          const times = (flaky.get(request.url) ?? 0) + 1;
          flaky.set(request.url, times);
          return times % 2 === 1 ? send(503, { message: 'not now' }) : send(200, ok);
        }
        case '/hostile': // fails (or not) with what the request says, in every place that an executor fills
          return response
            .writeHead(200, { 'content-type': 'application/json', 'x-note': '<script>alert("header")</script>' })
            .end(JSON.stringify(JSON.parse(body)));
        case '/even': // an odd number fails
          return Number(JSON.parse(body).n) % 2 === 1 ? send(500, { message: 'odd' }) : send(200, ok);
        case '/page':
          return response.writeHead(502, { 'content-type': 'text/html' }).end('<!doctype html><script>alert("page")</script><h1>down</h1>');
        case '/echo':
          return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ status: 'success', result: { got: body } }));
        default:
          return send(200, ok);
      }
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  return {
    url: `http://127.0.0.1:${port}`,
    calls,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

export function apiOf(server) {
  return async (method, route, body) => {
    const answer = await fetch(`${server.url}/api/v1${route}`, {
      method,
      headers: { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${route}: ${answer.status} ${text}`);
    return text === '' ? null : JSON.parse(text);
  };
}

export function startBrowser() {
  return chromium.launch({
    executablePath: process.env.CARILLON_CHROMIUM ?? '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
}

export const jobDocument = (project, name, spec, metadata = {}) => ({ apiVersion: 'carillon/v1', kind: 'Job', metadata: { project, name, ...metadata }, spec });

export async function until(what, check, ms = 15_000) {
  const end = Date.now() + ms;
  for (;;) {
    const value = await check();
    if (value) return value;
    if (Date.now() > end) throw new Error(`in ${ms} ms it did not happen: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Opens and closes pages; `world` gives the browser and the server once they are there. */
export function pagesOf(world) {
  /** A page that is signed in; everything it should not do is collected in `page.faults`. */
  async function open(options = {}, token = world().server.token) {
    const { browser, server } = world();
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-GB', timezoneId: 'Europe/Berlin', ...options });
    if (token) await context.addInitScript((value) => { if (!sessionStorage.getItem('test.started')) { sessionStorage.setItem('carillon.token', value); sessionStorage.setItem('test.started', '1'); } }, token);
    const page = await context.newPage();
    page.setDefaultTimeout(15_000);
    page.faults = [];
    page.on('pageerror', (error) => page.faults.push(`error: ${error.message}`));
    page.on('console', (message) => {
      // The browser itself writes a line for each answer of 400 and more; those the tests provoke.
      if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) page.faults.push(`console: ${message.text()}`);
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(server.url) && !request.url().startsWith('data:')) page.faults.push(`asks elsewhere: ${request.url()}`);
    });
    return page;
  }

  async function close(page) {
    assert.deepEqual(page.faults, []);
    await page.context().close();
  }
  return { open, close };
}
