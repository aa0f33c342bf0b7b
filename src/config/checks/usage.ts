import { MOST_RUNS } from '../../quota/history.ts'
import type { PartialConfig } from '../partial.ts'
import type { Finding, Path } from '../problems.ts'
import { formatDuration } from '../units.ts'
import { toWindows, windowsOf } from '../window-lengths.ts'

/** The size of a run in bytes. */
const RUN = 12
/** The largest history in bytes that gets no warning. For 100,000 users, one category of this size takes 1.6 GB. */
const LARGE = 16_384

/** No history may exceed what a store keeps, and a large one gets a warning. @param lineOf the line of a path, `null` if missing */
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
