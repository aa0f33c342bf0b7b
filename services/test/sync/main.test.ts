import { once } from 'node:events'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { tempFolder } from '../../../test/setup/at-end.ts'
import { UsageError } from '../../common/command.ts'
import { main } from '../../sync/main.ts'
import { commandOf } from '../command.ts'
import { responseOf } from '../responses.ts'
import { chunk, incremental, QQ, record, TOKEN } from './harness.ts'

const { start, run } = commandOf('sync', 'SYNC_BOT_TOKENS', TOKEN)

/** A process that serves, and a way to ask it. */
async function serve(database: string, more: string[] = [], tokens?: string) {
  const child = start(['serve', '--listen', '127.0.0.1:0', '--database', database, ...more], tokens)
  onTestFinished(() => void child.kill('SIGKILL'))
  const output = { text: '' }
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output.text += data))
  const [line] = await once(child.stdout, 'data')
  const url = /http:\S+/.exec(String(line))?.[0] ?? ''
  const sync = async (body: unknown, headers: Record<string, string> = {}) =>
    responseOf(
      await fetch(`${url}/api/bot/sync`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'bot-token': TOKEN, ...headers },
        body: JSON.stringify(body),
      }),
    )
  return { child, url, sync, output }
}

it('the command line of sync serves with each token and the origins, says nothing of the tokens, and stops on SIGTERM with exit code 0', async () => {
  const origin = ['--allow-origin', 'http://127.0.0.1:8080', '--allow-origin', 'https://tools.example']
  const { child, sync, output } = await serve(join(tempFolder(), 'sync.db'), origin, `other-token, ${TOKEN}`)
  const response = await sync(incremental([record()]), { origin: 'https://tools.example' })
  expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([200, 'https://tools.example'])
  expect((await sync(incremental([record()]), { 'bot-token': 'other-token' })).status).toBe(200)
  expect((await sync(incremental([record()]), { 'bot-token': 'wrong-token' })).status).toBe(401)
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
  expect(output.text).toMatch(/^network score-sync on http:\S+\n$/)
})

it('the command line of sync has an open snapshot again after it was killed', async () => {
  const database = join(tempFolder(), 'sync.db')
  const first = await serve(database)
  await first.sync(incremental([record(2000)]))
  await first.sync(chunk('A', [record(2001)]))
  first.child.kill('SIGKILL')
  await once(first.child, 'exit')
  const second = await serve(database)
  expect((await second.sync(chunk('B', []))).status).toBe(409)
  const last = await second.sync(chunk('A', [record(2002)], { snapshot_final: true }))
  expect(last.json).toMatchObject({ status: 'ok', removed: 1, stored_records: 2 })
  const player = await fetch(`${second.url}/api/bot/player/${QQ}`, { headers: { 'bot-token': TOKEN } })
  expect((await responseOf(player)).json.records).toHaveLength(2)
})

it('the command line of sync explains itself where it is called wrongly', async () => {
  expect(await run([])).toMatchObject({ code: 2, err: expect.stringContaining('serve --database FILE') })
})

it.each([
  [[]],
  [['serve']],
  [['fly', '--database', 'x.db']],
  [['serve', 'more', '--database', 'x.db']],
  [['serve', '--database', 'x.db', '--listen', '9001']],
  [['serve', '--database', 'x.db', '--listen', '127.0.0.1:70000']],
  [['serve', '--database', 'x.db', '--allow-origin', 'http://127.0.0.1:8080/']],
  [['serve', '--database', 'x.db', '--allow-origin', '*']],
  [['serve', '--database', 'x.db', '--snapshot-idle', '0']],
  [['serve', '--database', 'x.db', '--snapshot-idle', 'soon']],
  [['serve', '--database', 'x.db', '--wrong']],
])('the command line of sync does not understand %j', async (args) => {
  await expect(main(args)).rejects.toThrow(UsageError)
})

it('the command line of sync shows its usage when asked', async () => {
  expect(await run(['--help'])).toMatchObject({ code: 0, out: expect.stringContaining('SYNC_BOT_TOKENS') })
})

it('the command line of sync does not serve without tokens, and names a catalogue or a database that it cannot read', async () => {
  const database = join(tempFolder(), 'sync.db')
  for (const tokens of ['', 'one,,two', ' '])
    expect(await run(['serve', '--database', database], tokens)).toMatchObject({ code: 2 })
  const missing = await run(['serve', '--database', database, '--catalogue', '/no/such/file.json'])
  expect(missing).toMatchObject({ code: 1, err: expect.stringContaining('/no/such/file.json') })
  expect(await run(['serve', '--database', '/no/such/folder/sync.db'])).toMatchObject({ code: 1 })
})
