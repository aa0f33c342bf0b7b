import { useTexts } from '../../i18n/text.tsx'
import { hashOf } from '../../logic/location.ts'
import { type Counted, countedIn, OTHER_ROUTES, shareOf } from '../../logic/route-usage.ts'
import type { UsageRow } from '../../logic/series.ts'
import { useFields } from '../../ui/address.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { Panel } from '../../ui/panel.tsx'

const SHOWN = 10

interface FailingRoute extends Counted {
  readonly route: string
  readonly failed: number
}

interface FailingRoutesProps {
  /** Of the range, one for each route. */
  readonly rows: readonly UsageRow[]
}

/** The routes that fail most, each with the way to its own errors. */
export function FailingRoutes({ rows }: FailingRoutesProps) {
  const { t } = useTexts()
  const routes = failingRoutes(rows)
  return (
    <Panel title={t('errors.routes')} text={t('errors.routesText')}>
      {routes.length === 0 ? <p className="muted">{t('errors.noRoute')}</p> : <Table routes={routes} />}
    </Panel>
  )
}

function failingRoutes(rows: readonly UsageRow[]): readonly FailingRoute[] {
  return rows
    .map((row) => ({ route: row.route ?? '', ...countedIn(row) }))
    .map((row) => ({ ...row, failed: row.status5xx + row.status0 + row.gateway5xx }))
    .filter(({ failed }) => failed > 0)
    .sort((a, b) => b.failed - a.failed)
    .slice(0, SHOWN)
}

function Table({ routes }: { readonly routes: readonly FailingRoute[] }) {
  const { t, number, share } = useTexts()
  const count = (id: 'status5xx' | 'status0' | 'gateway5xx' | 'status4xx', head: string): Column<FailingRoute> => ({
    ...{ id, head, isNumber: true },
    sort: (row) => row[id],
    cell: (row) => number(row[id]),
  })
  const columns: readonly Column<FailingRoute>[] = [
    { id: 'route', head: t('routes.match'), cell: ({ route }) => <RouteLink route={route} /> },
    {
      ...{ id: 'share', head: t('errors.share'), isNumber: true },
      sort: ({ failed, requests }) => shareOf(failed, requests),
      cell: ({ failed, requests }) => share(shareOf(failed, requests) ?? 0),
    },
    count('status5xx', t('chart.status5xxShort')),
    count('status0', t('chart.status0Short')),
    count('gateway5xx', t('errors.gateway5xx')),
    count('status4xx', t('routes.status4xx')),
  ]
  return <DataTable label={t('errors.routes')} columns={columns} rows={routes} keyOf={({ route }) => route} />
}

function RouteLink({ route }: { readonly route: string }) {
  const { t } = useTexts()
  const [{ range }] = useFields()
  if (route === OTHER_ROUTES) return t('routes.others')
  return (
    <a href={hashOf('errors', null, { route, ...(range !== undefined && { range }) })}>
      <code>{route}</code>
    </a>
  )
}
