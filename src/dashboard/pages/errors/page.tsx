import { NativeSelect } from '@mantine/core'
import type { RoutesResponse, UsageResponse } from '../../../admin/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { usageFrom } from '../../logic/range.ts'
import { useFields } from '../../ui/address.tsx'
import { Loaded, PageTitle, Panel } from '../../ui/panel.tsx'
import { RangeSwitch, useRange } from '../../ui/range.tsx'
import { Verdict } from './blame.tsx'
import { FailingRoutes } from './failing-routes.tsx'
import './errors.css'
import { Failures } from './failures.tsx'

const EVERY_MS = 10_000
/** The configuration changes seldom. */
const ROUTES_EVERY_MS = 60_000

/** What failed, of all routes or of one: whose doing it is, over time, and where. The address has the route and the range. */
export function ErrorsPage() {
  const { t } = useTexts()
  const [{ route = '' }] = useFields()
  const from = usageFrom(useRange())
  const byRoute = usePoll<UsageResponse>(`/api/usage?by=route&from=${from}&limit=1000`, EVERY_MS)
  const all = usePoll<UsageResponse>(route === '' ? `/api/usage?by=all&from=${from}` : null, EVERY_MS)
  return (
    <>
      <PageTitle>{t('page.errors')}</PageTitle>
      <RouteSelect route={route} />
      <Panel title={t('blame.title')}>
        <div className="blame-range">
          <RangeSwitch />
        </div>
        <Loaded poll={route === '' ? all : byRoute} hasBanner>
          {({ rows }) => <Verdict row={route === '' ? rows[0] : rows.find((row) => row.route === route)} />}
        </Loaded>
      </Panel>
      <Failures key={route} route={route} />
      {route === '' && byRoute.data !== null && <FailingRoutes rows={byRoute.data.rows} />}
    </>
  )
}

function RouteSelect({ route }: { readonly route: string }) {
  const { t } = useTexts()
  const [, change] = useFields()
  const rules = usePoll<RoutesResponse>('/api/routes', ROUTES_EVERY_MS).data?.routes ?? []
  // The address may have one that the configuration has no more.
  const names = new Set([...rules.map(({ match }) => match), ...(route === '' ? [] : [route])])
  return (
    <search className="route-choice">
      <NativeSelect
        label={t('routes.match')}
        data={[{ value: '', label: t('errors.allRoutes') }, ...names]}
        value={route}
        onChange={(event) => change({ route: event.currentTarget.value })}
      />
    </search>
  )
}
