// Offer tasks to Carillon from Node. No dependencies; the wire is docs/protocol.md.
//
//     const { Executor, Failure } = require('./carillon-executor')
//     const executor = new Executor({ listen: '127.0.0.1:9000', application: 'ledger', key: process.env.CARILLON_KEY, servers: ['http://127.0.0.1:8420'] })
//     executor.task('/post', { serial: true }, async (call) => {
//       if (!('total' in call.params)) throw new Failure('NO_TOTAL', 'params.total is missing')
//       return { posted: call.params.total }
//     })
//     executor.task('/report', { asynchronous: true }, async (call) => { // answered 202 at once, its end is reported
//       for (let page = 0; page < 10 && !call.canceled; page++) {
//         call.progress(page * 10, `page ${page}`)
//         call.log(`page ${page} is written`)
//       }
//     })
//     executor.run()
//
// What a task returns is the result; Failure is a failure with a code of yours, Delay asks to be called again later, any other error is a
// failure with its name. A key that was answered gets its first answer again, while this process lives.
'use strict'
const crypto = require('node:crypto')
const http = require('node:http')
const https = require('node:https')

const CALLS = '/carillon/calls/'
const sleep = (ms) => new Promise((done) => setTimeout(done, ms))

class Failure extends Error {
  constructor(code, message = '') {
    super(message)
    this.code = code
  }
}

class Delay extends Error {
  constructor(seconds) {
    super(`again in ${seconds} s`)
    this.seconds = seconds
  }
}

function request(method, url, body, headers) {
  return new Promise((done) => {
    const data = Buffer.from(body || '')
    const client = url.startsWith('https:') ? https : http
    const outgoing = client.request(url, { method, headers: { ...headers, 'Content-Length': data.length }, timeout: 10000 }, (answer) => {
      const parts = []
      answer.on('data', (part) => parts.push(part))
      answer.on('end', () => done({ status: answer.statusCode, text: Buffer.concat(parts).toString() }))
      answer.on('error', () => done({ status: 0, text: '' }))
    })
    outgoing.on('timeout', () => outgoing.destroy())
    outgoing.on('error', (error) => done({ status: 0, text: String(error) }))
    outgoing.end(data)
  })
}

function sign(key, id, at, body) {
  const mac = crypto.createHmac('sha256', Buffer.from(key.slice('whsec_'.length), 'base64'))
  return 'v1,' + mac.update(`${id}.${at}.`).update(body).digest('base64')
}

const settled = (status) => status && status !== 429 && status < 500

class Call {
  constructor(executor, headers, params) {
    const text = (name) => headers[name] || ''
    this.executor = executor
    this.params = params
    this.key = text('idempotency-key')
    this.run = text('x-carillon-run')
    this.job = text('x-carillon-job')
    this.step = text('x-carillon-step')
    this.attempt = Number(text('x-carillon-attempt'))
    this.epoch = Number(text('x-carillon-epoch') || 0)
    this.scheduledAt = text('x-carillon-scheduled-at')
    this.deadline = text('x-carillon-deadline')
    this.shardIndex = Number(text('x-carillon-shard-index') || 0)
    this.shardTotal = Number(text('x-carillon-shard-total') || 1)
    this.callbacks = text('x-carillon-callback').split(',').map((u) => u.trim()).filter(Boolean)
    this.state = { state: 'running' }
    this.lines = []
    this.stopped = false
  }

  // Come to an end: canceled, ended otherwise, or the executor stops.
  get canceled() {
    return this.stopped || this.executor.stopping
  }

  progress(percent, message) {
    this.state = { state: 'running', ...(percent === undefined ? {} : { progress: percent }), ...(message ? { message } : {}) }
  }

  log(line) {
    this.lines.push(String(line))
  }

  // To the first address that settles it.
  async tell(suffix, body, type) {
    let status = 0
    for (const url of this.callbacks) {
      const answer = await request('POST', url + suffix, body, { 'Content-Type': type })
      status = answer.status
      let canceled = status === 409 || status === 410
      if (status === 200 && !suffix) try { canceled = JSON.parse(answer.text).canceled === true } catch { /* not ours to judge */ }
      if (canceled) this.stopped = true
      if (settled(status)) break
    }
    return status
  }

  async tellLog() {
    const lines = this.lines.splice(0)
    if (lines.length) await this.tell('/logs', lines.join('\n') + '\n', 'text/plain; charset=utf-8')
  }

  async beat(ms) {
    let told, at = Date.now()
    while (!this.ended) {
      await sleep(250)
      if (this.ended) return
      await this.tellLog()
      if (!this.ended && (this.state !== told || Date.now() - at >= ms)) {
        told = this.state
        at = Date.now()
        await this.tell('', JSON.stringify({ ...told, ...(this.accepted ? { within: `${Math.round((ms * 3) / 1000) + 5}s` } : {}) }), 'application/json')
      }
    }
  }

