import type { GaugeSource } from '../observe/metrics.ts'
import type { DataPlane } from './data-plane.ts'

/** The gauges are read at each scrape. They are 0 before the data plane is made. */
export function dataPlaneGauges(
  plane: () => Pick<DataPlane, 'inFlight' | 'responseBuffer' | 'lacksStore'> | null,
): GaugeSource[] {
  return [
    {
      name: 'inflight_requests',
      help: 'Requests and WebSockets under way.',
      read: () => plane()?.inFlight() ?? 0,
    },
    {
      name: 'response_buffer_bytes',
      help: 'Bytes of responses that wait in memory for clients that read more slowly than the upstream writes.',
      read: () => plane()?.responseBuffer() ?? 0,
    },
    {
      name: 'store_silent',
      help: 'Processes whose store does not respond or takes no charges. The store is asked every second, even without traffic.',
      read: () => (plane()?.lacksStore() ? 1 : 0),
    },
  ]
}
