import { BUCKET_MS } from './histogram.ts'

/**
 * Whose requests say how the upstream is. What a client can send as often as it likes must not move the limits of others, so
 * one voice, a user or an address, is heard once for every hundred charged requests of others in a half hour. Only charged
 * ones make room: free requests cost nothing to send.
 *
 * Each process weighs what it forwards itself: a hundredth of the requests of each is a hundredth of all of them. Of a busy
 * user it hears one request after another, as those of others come, so that a failure in the middle of a half hour shows too.
 */
export interface Voices {
  /** Of a forwarded request: whether it is heard. */
  hear(voice: string, isCharged: boolean): boolean
}

const OTHERS = 100
/** Voices of one slot are weighed as one, in the same memory for any number of them. A power of 2. */
const SLOTS = 4096

/** What was counted in a half hour. */
interface Half {
  charged: number
  /** By slot. */
  readonly own: Uint32Array
  readonly heard: Uint32Array
}

/** @param now monotonic milliseconds */
export function createVoices(now: () => number): Voices {
  let startedAt = now()
  let current = createHalf()
  let before = createHalf()

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

  return {
    hear(voice, isCharged) {
      const part = remainder()
      const slot = slotOf(voice)
      if (isCharged) charge(current, slot)
      const others = ofOthers(current, slot) + part * ofOthers(before, slot)
      const heard = at(current.heard, slot) + part * at(before.heard, slot)
      if ((heard + 1) * OTHERS > others) return false
      current.heard[slot] = at(current.heard, slot) + 1
      return true
    },
  }
}

function createHalf(): Half {
  return { charged: 0, own: new Uint32Array(SLOTS), heard: new Uint32Array(SLOTS) }
}

function charge(half: Half, slot: number): void {
  half.charged++
  half.own[slot] = at(half.own, slot) + 1
}

function ofOthers({ charged, own }: Half, slot: number): number {
  return charged - at(own, slot)
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
