import { describe } from 'vitest'
import { follow } from './follow.ts'
import { used } from './scenes.ts'

describe('docs/personal-data.md, where no gateway runs', () => follow('docs/personal-data.md', used))
