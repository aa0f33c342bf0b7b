import { describe } from 'vitest'
import { follow } from './follow.ts'
import { emptyFolder } from './scenes.ts'

describe('docs/troubleshooting.md, in an empty folder', () => follow('docs/troubleshooting.md', emptyFolder))
