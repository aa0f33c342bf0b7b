import { addRuns, LONGEST_HISTORY } from '../../src/store/packed-history.ts'

const HOUR = 3_600_000
const KEPT_SECONDS = 10 ** 8

/** An hour's run of `read`, so many hours after the first one. */
export const runOf = (first: number, hours: number) => ({
  ...{ seconds: 3600, startedAt: first + hours * HOUR, used: 7, keptSeconds: KEPT_SECONDS },
})

/** A history that is too long by 35 bytes, and so by three runs: ten of `read`, and those of two other windows. */
export function overlongHistory(first: number): Buffer {
  let bytes: Buffer = Buffer.alloc(0)
  for (let i = 0; i < 10; i++) bytes = addRuns(bytes, 'read', [runOf(first, i)], first)
  const runs = Math.ceil((LONGEST_HISTORY - bytes.length) / 12)
  return Buffer.concat([bytes, sectionOf('x', first, runs - 60_000), sectionOf('y', first, 60_000)])
}

function sectionOf(category: string, startedAt: number, runs: number): Buffer {
  const head = 2 + 10
  const bytes = Buffer.alloc(head + 12 * runs)
  bytes[0] = 1
  bytes.write(category, 1)
  bytes.writeUInt32BE(3600, 2)
  bytes.writeUInt32BE(KEPT_SECONDS, 6)
  bytes.writeUInt16BE(runs, 10)
  for (let i = 0; i < runs; i++) bytes.writeUIntBE(startedAt, head + 12 * i, 6)
  return bytes
}
