import { describe } from 'vitest'
import { follow } from './follow.ts'
import { demo } from './scenes.ts'

describe('docs/tuning.md, beside the demo', () => follow('docs/tuning.md', demo))
