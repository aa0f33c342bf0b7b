import { BUCKET_MS } from './histogram.ts'

/**
 * Decides whose requests count for the state of the upstream. One client can send as many requests as it likes, and these must not
 * move the limits of others.
 *
 * So a voice (a user) is heard three times at once and then once in four minutes. That makes ten times in a half hour,
 * however much anybody sends. Where ten more requests only make the share count more (`min_requests`), they move the
 * factor by 0.05 at most.
 *
 * The failures of one voice may also be caused by that voice. Its failures are heard only as far as others fail twice as
 * often. In an outage nearly all failures count, and the failures of one voice alone do not count at all.
 *
 * Each process weighs the requests that it forwards itself, because the sums of the store know no voices.
 */
export interface Voices {
  /** Whether a forwarded request is heard. */
  hear(voice: string, failed: boolean): boolean
}

/** The voice of all requests that cost nothing, because anybody can send them, from many addresses. No user has this id. */
export const UNCHARGED = ''

const AT_ONCE = 3
const EVERY_MS = 4 * 60_000
/** How many failures of others are needed for each failure of a voice that is heard. */
const OTHERS = 2
/** Voices of one slot are weighed as one, so that any number of voices needs the same memory. A power of 2. */
const SLOTS = 4096

/** Failures of a half hour: of all voices, and by slot. */
interface Half {
  failed: number
  readonly own: Uint32Array
  /** The failures in `own` that were heard. */
  readonly heard: Uint32Array
}

/** @param now a clock in monotonic milliseconds */
export function createVoices(now: () => number): Voices {
  /** For each slot, the moment at which it has all its turns again. */
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

  /** Begins a new half hour if one is over. @returns the share of the half hour before that lies within the last 30 minutes, 0 to 1 */
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

/** FNV-1a. A user who chooses an id that falls into the slot of another user is heard less, too. */
function slotOf(voice: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < voice.length; i++) hash = Math.imul(hash ^ voice.charCodeAt(i), 0x01000193)
  return (hash ^ (hash >>> 16)) & (SLOTS - 1)
}
