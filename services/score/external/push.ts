import type { Backend } from '../backend.ts'
import { isRefusal, type Refusal } from '../errors.ts'
import type { Ask, Outbound, Platform, Reason, Skipped } from './platform.ts'
import { reportOf } from './report.ts'

interface Destination {
  readonly platform: Platform
  readonly ask: Ask
  readonly player: number
  readonly batch: number
}

/**
 * Sends the user's stored scores. The platform keeps each as it is sent, also in place of a better one.
 * @param unread charts that are left out, because the platform has scores of them that could not be read
 */
export async function push(
  backend: Backend,
  { platform, ask, player, batch }: Destination,
  unread: ReadonlyMap<string, Reason>,
): Promise<object | Refusal> {
  const { stored, ready, skipped } = await prepare(backend, platform, player, unread)
  let accepted = 0
  for (const part of batchesOf(ready, batch)) {
    const result = await platform.push(ask, part)
    if (isRefusal(result)) return accepted === 0 ? result : soFar(result, accepted, ready.length)
    accepted += result.accepted
    skipped.push(...result.skipped)
  }
  return { sent: ready.length, accepted, ...reportOf(Math.max(stored - accepted, 0), skipped) }
}

async function prepare(
  { store, catalogue }: Backend,
  platform: Platform,
  player: number,
  unread: ReadonlyMap<string, Reason>,
) {
  const scores = await store.read(() => store.scores.list(player))
  const ready: Outbound[] = []
  const skipped: Skipped[] = []
  for (const score of scores) {
    const name = platform.nameFor(score)
    const chart = catalogue.chart(score.musicId, score.level)
    const wire =
      chart === undefined
        ? 'music_not_found'
        : (unread.get(`${score.musicId}/${score.level}`) ?? platform.write(score, chart))
    if (typeof wire === 'string') skipped.push({ ...name, reason: wire })
    else ready.push({ name, wire })
  }
  return { stored: scores.length, ready, skipped }
}

/** @param size 0 for one batch of all */
function batchesOf<T>(list: readonly T[], size: number): T[][] {
  const step = size === 0 ? list.length : size
  const batches: T[][] = []
  for (let start = 0; start < list.length; start += step) batches.push(list.slice(start, start + step))
  return batches
}

function soFar(refusal: Refusal, accepted: number, all: number): Refusal {
  return { ...refusal, msg: `${refusal.msg}; ${accepted} of ${all} records had been accepted` }
}
