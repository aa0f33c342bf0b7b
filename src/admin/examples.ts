import type { Examples } from './example.ts'
import { machine } from './examples/machine.ts'
import { organisations } from './examples/organisations.ts'
import { quota } from './examples/quota.ts'
import { records } from './examples/records.ts'
import { users } from './examples/users.ts'
import { watching } from './examples/watching.ts'

/** One example of every route. All show the same gateway on the same day. */
export const EXAMPLES: Examples = { ...machine, ...quota, ...users, ...organisations, ...watching, ...records }
