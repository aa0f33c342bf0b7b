import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { makeNext } from '../../control/rounds.ts'

/** A process that makes one change after the other in a file (its argument) and prints the number before each once all is there for it. */
const store = openSqliteStore({ file: process.argv[2] ?? '' })
for (;;) await makeNext(store, (_, version) => void process.stdout.write(`${version}\n`))
