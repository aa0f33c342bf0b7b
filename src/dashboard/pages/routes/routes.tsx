import { TextInput } from '@mantine/core'
import type { RoutesResponse, UsageResponse } from '../../../contract/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { number, t } from '../../i18n/text.ts'
import { timeQuery } from '../../logic/range.ts'
import { type RouteUsage, routeUsages } from '../../logic/route-usage.ts'
import { totalOf } from '../../logic/series.ts'
import { changeFields, useFields } from '../../ui/address.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { bound } from '../../ui/form.tsx'
import { Loaded, Panel } from '../../ui/panel.tsx'
import { useRange } from '../../ui/range.tsx'
import { columnsOf } from './route-table.tsx'

const EVERY_MS = 5000
/** The query reads half hours. */
const USAGE_EVERY_MS = 10_000

/** The usage of each route in a range. Range, order and filter are in the address. */
export function RoutesPage() {
  const { route = '' } = useFields()
  const poll = usePoll<RoutesResponse>('/api/routes', EVERY_MS)
  const asked = `/api/usage?by=route&${timeQuery(useRange())}`
  const usage = usePoll<UsageResponse>(`${asked}&limit=1000`, USAGE_EVERY_MS)
  return (
    <Loaded poll={poll}>
      {({ routes, file, unmatched }) => (
        <>
          <Panel title={t('routes.title')} text={t('routes.text', { file })}>
            <search className="wrap route-search">
              <TextInput
                aria-label={t('routes.find')}
                placeholder={t('routes.find')}
                type="search"
                maxLength={1024}
                {...bound(route, (route) => changeFields({ route }))}
              />
              <a href={`${asked}&format=csv`} download>
                {t('routes.csv')}
              </a>
            </search>
            <Loaded poll={usage}>{({ rows }) => <Found usages={routeUsages(routes, rows)} wanted={route} />}</Loaded>
          </Panel>
          <Unmatched unmatched={unmatched} />
        </>
      )}
    </Loaded>
  )
}

interface FoundProps {
  readonly usages: readonly RouteUsage[]
  /** Part of a rule; empty for all. */
  readonly wanted: string
}

function Found({ usages, wanted }: FoundProps) {
  return (
    <DataTable
      label={t('routes.title')}
      columns={columnsOf(totalOf(usages.map(({ tokens }) => tokens)))}
      rows={usages.filter(({ match }) => match.toLowerCase().includes(wanted.trim().toLowerCase()))}
      none={t(usages.length === 0 ? 'routes.none' : 'routes.noneFound')}
      keyOf={({ match, rule }) => `${rule?.line} ${match}`}
      usual="tokens"
    />
  )
}

/** Requests that no rule matched: what becomes of them, how many there were, and the latest. */
function Unmatched({ unmatched: { kind, hits, latest } }: Pick<RoutesResponse, 'unmatched'>) {
  return (
    <Panel title={t('routes.unmatched')} text={t(`routes.unmatched.${kind}`)}>
      <p>{t('routes.unmatchedHits', { count: number(hits) })}</p>
      {latest.length > 0 && (
        <>
          <h3>{t('routes.latest')}</h3>
          <ol className="latest">
            {latest.map((request, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the same request may be there twice
              <li key={i}>
                <code>{request}</code>
              </li>
            ))}
          </ol>
        </>
      )}
    </Panel>
  )
}
