// The tasks of the clients' test, in JavaScript: node example.js HOST:PORT [SERVER KEY]
'use strict'
const { Executor, Failure, Delay } = require('./carillon-executor')

const [listen, server, key] = process.argv.slice(2)
const sleep = (ms) => new Promise((done) => setTimeout(done, ms))
const executor = new Executor({ listen, application: 'node', servers: server ? [server] : [], key, heartbeat: 1, version: '1.0' })
let counted = 0

executor.task('/greet', { description: 'says hello' }, async (call) => {
  if (call.params.fail) throw new Failure('NO_NAME', 'who is it?')
  if (call.params.delay) throw new Delay(1)
  return { hello: call.params.name || 'world', step: call.step }
})

executor.task('/count', { serial: true }, async () => {
  await sleep(300)
  return { count: ++counted }
})

executor.task('/long', { asynchronous: true }, async (call) => {
  for (let tenth = 0; tenth < (call.params.seconds ?? 1) * 10; tenth++) {
    if (call.canceled) throw new Failure('CANCELED', 'stopped, as asked')
    if (tenth % 5 === 0) {
      call.progress(tenth, `page ${tenth / 5 + 1}`)
      call.log(`page ${tenth / 5 + 1}`)
    }
    await sleep(100)
  }
  return { pages: 2 }
})

executor.run()
