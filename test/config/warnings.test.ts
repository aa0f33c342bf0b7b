import fc from 'fast-check'
import { expect, test } from 'vitest'
import { planRulesOf } from '../../src/app/plan-rules.ts'
import type { Config } from '../../src/config/config.ts'
import { parseConfig } from '../../src/config/load.ts'
import type { Problem } from '../../src/config/problems.ts'
import { plan } from '../../src/gateway/plan.ts'
import { runs } from '../setup/runs.ts'

/** Warnings about the route map are held against what the gateway does with the requests that they name, both ways. */

const SERVED = ['GET', 'POST', 'OPTIONS', 'PURGE']
const segment = fc.constantFrom('a', 'A', 'b', ':p')
const pattern = fc
  .record({
    methods: fc.constantFrom('GET', 'POST', 'OPTIONS', 'GET|POST', '*', '*'),
    segments: fc.array(segment, { maxLength: 2 }),
    end: fc.constantFrom('', '/', '/*', '/*'),
  })
  .map(({ methods, segments, end }) => {
    const named = segments.map((text, i) => (text === ':p' ? `:p${i}` : text))
    return `${methods} /${named.join('/')}${named.length === 0 ? end.slice(1) : end}`
  })
const access = fc.oneof(
  fc.nat(3).map((cost) => ({ category: 'read', cost })),
  fc.constant({ public: true }),
)
const routes = fc.uniqueArray(
  fc.record({ match: pattern, access }).map(({ match, access }) => ({ match, ...access })),
  { maxLength: 8, selector: ({ match }) => match.replace(/^\S+ /, '').replaceAll(/:p\d/g, ':') },
)
const unmatched = fc.constantFrom<unknown>('refuse', 'forward', { category: 'read', cost: 1 })

/** All that the patterns above can tell apart, one segment deeper than they are. */
const PATHS = pathsOf(3)
function pathsOf(depth: number): string[] {
  if (depth === 0) return ['', '/']
  return ['', '/', ...['a', 'A', 'b', 'x', 'X'].flatMap((text) => pathsOf(depth - 1).map((rest) => `/${text}${rest}`))]
}

const LIMITS = 'quota: { baselines: { personal: { read: { 1h: 100 } } } }\n'

async function load(map: { readonly routes: readonly object[]; readonly unmatched: unknown }) {
  const lines = map.routes.map((route) => `  - ${JSON.stringify(route)}`)
  const yaml = `upstream: { url: "http://127.0.0.1:9000" }\nunmatched: ${JSON.stringify(map.unmatched)}\nroutes:\n${lines.join('\n')}\n${LIMITS}`
  const loaded = parseConfig(lines.length === 0 ? yaml.replace('routes:\n', '') : yaml, 'f', {})
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return { warnings: loaded.warnings, ask: await asker(loaded.config) }
}

/** What the gateway does with a request: the line of the rule, and its cost, which is -1 if it needs no credential; `null` if it is refused. */
async function asker(config: Config) {
  const rules = await planRulesOf(config)
  return (method: string, path: string) => {
    const planned = plan(rules, {
      method,
      target: path,
      bodyBytes: 0,
      isUpgrade: false,
      isLastHop: false,
      preflight: null,
    })
    if (planned.kind !== 'route') return null
    const { tariff, line } = planned.route
    return { line: line ?? 2, cost: tariff?.price.kind === 'fixed' ? tariff.price.cost : -1 }
  }
}

const SPELLING =
  /^((?:\w+ \S+?(?:, | and |(?= would)))+) would cost (\d+|nothing and need no credential) here instead of (\d+) \(.*, line (\d+)\)\./

test('a request that a warning names costs what the warning says, and less than in the spelling of the rule', async () => {
  await fc.assert(
    fc.asyncProperty(routes, unmatched, async (routes, unmatched) => {
      const { warnings, ask } = await load({ routes, unmatched })
      for (const { line, message } of warnings.filter(({ message }) => message.includes(' would cost '))) {
        const [, requests = '', instead, costs, dear] = SPELLING.exec(message) ?? []
        const cost = instead === 'nothing and need no credential' ? -1 : Number(instead)
        expect(cost, message).toBeLessThan(Number(costs))
        for (const [method = '', path = ''] of requests.split(/, | and /).map((request) => request.split(' '))) {
          expect(ask(method, path), message).toEqual({ line, cost })
          const same = PATHS.filter((other) => fold(other) === fold(path)).map((other) => ask(method, other))
          expect(same, message).toContainEqual({ line: Number(dear), cost: Number(costs) })
        }
      }
    }),
    { numRuns: runs(300) },
  )
}, 60_000)

function fold(path: string): string {
  return path
    .toLowerCase()
    .replaceAll('.', '')
    .replace(/(?<=.)\/$/, '')
}

