import { describe } from 'vitest'
import { follow } from './follow.ts'
import { emptyFolder } from './scenes.ts'

describe('docs/callers.md, in an empty folder', () => follow('docs/callers.md', emptyFolder))
