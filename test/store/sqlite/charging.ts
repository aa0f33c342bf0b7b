import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { insisting } from './insisting.ts'

/**
 * A process that charges the file of its first argument for the user of its second, one token after another, and prints
 * a line for each accepted charge once it has the decision. It ends after as many as its third argument says, or never.
 */
const [file = '', user = '', most = 'Infinity'] = process.argv.slice(2)
const store = openSqliteStore({ file })
const limits = {
  personal: [{ window: { name: '1d', seconds: 86_400 }, limit: 10 ** 9 }],
  organisation: null,
  global: [{ window: { name: '1d', seconds: 86_400 }, limit: 10 ** 9 }],
}
for (let sequence = 1; sequence <= Number(most); sequence++) {
  const charges = [{ user, organisation: null, category: 'read', cost: 1, limits }]
  const [decision] = await insisting(() => store.settle({ instance: user, sequence, refunds: [], charges }))
  // Waits for a test that reads slower than this charges.
  if (decision?.accepted) await new Promise((done) => process.stdout.write('accepted\n', done))
}
await store.close()
