import * as schemas from '../../contract/admin.ts'
import type { FailuresResponse } from '../../contract/api.ts'
import { BUCKET_MS, type FailureStore, fullHistory } from '../../failures/histogram.ts'
import { iso, ok, type Route } from '../http.ts'
import { route } from '../route.ts'

/** The failure histogram: all 336 buckets, oldest first. The last one is still being counted. */
export function failureRoutes(store: Pick<FailureStore, 'readTallies'>): Route[] {
  return [
    route('GET', '/api/failures', {
      summary: 'Forwarded requests and failures of the last 7 days, for each half hour',
      responses: { 200: schemas.failures },
      async handle() {
        const { at, buckets } = await store.readTallies()
        const history = fullHistory(buckets, at)
        const response: FailuresResponse = {
          since: iso(history[0]?.start ?? at),
          until: iso(at),
          bucketMinutes: BUCKET_MS / 60_000,
          buckets: history.map(({ start, total, status0, status5xx }) => ({
            start: iso(start),
            total,
            status0,
            status5xx,
          })),
        }
        return ok(response)
      },
    }),
  ]
}
