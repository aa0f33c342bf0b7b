import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { replayLogs } from '../../src/cli/replay.ts'
import { YAML } from '../admin/running.ts'
import { tempFolder } from '../setup/at-end.ts'
import { wrongCall } from './wrong-call.ts'

const folder = tempFolder()
let file: string
beforeAll(() => {
  file = join(folder, 'tollgate.yaml')
  writeFileSync(file, YAML)
})
afterEach(() => vi.restoreAllMocks())

function lineOf(second: number, user: string, status = 200): string {
  const time = `26/Nov/2026:10:${String(Math.floor(second / 60)).padStart(2, '0')}:${String(second % 60).padStart(2, '0')} +0000`
  return `192.0.2.7 - ${user} [${time}] "POST /v1/music/upsert HTTP/1.1" ${status} 5 "-" "-"`
}

/** 15 tokens each, of 60 in an hour. */
const lines = [...Array.from({ length: 6 }, (_, i) => lineOf(i, 'alice')), lineOf(7, '=cmd|x'), 'nonsense']

async function replayed(...args: string[]): Promise<string> {
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  expect(await replayLogs(['-c', file, ...args])).toBe(0)
  return String(log.mock.calls.at(-1)?.[0])
}

function logOf(name: string, content: string | Buffer): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

describe('tollgate replay', () => {
  test('tollgate replay says who would have been refused, how often and when first', async () => {
    const text = await replayed('--log', logOf('a.log', lines.join('\n')))
    expect(text).toContain('8 lines, 7 requests from 2026-11-26T10:00:00.000Z to 2026-11-26T10:00:07.000Z.')
    expect(text).toContain('a.log:8: expected ADDRESS - USER [TIME] "REQUEST" STATUS')
    expect(text).toContain('2 of 7 charged requests would have been refused (28.57 %)')
    expect(text).toContain('alice  2 of 6  2 new  first 2026-11-26T10:00:04.000Z by personal write 1h (60)')
  })

  test('tollgate replay reads a price by the query from the log of another program', async () => {
    const priced = join(folder, 'priced.yaml')
    writeFileSync(
      priced,
      `upstream: { url: "http://127.0.0.1:9" }
store: "sqlite::memory:"
auth: { gateway_tokens: true }
quota: { baselines: { personal: { read: { 1h: 11 } } } }
routes:
  - { match: GET /export, category: read, cost: { query: limit, times: 0.1, max: 500, missing: 100 } }
  - { match: GET /items, category: read, cost: 1 }
`,
    )
    const asked = ['/export?limit=42', '/items?limit=42', '/export?limit=50', '/export?limit=1']
    const content = asked.map((target, i) => lineOf(i, 'alice').replace('POST /v1/music/upsert', `GET ${target}`))
    const { total } = JSON.parse(
      await replayed('-c', priced, '--log', logOf('priced.log', content.join('\n')), '--json'),
    )
    expect(total).toMatchObject({ requests: 4, refused: 1, first: { at: '2026-11-26T10:00:03.000Z' } })
  })

  test('tollgate replay reads several files in any order, packed ones too', async () => {
    const late = logOf('late.log.gz', gzipSync(lines.slice(3).join('\n')))
    const early = logOf('early.log', lines.slice(0, 3).join('\n'))
    const { requests, total } = JSON.parse(await replayed('--log', late, early, '--json'))
    expect(requests).toBe(7)
    expect(total).toMatchObject({
      refused: 2,
      first: { at: '2026-11-26T10:00:04.000Z', scope: 'personal', category: 'write', window: '1h', limit: 60 },
    })
  })

  test('tollgate replay looks at the part of the log between two moments', async () => {
    const path = logOf('part.log', lines.join('\n'))
    const { total } = JSON.parse(
      await replayed('--log', path, '--from', '2026-11-26T10:00:02Z', '--to', '2026-11-26T10:00:06Z', '--json'),
    )
    expect(total).toMatchObject({ requests: 4, refused: 0 })
  })

  test('tollgate replay writes a CSV in which no user is a formula', async () => {
    const refused = Array.from({ length: 5 }, (_, i) => lineOf(i, '=cmd|x'))
    const csv = await replayed('--log', logOf('csv.log', refused.join('\n')), '--csv')
    expect(csv.split('\n')[1]).toBe("'=cmd|x,5,1,1,0,0,60,2026-11-26T10:00:04.000Z,personal,write,1h,60")
  })

  test('tollgate replay shows what a client or a log wrote for a terminal by its number', async () => {
    const bad = Array.from({ length: 5 }, (_, i) => lineOf(i, '\\x1b[2Jx\\x0a=cmd\u202e'))
    const path = logOf('terminal.log', [...bad, 'x - u [\u001b[2J] "x" 200'].join('\n'))
    const json = JSON.parse(await replayed('--log', path, '--json'))
    expect(json.users[0].user).toBe('\u001b[2Jx\n=cmd\u202e')
    const text = await replayed('--log', path)
    expect(text).toContain('  \\u{1b}[2Jx\\u{a}=cmd\\u{202e}  1 of 5')
    expect(text).toContain('"\\u{1b}[2J" is no time')
    expect(text.replaceAll('\n', '')).not.toMatch(/\p{Cc}|\p{Cf}/u)
    const csv = await replayed('--log', path, '--csv')
    expect(csv.split('\n')[1]).toMatch(/^\\u\{1b\}\[2Jx\\u\{a\}=cmd\\u\{202e\},5,/)
    expect(csv.split('\n')).toHaveLength(2)
  })

  test('tollgate replay counts who would be let through that was refused', async () => {
    const path = logOf('spared.log', [lineOf(0, 'alice', 429), lineOf(1, 'alice')].join('\n'))
    expect(JSON.parse(await replayed('--log', path, '--json')).total).toMatchObject({ refused: 0, spared: 1 })
  })

  test.each([
    [['--format', 'xml', '--log', 'x'], '--format takes auto, own, combined, nginx, envoy'],
    [[], 'replay needs --log FILE'],
    [['--log', 'x', '--json', '--csv'], '--json and --csv exclude each other'],
    [['--log', 'x', '--from', 'yesterday'], '--from takes a time such as 2026-10-10T12:00:00Z'],
    [['--log', 'x', '--from', '1'], '--from takes a time such as 2026-10-10T12:00:00Z'],
    [['--log', 'x', '--to', '2026-02-30T00:00:00Z'], '--to takes a time such as 2026-10-10T12:00:00Z'],
    [['--log', 'x', '--top', '-1'], '--top takes a number up to 1000000'],
  ])('tollgate replay called wrongly says how: %s', async (args, problem) => {
    expect(await wrongCall(replayLogs(args.includes('-1') ? ['--log', 'x', '--top=-1'] : args))).toBe(problem)
  })

  test('a file that is not there is named', async () => {
    await expect(replayLogs(['-c', file, '--log', join(folder, 'none.log')])).rejects.toThrow(/none\.log: ENOENT/)
  })
})
