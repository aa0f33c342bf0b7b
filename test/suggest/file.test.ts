import { describe, expect, test } from 'vitest'
import { parseConfig } from '../../src/config/load.ts'
import { JournalBuilder } from '../../src/replay/journal.ts'
import { pathRequest } from '../../src/replay/server-logs.ts'
import type { Callers, Credentials, Draft } from '../../src/suggest/draft.ts'
import { textOf } from '../../src/suggest/file.ts'
import { surveyOf } from '../../src/suggest/survey.ts'

/** What the file leaves to its operator: lines that stand there as comments. */

const LIMITS = (['personal', 'global'] as const).flatMap((scope) =>
  ['1h', '1d'].map((window) => ({ scope, category: 'read', window, limit: scope === 'personal' ? 10 : 100, why: '' })),
)

function draftOf(callers: Callers, credentials: Credentials): Draft {
  const route = {
    match: 'GET /items/:id',
    category: 'read' as const,
    isPublic: false,
    isAnonymous: true,
    cost: 1,
    requests: 1,
    medianMs: null,
  }
  return { upstream: 'http://10.0.0.1:3000', callers, credentials, key: null, routes: [route], limits: LIMITS }
}

const ENVIRONMENT = { TOLLGATE_ADMIN_TOKEN: 'f'.repeat(64) }

/** A comment that is a line of the file, and the lines below it. */
const LINE = /^( *)# ((?:[a-z_]+:(?: [^ ].*)?| {2}(?:- | {2}).*))$/

function linesIn(text: string): string[] {
  return text.split('\n').filter((line) => LINE.test(line))
}

/** @param isWanted which comments become lines */
function uncommented(text: string, isWanted: (line: string) => boolean = () => true): string {
  return text
    .split('\n')
    .map((line) => (isWanted(line) ? line.replace(LINE, '$1$2') : line))
    .join('\n')
}

function problemsOf(text: string): string[] {
  const loaded = parseConfig(text, 'tollgate.yaml', ENVIRONMENT)
  const warnings = loaded.warnings.filter(({ path }) => path !== 'auth.shadow')
  return [...(loaded.ok ? [] : loaded.problems), ...warnings].map(({ message }) => message)
}

const NONE = { hasJwts: false, hasKeys: false }
const KINDS: readonly [Callers, Credentials][] = (['users', 'addresses', 'both'] as const).flatMap((callers) =>
  [NONE, { hasJwts: true, hasKeys: false }, { hasJwts: false, hasKeys: true }, { hasJwts: true, hasKeys: true }].map(
    (credentials): [Callers, Credentials] => [callers, credentials],
  ),
)

describe('a suggested file', () => {
  test.each(KINDS)('for %s with %j is good, with its comments as lines too', (callers, credentials) => {
    const text = textOf(draftOf(callers, credentials))
    expect(problemsOf(text)).toEqual([])
    for (const field of ['Authorization', 'X-API-Key']) {
      const other = field === 'Authorization' ? /unverified_keys: .*X-API/ : /unverified_keys: .*Auth|# from:/
      const whole = uncommented(text, (line) => !other.test(line))
      expect(linesIn(text).length).toBeGreaterThan(5)
      expect(problemsOf(whole)).toEqual([])
      const loaded = parseConfig(whole, 'tollgate.yaml', ENVIRONMENT)
      if (!loaded.ok) throw new Error(whole)
      const { listen, admin, auth, edge } = loaded.config
      expect([listen.port, edge.trustedProxies.length]).toEqual([8080, 1])
      expect(admin.tokens).toHaveLength(1)
      expect(auth.jwt).toHaveLength(credentials.hasJwts || !credentials.hasKeys ? 1 : 0)
      expect(auth.unverifiedKeys).toEqual(
        credentials.hasKeys ? expect.objectContaining({ kind: 'header', name: field }) : null,
      )
    }
  })

  test('a suggested file refuses no path while the quota refuses nobody', () => {
    const loaded = parseConfig(textOf(draftOf('users', NONE)), 'tollgate.yaml', ENVIRONMENT)
    expect(loaded).toMatchObject({
      config: { quota: { shadow: true }, unmatched: { kind: 'charge', shadow: true }, auth: { shadow: true } },
    })
  })

  test('a suggested file shows the credentials that the log of a trial has', () => {
    const seen = (user: string | null) => {
      const journal = new JournalBuilder()
      const reading = pathRequest({
        at: 0,
        endedAt: 0,
        method: 'GET',
        path: '/',
        address: '192.0.2.1',
        user,
        status: 200,
      })
      if (reading.kind === 'request') journal.add(reading.entry)
      return surveyOf(journal.finish()).credentials
    }
    expect(seen('key:jwt:ann')).toEqual({ hasJwts: true, hasKeys: false })
    expect(seen(`key:${'a'.repeat(43)}`)).toEqual({ hasJwts: false, hasKeys: true })
    expect([seen('ann'), seen(null)]).toEqual([NONE, NONE])
  })
})
