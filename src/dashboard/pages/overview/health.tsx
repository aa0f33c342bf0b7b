import type { AuditResponse, NowResponse } from '../../../contract/api.ts'
import { useQuota } from '../../api/session.tsx'
import { usePoll } from '../../api/use-poll.ts'
import { number, share, t } from '../../i18n/text.ts'
import { type Kind, storyOf } from '../../logic/audit-story.ts'
import { hashOf } from '../../logic/location.ts'
import type { Rates } from '../../logic/rates.ts'
import { shareOf } from '../../logic/route-usage.ts'
import { ALARMING } from '../../logic/status.ts'
import { Moment } from '../../ui/moment.tsx'
import { Panel } from '../../ui/panel.tsx'
import { Fact, Facts, Tag } from '../../ui/small.tsx'
import { EntrySentence } from '../audit/entry.tsx'

const AUDIT_EVERY_MS = 10_000

/** The store, the upstream, the configuration, and the last change at run time. */
export function Health({ now, latest }: { readonly now: NowResponse; readonly latest: Rates | undefined }) {
  const { store, backend, config, shadow, controlVersion } = now
  return (
    <Panel title={t('now.health')}>
      <Facts>
        <Fact name={t('now.store')}>
          <Tag tone={store.answers ? 'good' : 'bad'}>
            {t(store.answers ? 'now.storeAnswers' : 'now.storeOut', { kind: store.kind })}
          </Tag>
        </Fact>
        <Fact name={t('now.backend')}>
          <code>{backend.origin}</code> <Backend {...backend} latest={store.answers ? latest : undefined} />
        </Fact>
        <Fact name={t('now.config')}>
          <code>{config.file}</code>{' '}
          <span className="muted hash" title={t('now.rulesText')}>
            {t('now.rulesOf', { rules: config.hash })}
          </span>
        </Fact>
        <Fact name={t('quotas.shadow')}>{shadow ? <Tag tone="warn">{t('now.shadowOn')}</Tag> : t('word.off')}</Fact>
        <Fact name={t('now.lastChange')}>
          <LastChange isKnown={store.answers} version={controlVersion} />
        </Fact>
      </Facts>
    </Panel>
  )
}

interface LastChangeProps {
  readonly isKnown: boolean
  readonly version: number
}

/** How many of the latest changes are searched for one of the limits. */
const LOOKED_AT = 50
/** Changes that may change a limit. */
const OF_LIMITS: readonly Kind[] = ['settings', 'override', 'organisation_override', 'overrides']

/** Who changed which limit and when, with a link to the audit entry. */
function LastChange({ isKnown, version }: LastChangeProps) {
  const hasOne = isKnown && version > 0
  const audit = usePoll<AuditResponse>(hasOne ? `/api/audit?limit=${LOOKED_AT}` : null, AUDIT_EVERY_MS).data
  const file = useQuota()?.file ?? null
  if (!hasOne) return t(isKnown ? 'word.none' : 'now.unknown')
  if (audit === null) return `#${version}`
  const entry = audit.entries.find(({ what }) => OF_LIMITS.includes(what))
  if (entry === undefined) return t('now.noLastChange')
  return (
    <>
      <EntrySentence entry={entry} story={storyOf(entry, file)} isAlone /> <Moment at={entry.at} />{' '}
      <a href={hashOf('audit', null, { before: String(entry.version + 1) })}>
        {t('now.toAudit', { version: entry.version })}
      </a>
    </>
  )
}

function Backend({
  requests,
  status0,
  status5xx,
  latest,
}: NowResponse['backend'] & { readonly latest: Rates | undefined }) {
  if (requests === null || status0 === null || status5xx === null) return <Tag tone="info">{t('now.unknown')}</Tag>
  if (requests === 0) return <Tag tone="info">{t('now.backendIdle')}</Tag>
  const failed = status0 + status5xx
  const words = { requests: number(requests), status0: number(status0), status5xx: number(status5xx) }
  if (failed === 0) return <Tag tone="good">{t('now.backendGood', words)}</Tag>
  const current = latest === undefined ? null : shareOf(latest.failed, latest.forwarded)
  return (
    <>
      {current !== null && (
        <Tag tone={current === 0 ? 'good' : current < ALARMING ? 'warn' : 'bad'}>
          {current === 0 ? t('now.backendNowGood') : t('now.backendNowBad', { share: share(current) })}
        </Tag>
      )}{' '}
      <Tag tone={current === 0 || failed / requests < ALARMING ? 'warn' : 'bad'}>
        {t('now.backendBad', { ...words, share: share(Math.min(1, failed / requests)) })}
      </Tag>
    </>
  )
}
