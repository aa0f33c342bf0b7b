import { describe } from 'vitest'
import { follow } from './follow.ts'
import { emptyFolder } from './scenes.ts'

describe('docs/replay.md, in an empty folder', () => follow('docs/replay.md', emptyFolder))
