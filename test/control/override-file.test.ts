import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { changesNothing, overrideChanges, stageChanges } from '../../src/control/override-changes.ts'
import { type OverrideFormat, readOverrides, writeOverrides } from '../../src/control/override-file.ts'
import type { ControlState, UserOverride, Versioned } from '../../src/control/state.ts'
import { isUserId } from '../../src/control/user-id.ts'
import { LONGEST_SECONDS } from '../../src/quota/calendar.ts'
import { STRANGE_IDS } from '../quota/usage.suite.ts'
import { FILE } from './settings-of-a-file.ts'

const NOW = Date.UTC(2026, 10, 20)
const FORMATS: readonly OverrideFormat[] = ['ndjson', 'csv']

const limited = (limit: number, more: Partial<UserOverride> = {}): UserOverride => ({
  limits: { read: { '1h': limit } },
  bypassGlobal: false,
  shadow: false,
  reason: 'a "good", =reason; 用户',
  expiresAt: null,
  ...more,
})

const NONE: ControlState['overrides'] = new Map()
const NONE_OF_ORGANISATIONS: ControlState['organisationOverrides'] = new Map()
const stored = (...of: [string, UserOverride][]): Map<string, Versioned<UserOverride>> =>
  new Map(of.map(([user, value], i) => [user, { version: i + 1, value }]))

const read = (text: string | Buffer, format: OverrideFormat = 'ndjson', overrides = NONE) =>
  readOverrides(typeof text === 'string' ? Buffer.from(text) : text, {
    ...{ format, file: FILE, now: NOW },
    stored: { overrides, organisationOverrides: NONE_OF_ORGANISATIONS },
  })

async function written(
  overrides: ControlState['overrides'],
  format: OverrideFormat,
  organisationOverrides = NONE_OF_ORGANISATIONS,
): Promise<string> {
  let all = ''
  for await (const some of writeOverrides({ overrides, organisationOverrides }, format, FILE, NOW)) all += some
  return all
}

async function problems(text: string | Buffer, format: OverrideFormat = 'ndjson'): Promise<string[]> {
  const result = await read(text, format)
  return 'problems' in result ? result.problems.map(({ path, msg }) => `${path}: ${msg}`) : []
}

