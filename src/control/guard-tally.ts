import { randomBytes } from 'node:crypto'
import type { Guard } from './state.ts'

/**
 * Requests that the quota has charged or refused since a guarded change. They are weighed by caller, so that no single caller
 * decides whether the change stays:
 * - a caller counts for at most a tenth of the requests of all others, however many it sends
 * - one caller contributes at most a fifth of the refusals that take a change back. With fewer than nine callers it is at most
 *   one part in half their number, for example a quarter with eight callers, and with fewer than five it is at most a half
 *
 * Each process weighs its own requests. Both bounds hold for the sum over all processes too.
 */
export interface GuardCounts {
  /** Weighed, so these are no whole numbers. */
  readonly requests: number
  readonly refused: number
}

/** Keeps what processes have counted for guards. Every implementation passes test/control/guard-store.suite.ts. */
export interface GuardStore {
  /**
   * Replaces the total that a process has counted so far.
   * @param running all guards that run, so that counts for others may be forgotten. Default this one
   * @returns the sum over all processes
   * @throws StoreError
   */
  countForGuard(guard: string, instance: string, counts: GuardCounts, running?: readonly string[]): Promise<GuardCounts>
  /** The sum over all processes. @throws StoreError */
  readGuard(guard: string): Promise<GuardCounts>
}

export interface GuardTally {
  count(caller: string, isRefused: boolean): void
  /** @param bound the share of requests that may be refused */
  weighed(bound: number): GuardCounts
}

/** Fewer weighed requests than this decide nothing. */
const LEAST_REQUESTS = 50

const OTHERS_SHARE = 0.1
const MOST_CALLERS = 5
/** Callers in the same slot are weighed as one, which bounds the memory for any number of callers. A power of 2. */
const SLOTS = 4096

export function createGuardTally(): GuardTally {
  const all = new Uint32Array(SLOTS)
  const refused = new Uint32Array(SLOTS)
  // With the seed nobody can choose an id in the slot of another caller.
  const seed = randomBytes(4).readUInt32LE()

  function weighed(bound: number): GuardCounts {
    const total = sum(all, (count) => count)
    const callers = sum(all, (count) => Math.min(1, count))
    const weightOf = (count: number): number => Math.min(1, ((total - count) * OTHERS_SHARE) / count)
    const requests = sum(all, (count) => count * weightOf(count))
    const needed = Math.min(MOST_CALLERS, Math.max(2, Math.ceil(callers / 2)))
    const most = (requests * bound) / needed
    return { requests, refused: sum(all, (count, slot) => Math.min(most, (refused[slot] ?? 0) * weightOf(count))) }
  }

  return {
    count(caller, isRefused) {
      const slot = slotOf(caller, seed)
      all[slot] = (all[slot] ?? 0) + 1
      if (isRefused) refused[slot] = (refused[slot] ?? 0) + 1
    },
    weighed,
  }
}

/** Whether so many requests were refused that the change is taken back. */
export function trips({ requests, refused }: GuardCounts, guard: Pick<Guard, 'refused'>): boolean {
  // Sums of fractions may be slightly below the bound that they reach.
  return requests >= LEAST_REQUESTS && refused >= requests * guard.refused * (1 - 1e-9)
}

export function addedUp(counts: Iterable<GuardCounts>): GuardCounts {
  let [requests, refused] = [0, 0]
  for (const one of counts) {
    requests += one.requests
    refused += one.refused
  }
  return { requests, refused }
}

function sum(counts: Uint32Array, of: (count: number, slot: number) => number): number {
  let result = 0
  for (let slot = 0; slot < SLOTS; slot++) {
    const count = counts[slot] as number
    if (count > 0) result += of(count, slot)
  }
  return result
}

/** Hashes with FNV-1a. */
function slotOf(caller: string, seed: number): number {
  let hash = 0x811c9dc5 ^ seed
  for (let i = 0; i < caller.length; i++) hash = Math.imul(hash ^ caller.charCodeAt(i), 0x01000193)
  return (hash ^ (hash >>> 16)) & (SLOTS - 1)
}
