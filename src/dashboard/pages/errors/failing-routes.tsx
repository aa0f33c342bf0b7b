import { number, share, t } from '../../i18n/text.ts'
import { type FailingRoute, failingRoutes } from '../../logic/failing-routes.ts'
import { hashOf } from '../../logic/location.ts'
import { OTHER_ROUTES, shareOf } from '../../logic/route-usage.ts'
import type { UsageRow } from '../../logic/series.ts'
import { useFields } from '../../ui/address.tsx'
import { type Column, counted, DataTable } from '../../ui/data-table.tsx'
import { Panel } from '../../ui/panel.tsx'

interface FailingRoutesProps {
  /** For the time in question, one for each route. */
  readonly rows: readonly UsageRow[]
  /** For all requests together. */
  readonly all: UsageRow | undefined
}

/** The failing routes, each with a link to its errors, and failures without a route. */
export function FailingRoutes({ rows, all }: FailingRoutesProps) {
  const count = (id: 'status5xx' | 'status0' | 'gateway5xx' | 'status4xx', head: string) =>
    counted<FailingRoute>(id, head, (row) => row[id])
  const shareOfForwarded = ({ status5xx, status0, forwarded }: FailingRoute) => shareOf(status5xx + status0, forwarded)
  const columns: readonly Column<FailingRoute>[] = [
    { id: 'route', head: t('routes.match'), cell: ({ route }) => <RouteLink route={route} /> },
    {
      ...{ id: 'share', head: t('errors.share'), isNumber: true },
      sort: shareOfForwarded,
      cell: (row) => {
        const part = shareOfForwarded(row)
        return part === null ? '–' : t('errors.shareOf', { share: share(part), forwarded: number(row.forwarded) })
      },
    },
    count('status5xx', t('chart.status5xxShort')),
    count('status0', t('chart.status0Short')),
    count('gateway5xx', t('errors.gateway5xx')),
    count('status4xx', t('routes.status4xx')),
  ]
  return (
    <Panel title={t('errors.routes')} text={t('errors.routesText')}>
      <DataTable
        label={t('errors.routes')}
        columns={columns}
        rows={failingRoutes(rows, all)}
        none={t('errors.noRoute')}
        keyOf={({ route }) => `${route}`}
      />
    </Panel>
  )
}

function RouteLink({ route }: Pick<FailingRoute, 'route'>) {
  const fields = useFields()
  if (route === null) return t('errors.withoutRoute')
  if (route === OTHER_ROUTES) return t('routes.others')
  return (
    <a href={hashOf('errors', null, { ...fields, route })}>
      <code>{route}</code>
    </a>
  )
}
