import { together } from '../lib/serialize.ts'
import type { GaugeSource, Sample } from '../observe/metrics.ts'
import type { WindowStatuses } from '../quota/status.ts'

/**
 * The global windows as gauges. All replicas read the same store and show the same values, so use the maximum and not
 * the sum over replicas.
 * @param read asks the store. All gauges of a scrape share one reading
 */
export function globalWindowGauges(read: () => Promise<WindowStatuses>): GaugeSource[] {
  const reading = together(read)
  return [
    {
      name: 'global_limit_tokens',
      help: 'The limit of a window of all users together. There is no series where no global limit is in force.',
      labels: ['category', 'window'],
      read: async () => samples(await reading(), 'limit'),
    },
    {
      name: 'global_limit_new_users_tokens',
      help: 'Up to how many tokens new users may fill a window of all users together. There is no series without quota.reserve.',
      labels: ['category', 'window'],
      read: async () => samples(await reading(), 'limitOfNewUsers'),
    },
    {
      name: 'global_used_tokens',
      help: 'Tokens that all users together have used in the present run of a window.',
      labels: ['category', 'window'],
      read: async () => samples(await reading(), 'used'),
    },
  ]
}

function samples(windows: WindowStatuses, of: 'limit' | 'limitOfNewUsers' | 'used'): Sample[] {
  return Object.entries(windows).flatMap(([category, statuses]) =>
    statuses.flatMap(({ window, [of]: value }) =>
      value === undefined ? [] : [{ labels: { category, window }, value }],
    ),
  )
}
