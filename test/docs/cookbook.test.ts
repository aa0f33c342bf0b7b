import { describe } from 'vitest'
import { follow } from './follow.ts'
import { busy } from './scenes.ts'

describe('docs/cookbook.md, beside a gateway with users', () => follow('docs/cookbook.md', busy))
