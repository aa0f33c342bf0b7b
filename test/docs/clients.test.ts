import { afterAll, describe } from 'vitest'
import { follow, type Scene } from './follow.ts'
import { demo } from './scenes.ts'

/** One demo for all of these: it takes a while to start. Each goes on with what those before have used. */
let running: Scene | undefined
afterAll(() => running?.close())

async function theDemo(): Promise<Scene> {
  running ??= await demo()
  return { ...running, close: async () => {} }
}

describe('docs/clients.md, beside the demo', () => follow('docs/clients.md', theDemo))
describe('docs/client-data.md, beside the demo', () => follow('docs/client-data.md', theDemo))
describe('docs/scores.md, beside the demo', () => follow('docs/scores.md', theDemo))