describe.each(FORMATS)('overrides as %s', (format) => {
  it('overrides are what they were when they are read again, whatever characters the users have', async () => {
    const override = fc.record({
      limits: fc.constantFrom(
        { read: { '1h': 5 } },
        { write: { '1h': 0, '1d': 7 } },
        { read: { '1d': { limit: 1, over: 2 } }, write: { '1h': 'unlimited' as const } },
      ),
      bypassGlobal: fc.boolean(),
      shadow: fc.boolean(),
      reason: fc.constantFrom('=HYPERLINK("x")', "'why", 'because, "so"; =1', '-'),
      expiresAt: fc.constantFrom(null, NOW + 1000),
    })
    const user = fc.oneof(
      fc.constantFrom(...STRANGE_IDS, '=1+1', "'=x", '@a', '__proto__', '"', ',', ' a ', 'user'),
      fc.string({ unit: 'binary' }),
    )
    const all = fc.array(fc.tuple(user.filter(isUserId), override), { maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(all, async (of) => {
        const wanted = new Map(of)
        const text = await written(stored(...wanted), format)
        // As if nothing were in force: then each line is checked.
        const result = await read(text, format)
        if ('problems' in result) throw new Error(JSON.stringify(result.problems))
        expect(new Map([...result.wanted.users].map(([user, { all }]) => [user, all]))).toEqual(
          new Map([...wanted].map(([user, one]) => [user, [one]])),
        )
      }),
      { numRuns: 60 },
    )
  }, 60_000)

  it('the day with which months begin is written and read, of a user and of an organisation, and named with its line where it is wrong', async () => {
    const months = { name: 'month', seconds: LONGEST_SECONDS.month, calendar: { unit: 'month', zone: 'UTC' } } as const
    const options = { format, file: { ...FILE, windows: [...FILE.windows, months] }, now: NOW }
    const acme = { limits: {}, periodDay: 31, reason: 'a contract', expiresAt: null }
    const bob = limited(5, { limits: {}, periodDay: 17 })
    const organisations = new Map([['acme', { version: 3, value: acme }]])
    const text = await written(stored(['bob', bob]), format, organisations)
    const fresh = { ...options, stored: { overrides: NONE, organisationOverrides: NONE_OF_ORGANISATIONS } }
    const result = await readOverrides(Buffer.from(text), fresh)
    if ('problems' in result) throw new Error(JSON.stringify(result.problems))
    expect(result.wanted.users.get('bob')?.all).toEqual([bob])
    expect(result.wanted.organisations.get('acme')?.all).toEqual([acme])
    const wrong = await readOverrides(Buffer.from(text.replace('17', '32')), fresh)
    expect('problems' in wrong && wrong.problems).toEqual([
      {
        path: format === 'csv' ? 'line 2, periodDay' : 'line 1, periodDay',
        msg: expect.stringContaining('from 1 to 31'),
      },
    ])
  })

  it('overrides that rest, since the file has their category or plan no more, are good as long as they stay as they are', async () => {
    const resting = stored(['bob', limited(5, { limits: { gone: { '1h': 5 } }, plan: 'lost' })])
    const text = await written(resting, format)
    const result = await read(text, format, resting)
    expect('wanted' in result && result.wanted.users.get('bob')?.all).toEqual([resting.get('bob')?.value])
    expect(await problems(text, format)).not.toEqual([])
  })
})

describe.each(FORMATS)('overrides of organisations as %s', (format) => {
  it('overrides of organisations stand behind those of users, a line for each layer, and are read as they were', async () => {
    const acme = { limits: { read: { '1h': 800 } }, reason: 'a fair', expiresAt: null }
    const fair = { limits: {}, factor: 1.5, reason: 'for a week', expiresAt: NOW + 1000 }
    const layer = {
      id: 'f',
      from: NOW - 1,
      until: NOW + 1000,
      value: fair,
      begun: true as const,
      who: 'ann',
      why: null,
    }
    const organisations = new Map([['acme', { version: 3, value: { ...acme, layers: [layer] } }]])
    const text = await written(stored(['acme', limited(5)]), format, organisations)
    const result = await read(text, format)
    if ('problems' in result) throw new Error(JSON.stringify(result.problems))
    expect([...result.wanted.users.keys()]).toEqual(['acme'])
    expect(result.wanted.organisations.get('acme')?.all).toEqual([acme, fair])
  })
})

describe('a file of overrides with problems', () => {
  it('a file of overrides with problems is refused for more lines of one user than may lie above each other, before their layers are worked out', async () => {
    const ending = (i: number) =>
      JSON.stringify({ user: 'a', read: { '1h': 5 }, reason: 'r', expiresAt: `2999-01-01T00:00:${10 + i}Z` })
    const told = await problems(Array.from({ length: 25 }, (_, i) => ending(i)).join('\n'))
    const tooMany = '20 overrides with an end lie above each other already: DELETE them, or leave the end out'
    expect(told).toEqual([22, 23, 24, 25].map((line) => `line ${line}, user: ${tooMany}`))
  })

  it('a file of overrides with problems has the number of the line and the field of each', async () => {
    const lines = [
      '{ "user": "a", "read": { "1h": 5 }, "reason": "r" }',
      '',
      '{ "user": "b", "read": { "1h": -5 }, "reason": "r" }',
      '{ "user": "c", "red": { "1h": 5 }, "reason": "r" }',
      '{ "user": "a", "read": { "1h": 6 }, "reason": "r" }',
      '{ "user": "", "shadow": true, "reason": "r" }',
      '{ "user": "d", "user": "e", "shadow": true, "reason": "r" }',
      '{ "user": "f", "shadow": true, "reason": "r", "expiresAt": "2020-01-01T00:00:00Z" }',
      '{ "user": "g", "organisation": "acme", "factor": 2, "reason": "r" }',
      '{ "organisation": "acme", "plan": "pro", "factor": 2, "reason": "r" }',
      '[1]',
      '{ "user": ',
    ]
    expect(await problems(lines.join('\r\n'))).toEqual([
      'line 3, read.1h: must be a whole number of tokens from 0 to 1000000000000, { "limit": 1000, "over": 200 }, or unlimited',
      expect.stringContaining('line 4, red: unknown field "red"'),
      'line 5, user: stands on line 1 already: keep one, or give it another end by expiresAt',
      expect.stringContaining('line 6, user: must be a user id'),
      'line 7, user: is here twice: keep one',
      'line 9, organisation: stands beside a user: a line is about one of them',
      expect.stringContaining('line 10, plan: unknown field "plan"'),
      'line 11: must be a JSON object, one on each line',
      expect.stringContaining('is not valid JSON: it ends too early'),
    ])
  })

  it.each([
    ['user,reason,read.2h\n', 'line 1: unknown column "read.2h"'],
    ['user,read.1h\na,5\n', 'line 1: the head has no column reason'],
    ['user,reason,user\n', 'line 1: column user is here twice'],
    ['user,reason,read.1h\na,r,5,6\n', 'line 2: has more cells than the head, which has 3'],
    ['user,reason,read.1h\n"a,r,5\nb,r,6\n', 'line 2: column 1: a quote is not closed'],
    ['user,reason,read.1h\na,r,1.5\n', 'line 2, read.1h: must be a whole number'],
    ['user,reason,shadow\na,r,perhaps\n', 'line 2, shadow: must be true or false'],
    [`user,reason\n${','.repeat(1_000_000)}\n`, 'line 2: has 1000000 bytes: a line has at most 16384'],
    [`user,reason\na,"${'x'.repeat(9_000_000)}`, 'line 2: has'],
    [','.repeat(16_000), 'line 1: the head has more than'],
  ])('as CSV: %.30s', async (text, problem) => {
    expect((await problems(text, 'csv'))[0]).toContain(problem)
  })

  it('a file of overrides with problems that is no UTF-8 has it named, and a mark at its beginning is passed over', async () => {
    expect(await problems(Buffer.from([0x7b, 0xff, 0x7d]))).toEqual(['line 1: is no UTF-8: save the file as UTF-8'])
    expect(await problems('\uFEFFuser,reason,shadow\na,r,TRUE\n', 'csv')).toEqual([])
  })

  it('a file of overrides with problems has fifty of them described, and the lines after these are not looked at', async () => {
    const found = await problems('x\n'.repeat(100_000))
    expect(found).toHaveLength(51)
    expect(found.at(-1)).toContain('were not looked at')
  })

  it('a file of overrides with problems may be nested as deeply as a line is long', async () => {
    expect((await problems(`{"user":"a","read":${'['.repeat(8000)}${']'.repeat(8000)}}`))[0]).toContain('line 1, read')
  })
})

describe('what a file changes', () => {
  const before = {
    version: 7,
    overrides: stored(['a', limited(1)], ['b', limited(2)], ['c', limited(3)]),
    organisationOverrides: NONE_OF_ORGANISATIONS,
  }
  const lines = (of: Record<string, number>): string =>
    Object.entries(of)
      .map(([user, limit]) => JSON.stringify({ user, read: { '1h': limit }, reason: limited(1).reason }))
      .join('\n')
  const changes = async (text: string, merge = false) => {
    const result = await read(text)
    if ('problems' in result) throw new Error(JSON.stringify(result.problems))
    return overrideChanges(before, result.wanted, merge, 'ann', NOW)
  }

  it('what a file changes is counted, and what stays as it is keeps its version', async () => {
    const { counts, next } = await changes(lines({ a: 1, b: 5, d: 9 }))
    expect(counts).toEqual({ added: 1, changed: 1, removed: 1, unchanged: 1 })
    expect([...next.overrides].map(([user, { version }]) => [user, version])).toEqual([
      ['a', 1],
      ['b', 8],
      ['d', 8],
    ])
  })

  it('what a file changes leaves users alone whom it does not name, if it is merged', async () => {
    const { counts, next } = await changes(lines({ b: 5 }), true)
    expect(counts).toEqual({ added: 0, changed: 1, removed: 0, unchanged: 2 })
    expect([...next.overrides.keys()]).toEqual(['a', 'b', 'c'])
    expect(changesNothing(await changes(lines({ a: 1, b: 2, c: 3 })))).toBe(true)
  })

  it('what a file changes is a small sample in the audit, which says whether it is whole', async () => {
    const many = Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`user-${i}`, i]))
    const staged: number[] = []
    const store = { stageOverrides: async (_: string, some: readonly unknown[]) => void staged.push(some.length) }
    const change = await stageChanges(store, await changes(lines(many)), { merge: false })
    expect(change).toMatchObject({
      base: 7,
      count: 3000,
      from: { total: 3 },
      to: { total: 3000, added: 3000, whole: false },
    })
    expect(JSON.stringify(change).length).toBeLessThan(20_000)
    expect(Math.max(...staged)).toBeLessThanOrEqual(500)
    expect(staged.reduce((sum, some) => sum + some, 0)).toBe(3000)
    const small = await stageChanges(store, await changes(lines({ a: 1, b: 2 })), {})
    expect(small).toMatchObject({ from: { overrides: { c: limited(3) } }, to: { whole: true, overrides: { c: null } } })
  })
})
