import { BUCKET_MS } from './histogram.ts'

/**
 * Whose requests say how the upstream is. What one client can send as often as it likes must not move the limits of others.
 *
 * So a voice, a user, is heard three times at once and then once in four minutes: ten times in a half hour, however much it
 * or anybody else sends. Ten more requests move the factor by 0.05 at most where they make it count more (`min_requests`).
 *
 * And what fails for one voice may be its own doing. Of a failure it is heard only as far as others fail twice as often, so
 * that in an outage nearly all failures count, and those of one voice alone not at all.
 *
 * Each process weighs what it forwards itself, as the sums of the store know no voices.
 */
export interface Voices {
  /** Of a forwarded request: whether it is heard. */
  hear(voice: string, failed: boolean): boolean
}

/** One voice for all that costs nothing: anybody can send that, from any number of addresses. No user has this id. */
export const UNCHARGED = ''

const AT_ONCE = 3
const EVERY_MS = 4 * 60_000
/** How many failures of others a heard failure of a voice needs. */
const OTHERS = 2
/** Voices of one slot are weighed as one, in the same memory for any number of them. A power of 2. */
const SLOTS = 4096

/** Failures of a half hour, in all and by slot. */
interface Half {
  failed: number
  readonly own: Uint32Array
  /** Of `own`, those that were heard. */
  readonly heard: Uint32Array
}

/** @param now monotonic milliseconds */
export function createVoices(now: () => number): Voices {
  /** By slot: when all its turns are back. */
  const rested = new Float64Array(SLOTS).fill(Number.NEGATIVE_INFINITY)
  let startedAt = now()
  let current = createHalf()
  let before = createHalf()

  function takesTurn(slot: number): boolean {
    const next = Math.max(now(), rested[slot] as number) + EVERY_MS
    if (next - now() > AT_ONCE * EVERY_MS) return false
    rested[slot] = next
    return true
  }

  /** How much of the half hour before this one lies within the last 30 minutes, 0 to 1. */
  function remainder(): number {
    const halves = Math.floor((now() - startedAt) / BUCKET_MS)
    if (halves > 0) {
      before = halves === 1 ? current : createHalf()
      current = createHalf()
      startedAt += halves * BUCKET_MS
    }
    return 1 - (now() - startedAt) / BUCKET_MS
  }

  function othersFailToo(slot: number): boolean {
    const part = remainder()
    current.failed++
    current.own[slot] = at(current.own, slot) + 1
    const others = ofOthers(current, slot) + part * ofOthers(before, slot)
    const heard = at(current.heard, slot) + part * at(before.heard, slot)
    if ((heard + 1) * OTHERS > others) return false
    current.heard[slot] = at(current.heard, slot) + 1
    return true
  }

  return {
    hear(voice, failed) {
      const slot = slotOf(voice)
      return takesTurn(slot) && (!failed || othersFailToo(slot))
    },
  }
}

function createHalf(): Half {
  return { failed: 0, own: new Uint32Array(SLOTS), heard: new Uint32Array(SLOTS) }
}

function ofOthers({ failed, own }: Half, slot: number): number {
  return failed - at(own, slot)
}

function at(counts: Uint32Array, slot: number): number {
  return counts[slot] as number
}

/** FNV-1a. Whoever chooses an id that shares a slot is heard less himself, too. */
function slotOf(voice: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < voice.length; i++) hash = Math.imul(hash ^ voice.charCodeAt(i), 0x01000193)
  return (hash ^ (hash >>> 16)) & (SLOTS - 1)
}
