import { ring } from './client.ts'

/** Whether anybody uses the tab: one that is only on a screen reads more seldom. */

/** Without a pointer, key or touch for so long, in milliseconds, a tab is at rest. */
const REST_AFTER_MS = 30_000

const USES = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'focus'] as const

let usedAt = Date.now()

export function isAtRest(): boolean {
  return Date.now() - usedAt > REST_AFTER_MS
}

/** Whoever comes back sees what is so now. */
function use(): void {
  const wasAtRest = isAtRest()
  usedAt = Date.now()
  if (wasAtRest) ring('again')
}

for (const type of USES) window.addEventListener(type, use, { capture: true, passive: true })
