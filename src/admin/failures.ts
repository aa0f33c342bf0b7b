import { BUCKET_MS, type FailureStore, fullHistory } from '../failures/histogram.ts'
import { ok, type Route } from './answer.ts'

/** The failure histogram: all 336 buckets, oldest first; the last one is still being counted. */
export function failureRoutes(readTallies: FailureStore['readTallies']): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/failures',
      guard: 'token',
      async handle() {
        const { at, buckets } = await readTallies()
        const history = fullHistory(buckets, at)
        return ok({
          since: iso(history[0]?.start ?? at),
          until: iso(at),
          bucketMinutes: BUCKET_MS / 60_000,
          buckets: history.map(({ start, total, status0, status5xx }) => ({
            start: iso(start),
            total,
            status0,
            status5xx,
          })),
        })
      },
    },
  ]
}

function iso(at: number): string {
  return new Date(at).toISOString()
}
