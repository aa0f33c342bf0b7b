import { ring } from './client.ts'

/** Whether anybody uses the tab. A tab that is only visible reads less often. */

/** After this many milliseconds without a pointer, key or touch a tab is at rest. */
const REST_AFTER_MS = 30_000

const USES = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'focus'] as const

let usedAt = Date.now()

export function isAtRest(): boolean {
  return Date.now() - usedAt > REST_AFTER_MS
}

/** A person who comes back sees the present state. */
function use(): void {
  const wasAtRest = isAtRest()
  usedAt = Date.now()
  if (wasAtRest) ring('again')
}

for (const type of USES) window.addEventListener(type, use, { capture: true, passive: true })
