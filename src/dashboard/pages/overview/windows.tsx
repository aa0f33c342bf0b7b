import type { NowResponse, UsageResponse, WindowResponse } from '../../../admin/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { type Forecast, forecastOf, RECENT_PATH, rateOf, recentTokens } from '../../logic/forecast.ts'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { Until } from '../../ui/moment.tsx'
import { Panel } from '../../ui/panel.tsx'
import { Bar, Tag } from '../../ui/small.tsx'

/** Half hours that are over stay as they are. */
const EVERY_MS = 30_000

/** A window of everybody. */
interface SharedWindow extends WindowResponse {
  readonly category: string
  readonly forecast: Forecast
}

/** The windows that all users share: how full they are, and when they will be. */
export function Windows({ now }: { readonly now: NowResponse }) {
  const { t } = useTexts()
  const usage = usePoll<UsageResponse>(now.windows === null ? null : RECENT_PATH, EVERY_MS).data
  const windows = windowsOf(now, usage)
  return (
    <Panel title={t('now.windows')} text={t('now.windowsText')}>
      {windows.length === 0 ? (
        <p className="muted">{t(now.windows === null ? 'now.unknown' : 'now.globalOff')}</p>
      ) : (
        <WindowTable windows={windows} now={now} />
      )}
    </Panel>
  )
}

function windowsOf({ windows, at }: NowResponse, usage: UsageResponse | null): readonly SharedWindow[] {
  const now = Date.parse(at)
  return Object.entries(windows ?? {}).flatMap(([category, list]) => {
    const rate = rateOf(list, usage && recentTokens(usage, category, now), now)
    return list.map((window) => ({ ...window, category, forecast: forecastOf(window, rate, now) }))
  })
}

interface WindowTableProps {
  readonly windows: readonly SharedWindow[]
  readonly now: NowResponse
}

function WindowTable({ windows, now: { at, shadow } }: WindowTableProps) {
  const { t, number, share, duration } = useTexts()
  const columns: readonly Column<SharedWindow>[] = [
    { id: 'window', head: t('word.window'), cell: ({ category, window }) => t('now.gauge', { category, window }) },
    {
      id: 'bar',
      head: t('now.full'),
      cell: ({ category, window, used, limit }) => (
        <span className="window-bar">
          <Bar {...{ used, limit, shadow }} label={t('now.gauge', { category, window })} />
          <span>{share(limit > 0 ? Math.floor((used / limit) * 1000) / 1000 : 1)}</span>
        </span>
      ),
    },
    {
      id: 'used',
      head: t('word.used'),
      isNumber: true,
      cell: ({ used, limit }) => t('now.gaugeText', { used: number(used), limit: number(limit) }),
    },
    {
      id: 'reset',
      head: t('now.resetsIn'),
      cell: ({ resetAt }) => (resetAt === null ? t('now.notRunning') : duration(Date.parse(resetAt) - Date.parse(at))),
    },
    { id: 'forecast', head: t('now.forecast'), cell: (window) => <ForecastText of={window} shadow={shadow} /> },
  ]
  const keyOf = ({ category, window }: SharedWindow) => `${category} ${window}`
  return <DataTable label={t('now.windows')} columns={columns} rows={windows} keyOf={keyOf} />
}

function ForecastText({ of: { forecast, resetAt }, shadow }: { readonly of: SharedWindow; readonly shadow: boolean }) {
  const { t, minute } = useTexts()
  switch (forecast.kind) {
    case 'full':
      return (
        <div>
          <Tag tone={shadow ? 'warn' : 'bad'}>{t(shadow ? 'forecast.fullShadow' : 'forecast.full')}</Tag>{' '}
          {!shadow && resetAt !== null && (
            <>
              {t('forecast.until')} <Until at={resetAt} />
            </>
          )}
        </div>
      )
    case 'at':
      return <Tag tone="warn">{t('forecast.at', { time: minute(new Date(forecast.at)) })}</Tag>
    case 'notRunning':
      return '–'
    default:
      return <span className="muted">{t(`forecast.${forecast.kind}`)}</span>
  }
}
