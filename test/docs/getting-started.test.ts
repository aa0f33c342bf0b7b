import { describe } from 'vitest'
import { follow } from './follow.ts'
import { emptyFolder } from './scenes.ts'

describe('docs/getting-started.md, in an empty folder', () => follow('docs/getting-started.md', emptyFolder))
