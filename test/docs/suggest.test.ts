import { describe } from 'vitest'
import { follow } from './follow.ts'
import { emptyFolder } from './scenes.ts'

describe('docs/suggest.md, in an empty folder', () => follow('docs/suggest.md', emptyFolder))
