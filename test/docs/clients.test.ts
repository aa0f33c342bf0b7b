import { describe } from 'vitest'
import { follow } from './follow.ts'
import { demo } from './scenes.ts'

describe('docs/clients.md, beside the demo', () => follow('docs/clients.md', demo))
describe('docs/client-data.md, beside the demo', () => follow('docs/client-data.md', demo))