test('no spelling is cheaper by a rule without a warning', async () => {
  await fc.assert(
    fc.asyncProperty(routes, unmatched, async (routes, unmatched) => {
      const { warnings, ask } = await load({ routes, unmatched })
      const warned = new Set(warnings.filter(({ message }) => message.includes(' would cost ')).map(({ line }) => line))
      for (const method of SERVED.filter((each) => each !== 'OPTIONS')) {
        for (const [i, { match }] of routes.entries()) {
          // What a `*` also matches may be cheaper on purpose, by a rule of its own.
          const path = match.replace(/^\S+ /, '').replaceAll(/:p\d|\*/g, 'x')
          const dear = ask(method, path)
          if (dear?.line !== i + 4) continue
          for (const other of spellings(path)) {
            const cheap = ask(method, other)
            if (cheap === null || cheap.line === dear.line || cheap.cost >= dear.cost) continue
            expect(warned, `${method} ${path}: ${dear.cost}, ${method} ${other}: ${cheap.cost}`).toContain(cheap.line)
          }
        }
      }
    }),
    { numRuns: runs(300) },
  )
}, 60_000)

/** With the case of one segment changed, a dot behind it, or a slash at the end. */
function spellings(path: string): string[] {
  const segments = path.split('/')
  const cases = segments.flatMap((text, i) => [
    segments.with(i, text.toUpperCase()),
    segments.with(i, text.toLowerCase()),
    segments.with(i, text === '' ? '' : `${text}.`),
  ])
  return [...cases.map((each) => each.join('/')), `${path}/`.replace('//', '/')].filter((other) => other !== path)
}

test('a rule has the warning that it never matches exactly if no request gets to it', async () => {
  await fc.assert(
    fc.asyncProperty(routes, async (routes) => {
      const { warnings, ask } = await load({ routes, unmatched: 'refuse' })
      const reached = new Set(PATHS.flatMap((path) => SERVED.map((method) => ask(method, path)?.line)))
      const lines = routes.map((_, i) => i + 4)
      expect(warnings.filter(neverMatches).map(({ line }) => line)).toEqual(lines.filter((line) => !reached.has(line)))
    }),
    { numRuns: runs(300) },
  )
}, 60_000)

function neverMatches({ message }: Problem): boolean {
  return message.startsWith('never matches')
}

const PREFLIGHT = /^OPTIONS (\S+) is matched by .* add (\{ match: "OPTIONS .*", public: true \})/

test('an open rule for preflights has a warning exactly if a rule for any method charges one of them, and the cure that it names is one', async () => {
  const access = fc.record({ category: fc.constant('read'), cost: fc.constant(1) })
  const charged = fc.uniqueArray(
    fc.record({ match: pattern, access }).map(({ match, access }) => ({ match, ...access })),
    { maxLength: 5, selector: ({ match }) => match.replace(/^\S+ /, '').replaceAll(/:p\d/g, ':') },
  )
  // Together they take every request of the open rule, which then never matches either.
  const hiding = ['* /', '* /:p0', '* /:p0/*'].map((match) => ({ match, category: 'read', cost: 1 }))
  await fc.assert(
    fc.asyncProperty(charged, async (charged) => {
      const others = charged.filter(({ match }) => !/ \/\*$/.test(match) && !match.startsWith('OPTIONS'))
      const routes: object[] = [{ match: 'OPTIONS /*', public: true }, ...others]
      for (let more = 0; ; more++) {
        const { warnings, ask } = await load({ routes, unmatched: 'refuse' })
        const found = warnings.map(({ message }) => PREFLIGHT.exec(message)).find((match) => match !== null)
        const charges = PATHS.slice(1).filter((path) => (ask('OPTIONS', path)?.cost ?? -1) >= 0)
        expect(found != null, charges.join()).toBe(charges.length > 0)
        if (found == null) return
        expect(charges, found[0]).toContain(found[1]?.replaceAll('xx', 'x'))
        expect(more).toBeLessThanOrEqual(others.length)
        routes.push(JSON.parse((found[2] ?? '').replace(/(\w+):/, '"$1":').replace(', public', ', "public"')))
      }
    }),
    { numRuns: runs(100), examples: [[hiding]] },
  )
}, 60_000)

test.each([65, 100_000])('a rule of %i segments is a problem, and one of 64 is found', async (depth) => {
  const rule = (segments: number) => ({ match: `GET ${'/a'.repeat(segments)}`, category: 'read', cost: 1 })
  const message = expect.stringMatching(new RegExp(`has ${depth} segments, and 64 are the most: end it earlier`))
  const yaml = `upstream: { url: "http://127.0.0.1:9000" }\nroutes:\n  - ${JSON.stringify(rule(depth))}\n`
  expect(parseConfig(yaml, 'f', {})).toMatchObject({ ok: false, problems: [{ line: 3, message }] })
  const { warnings, ask } = await load({ routes: [rule(64)], unmatched: 'refuse' })
  expect(warnings).toEqual([])
  expect([ask('GET', '/a'.repeat(64)), ask('GET', '/a'.repeat(65))]).toEqual([{ line: 4, cost: 1 }, null])
})
