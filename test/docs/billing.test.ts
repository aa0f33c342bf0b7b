import { describe } from 'vitest'
import { follow } from './follow.ts'
import { used } from './scenes.ts'

describe('docs/billing.md, where no gateway runs', () => follow('docs/billing.md', used))
