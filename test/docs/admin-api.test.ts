import { describe } from 'vitest'
import { follow } from './follow.ts'
import { used } from './scenes.ts'

describe('docs/admin-api.md, where no gateway runs', () => follow('docs/admin-api.md', used))
