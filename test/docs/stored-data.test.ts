import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import type { EndingList } from '../../src/store/endings.ts'
import { createKeys } from '../../src/store/redis/keys.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { SeriesKind } from '../../src/usage/series.ts'

/** `docs/stored-data.md` has a row for each key of Redis and each table of SQLite, and no other rows. */

const [redis = '', sqlite = ''] = readFileSync('docs/stored-data.md', 'utf8').split('## SQLite')

/** What stands in code at the beginning of each row behind a header. */
function rowsUnder(header: string, text: string): string[] {
  const table = text.split(header)[1]?.split('\n\n')[0] ?? ''
  return [...table.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name = '']) => name).sort()
}

/** What the rows call that which a name ends in. */
const OF: Readonly<Record<string, string>> = {
  user: 'USER',
  organisation: 'ORGANISATION',
  history: 'USER',
  organisationHistory: 'ORGANISATION',
  everybody: 'CATEGORY',
  instance: 'INSTANCE',
  flush: 'INSTANCE',
  once: 'HASH',
  forgottenUser: 'HASH',
  olderAudit: 'KIND',
  stagedOverrides: 'NAME',
  stagedOrganisationOverrides: 'NAME',
  guard: 'GUARD',
  claim: 'PLACE',
  alertDue: 'ALERT',
  alertAll: 'ALERT',
  alertDone: 'ALERT',
  alertEvents: 'ALERT',
}

const ENDINGS: Readonly<Record<EndingList, string>> = {
  known: 'USER',
  member: 'USER',
  named: 'ORGANISATION',
  'ended-session': 'ID',
  handover: 'ID',
  'key-set': 'HASH',
}

test('each key of Redis has a row', () => {
  const { all, changes, ...keys } = createKeys('prefix')
  const { series, seriesDays: _beginning, ending, ...others } = keys
  const names = Object.entries(others).map(([key, name]) => (typeof name === 'string' ? name : name(OF[key] ?? '?')))
  for (const zone of [null, 'ZONE']) names.push(series('KIND' as SeriesKind, 'START' as unknown as number, zone))
  for (const [list, id] of Object.entries(ENDINGS)) names.push(ending(list as EndingList, id))
  expect(rowsUnder('| Key | Type |', redis)).toEqual(names.map((name) => name.replace(all, '')).sort())
  expect(redis).toContain(`\`${changes}\``)
})

test('each table of SQLite has a row', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'tollgate-')), 'tollgate.db')
  await openSqliteStore({ file }).close()
  const database = new DatabaseSync(file, { readOnly: true })
  const tables = database.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`).all()
  database.close()
  expect(rowsUnder('| Table | Key |', sqlite)).toEqual(tables.map(({ name }) => name))
})
