import type { PartialConfig } from '../partial.ts'
import type { Finding, Path } from '../problems.ts'
import { formatDuration } from '../units.ts'
import { toWindows, windowsOf } from '../window-lengths.ts'

/** Runs of one window that a store keeps at most (store/packed-history.ts). */
const MOST_RUNS = 3000
/** Bytes of a run. */
const RUN = 12
/** A history of so many bytes for each category of each user is more than most mean: of 100,000 users it is 1.6 GB. */
const LARGE = 16_384

/** That what the file asks for is no more than a store keeps, and not large. @param lineOf the line of a path, `null` if the file lacks it */
export function checkUsage(
  { quota, usage: { keep, shorter } }: Pick<PartialConfig, 'quota' | 'usage'>,
  lineOf: (path: Path) => number | null,
): Finding[] {
  if (lineOf(['usage']) === null || !('windows' in quota) || keep === undefined || shorter === undefined) return []
  const windows = toWindows(windowsOf(quota)).filter(({ seconds }) => seconds > 0)
  const longest = Math.max(...windows.map(({ seconds }) => seconds))
  const kept = windows.map(({ name, seconds }) => {
    const key = seconds === longest ? 'keep' : 'shorter'
    const forMs = key === 'keep' ? keep : shorter
    return { name, key, forMs, runs: Math.ceil(forMs / (seconds * 1000)) }
  })
  for (const { name, key, forMs, runs } of kept) {
    if (runs <= MOST_RUNS) continue
    const message = `comes to ${runs} runs of window ${name} in ${formatDuration(forMs)}, and a store keeps the last ${MOST_RUNS}: shorten it`
    return [{ path: ['usage', key], severity: 'warning', message }]
  }
  const bytes = RUN * kept.reduce((sum, { runs }) => sum + runs, 0)
  if (bytes <= LARGE) return []
  const [largest] = kept.toSorted((a, b) => b.runs - a.runs)
  const message = `comes to ${largest?.runs} runs of window ${largest?.name}, so the history of a user takes up to ${Math.round(bytes / 1000)} KB for each category: shorten it, or give the store the memory`
  return [{ path: ['usage', largest?.key ?? 'keep'], severity: 'warning', message }]
}
