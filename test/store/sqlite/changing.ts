import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { insisting } from './insisting.ts'

/** A process that changes the override of a user (second argument) in a file (first) so many times (third). */
const [file = '', user = '', times = '1'] = process.argv.slice(2)
const store = openSqliteStore({ file })
const override = { limits: {}, bypassGlobal: true, shadow: false, expiresAt: null }
for (let i = 1; i <= Number(times); i++) {
  const to = { ...override, reason: `change ${i}` }
  await insisting(() => store.change({ kind: 'override', user, to }, { who: user, why: null }, null))
}
await store.close()
