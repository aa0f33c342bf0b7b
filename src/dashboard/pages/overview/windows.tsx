import type {
  NowResponse,
  QuotaResponse,
  RefusalsResponse,
  UsageResponse,
  WindowResponse,
} from '../../../contract/api.ts'
import { useQuota } from '../../api/session.tsx'
import { usePoll } from '../../api/use-poll.ts'
import { clock, duration, minute, number, share, t } from '../../i18n/text.ts'
import { type Forecast, forecastOf, RECENT_PATH, rateOf, recentTokens } from '../../logic/forecast.ts'
import { type RefusalPage, refusedSince } from '../../logic/full-since.ts'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { Until } from '../../ui/moment.tsx'
import { Panel } from '../../ui/panel.tsx'
import { Bar, Tag } from '../../ui/small.tsx'

/** Only the latest half hours change, so more often would show little more. */
const EVERY_MS = 30_000
/** Requested only while a window is full. */
const REFUSALS = { path: '/api/refusals?scope=Global&limit=100', everyMs: 10_000 } as const

/** A global window. */
interface SharedWindow extends WindowResponse {
  readonly category: string
  readonly forecast: Forecast
  /** When it first refused somebody in this run, in ISO 8601; `null` if unknown. */
  readonly since: string | null
}

/** The global windows, with their forecasts. */
export function useSharedWindows(now: NowResponse): readonly SharedWindow[] {
  const usage = usePoll<UsageResponse>(now.windows === null ? null : RECENT_PATH, EVERY_MS).data
  const cheapest = useQuota()?.cheapest ?? {}
  const isFull = windowsOf(now, { usage, refusals: null, cheapest }).some(({ forecast }) => forecast.kind === 'full')
  const refusals = usePoll<RefusalsResponse>(isFull ? REFUSALS.path : null, REFUSALS.everyMs).data
  return windowsOf(now, { usage, refusals, cheapest })
}

interface WindowSources {
  readonly usage: UsageResponse | null
  readonly refusals: RefusalPage | null
  readonly cheapest: QuotaResponse['cheapest']
}

function windowsOf(
  { windows, at: iso }: NowResponse,
  { usage, refusals, cheapest }: WindowSources,
): readonly SharedWindow[] {
  const at = Date.parse(iso)
  return Object.entries(windows ?? {}).flatMap(([category, list]) => {
    const rate = rateOf(list, usage && recentTokens(usage, category, at), at)
    const least = cheapest[category] ?? 1
    return list.map((window, i) => ({
      ...{ ...window, category },
      forecast: forecastOf(window, { rate, at, shorter: list.slice(0, i), least }),
      since: refusedSince(refusals, category, window),
    }))
  })
}

/** The global windows: how full they are, and when they will be full. */
export function Windows({ now }: { readonly now: NowResponse }) {
  const { at, shadow, windows: known } = now
  const rows = useSharedWindows(now)
  const columns: readonly Column<SharedWindow>[] = [
    { id: 'window', head: t('word.window'), cell: ({ category, window }) => t('now.gauge', { category, window }) },
    {
      id: 'bar',
      head: t('now.full'),
      cell: ({ category, window, used, limit, forecast }) => (
        <span className="window-bar">
          <Bar
            {...{ used, limit, shadow }}
            label={t('now.gauge', { category, window })}
            isFull={forecast.kind === 'full'}
          />
          <span>{share(limit > 0 ? Math.floor((used / limit) * 1000) / 1000 : 1)}</span>
        </span>
      ),
    },
    {
      id: 'used',
      head: t('word.used'),
      isNumber: true,
      cell: ({ used, limit, over }) => (
        <>
          {t('now.gaugeText', { used: number(used), limit: number(limit) })}
          {over !== undefined && <span className="muted"> {t('word.over', { over: number(over) })}</span>}
        </>
      ),
    },
    {
      id: 'reset',
      head: t('now.resetsIn'),
      cell: ({ resetAt }) => (resetAt === null ? t('now.notRunning') : duration(Date.parse(resetAt) - Date.parse(at))),
    },
    { id: 'forecast', head: t('now.forecast'), cell: (window) => <ForecastText of={window} shadow={shadow} /> },
  ]
  const keyOf = ({ category, window }: SharedWindow) => `${category} ${window}`
  const none = t(known === null ? 'now.unknown' : 'now.globalOff')
  return (
    <Panel title={t('now.windows')} text={t('now.windowsText')}>
      <DataTable label={t('now.windows')} {...{ rows, columns, none, keyOf }} />
    </Panel>
  )
}

interface ForecastTextProps {
  readonly of: SharedWindow
  readonly shadow: boolean
}

function ForecastText({ of, shadow }: ForecastTextProps) {
  switch (of.forecast.kind) {
    case 'full':
      return <Full of={of} shadow={shadow} />
    case 'at':
      return <Tag tone="warn">{t('forecast.at', { time: minute(new Date(of.forecast.at)) })}</Tag>
    case 'notRunning':
      return '–'
    default:
      return <span className="muted">{t(`forecast.${of.forecast.kind}`)}</span>
  }
}

/** Says that a window is full, since when if known, and until when. */
function Full({ of: { resetAt, since }, shadow }: ForecastTextProps) {
  if (shadow) return <Tag tone="warn">{t('forecast.fullShadow')}</Tag>
  return (
    <div>
      <Tag tone="bad">{t('forecast.full')}</Tag>{' '}
      {since !== null && t('forecast.since', { time: clock(new Date(since)) })}{' '}
      {resetAt !== null && (
        <>
          {t('forecast.until')} <Until at={resetAt} />
        </>
      )}
    </div>
  )
}
