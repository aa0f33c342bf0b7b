import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { suggest } from '../../src/cli/suggest.ts'
import { tempFolder } from '../setup/at-end.ts'
import { wrongCall } from './wrong-call.ts'

const folder = tempFolder()
afterEach(() => vi.restoreAllMocks())

function logOf(name: string, ...requests: string[]): string {
  const path = join(folder, name)
  const lines = requests.map((request, i) => `192.0.2.7 - u${i} [26/Nov/2026:10:00:01 +0000] "${request}" 200 5`)
  writeFileSync(path, lines.join('\n'))
  return path
}

test('tollgate suggest writes a new file, and leaves one alone that is there', async () => {
  const out = join(folder, 'new.yaml')
  const said = vi.spyOn(console, 'log').mockImplementation(() => {})
  const log = logOf('a.log', 'GET /items/1', 'POST /items')
  expect(await suggest(['--log', log, '--upstream', 'http://10.0.0.1:3000', '--out', out])).toBe(0)
  expect(said).toHaveBeenCalledWith(`${out}: written`)
  const text = readFileSync(out, 'utf8')
  expect(text).toContain('url: "http://10.0.0.1:3000"\n')
  expect(text).toContain('{ match: GET /items/:id, category: read, cost: 1 }')
  await expect(suggest(['--log', log, '--out', out])).rejects.toThrow('new.yaml is there already: name another file')
  expect(readFileSync(out, 'utf8')).toBe(text)
})

test('tollgate suggest says so if there is nothing to suggest from', async () => {
  const log = logOf('refused.log', 'GET /a/../b')
  await expect(suggest(['--log', log])).rejects.toThrow('the logs have no request for a route map')
})

test('tollgate suggest puts nothing of a log into the file that could be more than the name of a route', async () => {
  const out = join(folder, 'odd.yaml')
  vi.spyOn(console, 'log').mockImplementation(() => {})
  const odd = ['GET /a,b', 'GET /x:%20y', "GET /'q'", 'GET /%0Aadmin:', 'GET /{a}', 'GET /&a', 'GET /a#b']
  expect(await suggest(['--log', logOf('odd.log', 'GET /plain', ...odd), '--out', out])).toBe(0)
  const text = readFileSync(out, 'utf8')
  expect(text.slice(text.indexOf('routes:')).match(/match: [^,]*/g)).toEqual(['match: GET /plain', 'match: GET /:name'])
})

test.each([
  [[], 'suggest needs --log FILE, or --history'],
  [['--history', '--log', 'x'], 'suggest needs --log FILE, or --history'],
  [['--history', '--from', 'x'], '--from takes a time such as 2026-10-10T12:00:00Z, or a span such as 7d'],
  [['--log', 'x', '--percentile', '0'], '--percentile takes a number from 0.01 to 100'],
  [['--log', 'x', '--headroom', '0.5'], '--headroom takes a number from 1 to 100'],
  [['--log', 'x', '--names', 'many'], '--names takes a number from 1 to 200'],
  [
    ['--log', 'x', '--upstream', 'ftp://x'],
    '--upstream is not an http or https URL: write one like http://127.0.0.1:9000',
  ],
  [['--log', 'x', '--from', 'yesterday'], '--from takes a time such as 2026-10-10T12:00:00Z'],
])('tollgate suggest called wrongly says how: %s', async (args, problem) =>
  expect(await wrongCall(suggest(args))).toBe(problem),
)
