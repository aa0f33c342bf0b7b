import { setImmediate as turn } from 'node:timers/promises'
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { makeNext } from '../../control/rounds.ts'

/**
 * A process that makes one change after the other in a file (its argument) and prints the number before each once all is there for it. It ends
 * by the broken pipe when nobody reads any more, which it only notices between turns.
 */
const store = openSqliteStore({ file: process.argv[2] ?? '' })
for (; ; await turn()) await makeNext(store, (_, version) => void process.stdout.write(`${version}\n`))