  // Until it is acknowledged, for a day.
  async report(end) {
    this.ended = true
    await this.tellLog()
    let body = JSON.stringify(end)
    for (let pause = 1000, until = Date.now() + 86400000; this.callbacks.length && Date.now() < until; pause = Math.min(pause * 2, 60000)) {
      const status = await this.tell('', body, 'application/json')
      if ([200, 409, 410].includes(status)) return
      if (settled(status)) body = JSON.stringify({ state: 'failed', code: 'REPORT_REFUSED', message: `the report was refused with ${status}` })
      await sleep(pause)
    }
  }
}

class Executor {
  constructor({ listen = '127.0.0.1:9000', key, servers = [], project = 'default', application, advertise, version, heartbeat = 10, keys = 10000 } = {}) {
    const colon = listen.lastIndexOf(':')
    Object.assign(this, { host: listen.slice(0, colon), port: Number(listen.slice(colon + 1)), servers, project, application, advertise, version, remember: keys })
    this.heartbeat = heartbeat * 1000
    this.keys = (key || '').split(' ').filter(Boolean)
    this.tasks = new Map()
    this.answers = new Map() // by key, oldest first
    this.running = new Map()
    this.epochs = new Map()
    this.unnamed = 0
    this.stopping = false
  }

  task(path, { serial = false, concurrency = 0, asynchronous = false, description = '' }, handler) {
    this.tasks.set(path, { handler, asynchronous, limit: serial ? 1 : concurrency, running: 0, told: { path, description, serial, async: asynchronous } })
  }

  // ---- requests ----

  async serve(method, path, headers, body) {
    const refuse = (status, code, message, more = {}) => ({ status, answer: { status: 'failure', code, message }, headers: more })
    if (path === '/healthz') return { status: 200, answer: { status: 'ok', tasks: [...this.tasks.values()].map((t) => t.told) } }
    const wrong = this.signatureWrong(headers, body)
    if (wrong) return refuse(401, 'SIGNATURE', wrong)
    if (path.startsWith(CALLS)) return this.serveCall(method, path.slice(CALLS.length), refuse)
    const canceling = path.endsWith('/cancel') && !this.tasks.has(path)
    const task = this.tasks.get(canceling ? path.slice(0, -'/cancel'.length) : path)
    if (!task) return refuse(404, 'NO_TASK', `there is no task ${path} here`)
    if (method !== 'POST') return refuse(405, 'METHOD', `${path} takes POST`)
    if (canceling) return this.cancel(headers)
    let params = {}
    try {
      if (body.length) params = JSON.parse(body.toString())
    } catch (error) {
      return refuse(400, 'BAD_JSON', `the body is no JSON: ${error.message}`)
    }
    return this.take(task, new Call(this, headers, params), body.toString(), refuse)
  }

  signatureWrong(headers, body) {
    if (!this.keys.length) return null
    const id = headers['webhook-id'] || '', at = headers['webhook-timestamp'] || ''
    if (!/^\d+$/.test(at) || Math.abs(Date.now() / 1000 - Number(at)) > 300) return 'Webhook-Timestamp is missing, or more than five minutes away'
    if ((headers['idempotency-key'] ?? id) !== id) return 'Idempotency-Key is not Webhook-Id, so it is not covered by the signature'
    const given = (headers['webhook-signature'] || '').split(' ').map((s) => Buffer.from(s))
    const right = this.keys.map((key) => Buffer.from(sign(key, id, at, body)))
    return right.some((r) => given.some((g) => g.length === r.length && crypto.timingSafeEqual(g, r))) ? null : 'Webhook-Signature does not match'
  }

  cancel(headers) {
    const key = headers['idempotency-key'], run = headers['x-carillon-run'], step = headers['x-carillon-step']
    const meant = [...this.running.values()].filter((c) => (key && c.key === key) || (run && c.run === run && (!step || c.step === step)))
    for (const call of meant) call.stopped = true
    return { status: 200, answer: { status: 'success', result: { canceled: meant.length } } }
  }

  serveCall(method, key, refuse) {
    const call = this.running.get(key), known = this.answers.get(key)
    if (call) {
      if (method === 'DELETE') call.stopped = true
      return { status: method === 'DELETE' ? 202 : 200, answer: call.state }
    }
    return known && known.asynchronous && known.answer ? { status: 200, answer: known.answer } : refuse(404, 'NO_CALL', 'there is no accepted call of this key here')
  }

  forgetOldest(map) {
    while (map.size > this.remember) map.delete(map.keys().next().value)
  }

