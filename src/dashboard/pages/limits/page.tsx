import type { QuotaResponse, SettingsInForceResponse } from '../../../contract/api.ts'
import { type Polled, usePoll } from '../../api/use-poll.ts'
import { isStoreOut, OutageBanner, useInForce } from '../../ui/outage.tsx'
import { Loaded } from '../../ui/panel.tsx'
import { Adaptive } from './adaptive.tsx'
import { OwnOrganisations } from './own-organisations.tsx'
import { PendingChanges } from './pending.tsx'
import { Settings } from './settings.tsx'

const EVERY_MS = 5000

export function LimitsPage() {
  const poll = usePoll<QuotaResponse>('/api/quota', EVERY_MS)
  const out = isStoreOut(poll.error)
  const inForce = useInForce(out)
  // Of another replica's changes since the last answer the gateway may know more than that.
  const shown: Pick<Polled<SettingsInForceResponse>, 'data' | 'etag' | 'error'> = inForce.data === null &&
  (poll.data !== null || !out)
    ? poll
    : inForce
  return (
    <>
      {out && <OutageBanner inForce={inForce.data} />}
      <Loaded poll={shown} hasBanner>
        {(quota) => (
          <>
            <PendingChanges quota={quota} reload={poll.reload} />
            <Settings quota={quota} etag={shown.etag} out={out} reload={poll.reload} take={poll.take} />
            <OwnOrganisations />
            {quota.mode === 'adaptive' && (
              <Adaptive quota={quota} counted={poll.data?.adaptive ?? null} isStale={out} />
            )}
          </>
        )}
      </Loaded>
    </>
  )
}
