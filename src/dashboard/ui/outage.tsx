import type { InForceResponse } from '../../contract/api.ts'
import { ApiError } from '../api/client.ts'
import { useOperatorsPoll } from '../api/session.tsx'
import type { Polled } from '../api/use-poll.ts'
import { share, t } from '../i18n/text.ts'
import { Note } from './small.tsx'

const EVERY_MS = 5000

/** Whether the API says that the store is out. */
export function isStoreOut(error: Error | null): boolean {
  return error instanceof ApiError && error.response.error === 'store_unavailable'
}

/** What the gateway enforces without the store, requested only while the store is out. */
export function useInForce(out: boolean): Polled<InForceResponse> {
  return useOperatorsPoll<InForceResponse>(out ? '/api/in-force' : null, EVERY_MS)
}

/** The banner of a page that shows what is known without the store. */
export function OutageBanner({ inForce }: { readonly inForce: InForceResponse | null }) {
  return (
    <Note tone="warn" live title={t('outage.title')}>
      {t('outage.text')} {inForce && <Meanwhile storeOutage={inForce.storeOutage} />}
    </Note>
  )
}

/** What clients get while the store is out. */
export function Meanwhile({ storeOutage }: Pick<InForceResponse, 'storeOutage'>) {
  return Object.entries(storeOutage).map(([category, part]) => (
    <span key={category}>
      {t(part > 0 ? 'now.outageAllows' : 'now.outageRefuses', { category, share: share(part) })}{' '}
    </span>
  ))
}