  async take(task, call, body, refuse) {
    if (call.run) {
      if (call.epoch < (this.epochs.get(call.run) || 0)) return refuse(409, 'STALE_EPOCH', `run ${call.run} was taken over`)
      this.epochs.delete(call.run)
      this.epochs.set(call.run, call.epoch)
      this.forgetOldest(this.epochs)
    }
    if (task.asynchronous && !call.key) call.key = `unnamed.${Date.now()}.${++this.unnamed}`
    const accepted = { status: 202, answer: { status: 'accepted' }, headers: { Location: CALLS + encodeURIComponent(call.key) } }
    const known = call.key && this.answers.get(call.key)
    if (known) {
      if (known.body !== body) return refuse(422, 'KEY_REUSED', 'this idempotency key came before with another body')
      if (!task.asynchronous) return { status: 200, answer: await known.done, headers: { 'Idempotency-Replayed': 'true' } }
      if (known.answer) call.report(known.answer)
      return accepted
    }
    if (this.stopping || (task.limit && task.running >= task.limit)) {
      return refuse(429, 'BUSY', `${task.told.path} runs ${task.running} call(s) already`, { 'Retry-After': '1' })
    }
    const entry = { body, asynchronous: task.asynchronous }
    entry.done = this.carryOut(task, call, entry)
    if (call.key) {
      this.answers.set(call.key, entry)
      this.forgetOldest(this.answers)
    }
    call.accepted = task.asynchronous
    if (call.callbacks.length) call.beat(this.heartbeat)
    if (task.asynchronous) {
      entry.done.then((end) => call.report(end))
      return accepted
    }
    const end = await entry.done
    call.ended = true
    return { status: 200, answer: end }
  }

  async carryOut(task, call, entry) {
    const word = task.asynchronous ? 'state' : 'status', failed = task.asynchronous ? 'failed' : 'failure'
    let end
    task.running++
    this.running.set(call.key || call, call)
    await null // the key is remembered before the handler begins
    try {
      end = { [word]: task.asynchronous ? 'succeeded' : 'success', result: (await task.handler(call)) ?? null }
    } catch (error) {
      end = error instanceof Delay ? { [word]: 'delay', after: `${error.seconds}s` } : { [word]: failed, code: error.code || error.name, message: error.message }
      if (error instanceof Delay) this.answers.delete(call.key)
    }
    task.running--
    this.running.delete(call.key || call)
    entry.answer = end
    return end
  }

  // ---- life ----

  async announce(verb) {
    const name = `${this.project}/${this.application}/${this.address}`
    const body = verb === 'register' ? JSON.stringify({ tasks: [...this.tasks.values()].map((t) => t.told), version: this.version }) : ''
    const at = String(Math.floor(Date.now() / 1000)), id = `${verb}:${name}:${crypto.randomUUID()}`
    for (const server of this.servers) {
      const url = `${server.replace(/\/$/, '')}/api/v1/projects/${this.project}/apps/${this.application}/instances/${encodeURIComponent(this.address)}`
      const headers = { 'Content-Type': 'application/json', 'Webhook-Id': id, 'Webhook-Timestamp': at, 'Webhook-Signature': sign(this.keys[0], id, at, body) }
      const answer = await request(verb === 'register' ? 'PUT' : 'DELETE', url, body, headers)
      if (answer.status >= 200 && answer.status < 300) return true
      console.error(`not registered at ${server}: ${answer.status} ${answer.text.slice(0, 200)}`)
    }
    return false
  }

  async announceAlways() {
    while (!this.left) {
      const done = await this.announce('register')
      for (let waited = 0; !this.left && waited < (done ? 10000 : 2000); waited += 100) await sleep(100)
    }
  }

  start() {
    this.server = http.createServer((incoming, outgoing) => {
      const parts = []
      incoming.on('data', (part) => parts.push(part))
      incoming.on('end', async () => {
        const path = decodeURIComponent(incoming.url.split('?')[0])
        const { status, answer, headers } = await this.serve(incoming.method, path, incoming.headers, Buffer.concat(parts))
        const data = Buffer.from(JSON.stringify(answer))
        outgoing.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': data.length, ...headers })
        outgoing.end(data)
      })
    })
    return new Promise((done) => this.server.listen(this.port, this.host, () => {
      this.port = this.server.address().port
      this.address = this.advertise || `${this.host}:${this.port}`
      if (this.servers.length) this.announcing = this.announceAlways()
      done(this)
    }))
  }

  // Takes the name off, refuses new calls, lets those that run end.
  async stop(seconds = 10) {
    this.left = true
    if (this.announcing) {
      await this.announcing
      await this.announce('leave')
    }
    this.stopping = true
    for (const until = Date.now() + seconds * 1000; this.running.size && Date.now() < until;) await sleep(20)
    this.server.close()
    this.server.closeAllConnections()
  }

  // Until SIGINT or SIGTERM.
  run() {
    for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => this.stop().then(() => process.exit(0)))
    return this.start()
  }
}

module.exports = { Executor, Failure, Delay }
