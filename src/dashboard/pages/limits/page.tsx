import type {
  OrganisationOverridesInForceResponse,
  QuotaResponse,
  SettingsInForceResponse,
} from '../../../contract/api.ts'
import { type Polled, usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { hashOf } from '../../logic/location.ts'
import { isStoreOut, OutageBanner, useInForce } from '../../ui/outage.tsx'
import { Loaded, Panel } from '../../ui/panel.tsx'
import { WayTo } from '../../ui/small.tsx'
import { Adaptive } from './adaptive.tsx'
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

const OWN_EVERY_MS = 30_000
const SHOWN = 20

/** The organisations with limits of their own, which hold whatever the plans of their members say; nothing if there are none. */
function OwnOrganisations() {
  const { t } = useTexts()
  const path = `/api/in-force/organisations?limit=${SHOWN}`
  const { data } = usePoll<OrganisationOverridesInForceResponse>(path, OWN_EVERY_MS)
  const own = data?.organisations ?? []
  if (own.length === 0) return null
  return (
    <Panel title={t('page.organisations')}>
      <p>
        {t('plans.own', { count: data?.total ?? own.length })}{' '}
        {own.map(({ organisation }, place) => (
          <span key={organisation}>
            {place > 0 && t('word.listComma')}
            <WayTo page="organisations" id={organisation} />
          </span>
        ))}
        {(data?.total ?? 0) > own.length && (
          <>
            {t('word.listComma')}
            <a href={hashOf('organisations')}>{t('organisations.back')}</a>
          </>
        )}
      </p>
    </Panel>
  )
}
