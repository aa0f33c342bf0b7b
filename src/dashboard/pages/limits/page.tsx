import type {
  OrganisationOverridesInForceResponse,
  QuotaResponse,
  SettingsInForceResponse,
} from '../../../contract/api.ts'
import { type Polled, usePoll } from '../../api/use-poll.ts'
import { number, share, t } from '../../i18n/text.ts'
import { hashOf } from '../../logic/location.ts'
import { isStoreOut, OutageBanner, useInForce } from '../../ui/outage.tsx'
import { Loaded, Panel } from '../../ui/panel.tsx'
import { Fact, Facts, Tag, WayTo } from '../../ui/small.tsx'
import { PendingChanges } from './pending.tsx'
import { Settings } from './settings.tsx'

const EVERY_MS = 5000

export function LimitsPage() {
  const poll = usePoll<QuotaResponse>('/api/quota', EVERY_MS)
  const out = isStoreOut(poll.error)
  const inForce = useInForce(out)
  // While the store is out, the gateway may know later changes, made through other replicas, than the last response has.
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

/** The organisations with limits of their own, which apply whatever plans their members have; nothing if there are none. */
function OwnOrganisations() {
  const path = `/api/in-force/organisations?limit=${SHOWN}`
  const { data } = usePoll<OrganisationOverridesInForceResponse>(path, OWN_EVERY_MS)
  const own = data?.organisations ?? []
  if (own.length === 0) return null
  return (
    <Panel title={t('page.organisations')}>
      <p>
        {t('plans.own', { count: number(data?.total ?? own.length) })}{' '}
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

interface AdaptiveProps {
  readonly quota: SettingsInForceResponse
  /** The source of the factor; `null` if unknown. */
  readonly counted: QuotaResponse['adaptive'] | null
  /** Whether the store is out. */
  readonly isStale: boolean
}

/** The factor of the adaptive mode with its reason. It is shown only in this mode. */
function Adaptive({ quota: { adaptive }, counted, isStale }: AdaptiveProps) {
  return (
    <Panel title={t('adaptive.title')}>
      <p>
        <strong className="figure">× {number(adaptive.factor)}</strong> <Tag tone="good">{t('adaptive.used')}</Tag>
      </p>
      {isStale && <p className="muted">{t(counted === null ? 'now.unknown' : 'failed.stale')}</p>}
      {counted !== null && (
        <>
          <p>{why(counted)}</p>
          <Facts>
            <Fact name={t('adaptive.requests')}>{number(counted.requests)}</Fact>
            <Fact name={t('adaptive.failed')}>{number(counted.failed)}</Fact>
            <Fact name={t('top.share')}>{counted.share === null ? '–' : share(counted.share)}</Fact>
            <Fact name={t('adaptive.min', { count: number(counted.minRequests) })}>
              {t(counted.requests >= counted.minRequests ? 'word.yes' : 'word.no')}
            </Fact>
          </Facts>
        </>
      )}
    </Panel>
  )
}

/** The reason of the factor, as the API gives it, in the language of the page. */
function why(adaptive: QuotaResponse['adaptive']): string {
  const { requests, failed, settled, trust, minRequests, factor } = adaptive
  if (settled === null || adaptive.share === null) return t('adaptive.silence')
  const counted = { requests: number(requests), failed: number(failed), share: share(adaptive.share) }
  const parts = [t('adaptive.counted', counted)]
  if (trust === 0) return [...parts, t('adaptive.few', { count: number(minRequests) })].join(' ')
  if (share(settled) !== share(adaptive.share)) parts.push(t('adaptive.settled', { share: share(settled) }))
  if (trust < 1) parts.push(t('adaptive.part', { count: number(2 * minRequests) }))
  return [...parts, t('adaptive.so', { factor: number(factor) })].join(' ')
}
