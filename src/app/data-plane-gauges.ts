import type { GaugeSource } from '../observe/metrics.ts'
import type { DataPlane } from './data-plane.ts'

/** Read by whoever scrapes, also before there is anything to read. */
export function dataPlaneGauges(
  plane: () => Pick<DataPlane, 'inFlight' | 'responseBuffer' | 'lacksStore'> | null,
): GaugeSource[] {
  return [
    {
      name: 'inflight_requests',
      help: 'Requests and tunnels under way.',
      read: () => plane()?.inFlight() ?? 0,
    },
    {
      name: 'response_buffer_bytes',
      help: 'Bytes of responses that wait in memory for clients which read slower than the upstream writes.',
      read: () => plane()?.responseBuffer() ?? 0,
    },
    {
      name: 'store_silent',
      help: 'Processes that lack their store, as /readyz tells it: asked every second, also without charges.',
      read: () => (plane()?.lacksStore() ? 1 : 0),
    },
  ]
}
