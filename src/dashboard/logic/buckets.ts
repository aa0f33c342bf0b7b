import type { FailuresResponse } from '../../admin/api.ts'

/** A half-hour of the chart. */
export interface Bucket {
  readonly from: Date
  readonly to: Date
  readonly total: number
  readonly status0: number
  readonly status5xx: number
}

export function bucketsOf({ buckets, bucketMinutes }: FailuresResponse): Bucket[] {
  return buckets.map(({ start, total, status0, status5xx }) => {
    const from = new Date(start)
    return { from, to: new Date(from.getTime() + bucketMinutes * 60_000), total, status0, status5xx }
  })
}

/** Where a key of the keyboard leads from a bar: one bar, one day, or an end. `null` for other keys. */
export function moved(key: string, at: number, count: number, aDay: number): number | null {
  const steps: Readonly<Record<string, number>> = {
    ArrowLeft: -1,
    ArrowDown: -1,
    ArrowRight: 1,
    ArrowUp: 1,
    PageDown: -aDay,
    PageUp: aDay,
    Home: -count,
    End: count,
  }
  const step = steps[key]
  return step === undefined ? null : Math.min(count - 1, Math.max(0, at + step))
}
