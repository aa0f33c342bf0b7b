import { TextInput } from '@mantine/core'
import type { RoutesResponse, UsageResponse } from '../../../contract/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { number, share, t } from '../../i18n/text.ts'
import { hashOf } from '../../logic/location.ts'
import { timeQuery } from '../../logic/range.ts'
import { OTHER_ROUTES, type RouteUsage, type Rule, routeUsages, shareOf } from '../../logic/route-usage.ts'
import { totalOf } from '../../logic/series.ts'
import { changeFields, useFields } from '../../ui/address.tsx'
import { type Column, counted, DataTable } from '../../ui/data-table.tsx'
import { bound } from '../../ui/form.tsx'
import { Loaded, Panel } from '../../ui/panel.tsx'
import { Price } from '../../ui/price.tsx'
import { useRange } from '../../ui/range.tsx'
import { Tag } from '../../ui/small.tsx'
import './routes.css'

const EVERY_MS = 5000
/** Less often than the routes, because the query adds up half hours. */
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

/** Requests that matched no rule: what happens to them, how many there were, and the latest. */
function Unmatched({ unmatched: { kind, hits, latest } }: Pick<RoutesResponse, 'unmatched'>) {
  return (
    <Panel title={t('routes.unmatched')} text={t(`routes.unmatched.${kind}`)}>
      <p>{t('routes.unmatchedHits', { count: number(hits) })}</p>
      {latest.length > 0 && (
        <>
          <h3>{t('routes.latest')}</h3>
          <ol className="latest">
            {latest.map((request) => (
              <li key={request}>
                <code>{request}</code>
              </li>
            ))}
          </ol>
        </>
      )}
    </Panel>
  )
}

/** Each route with its counts, and links to its refusals and errors. @param allTokens the tokens of all routes together */
function columnsOf(allTokens: number): readonly Column<RouteUsage>[] {
  const count = (id: 'requests' | 'status4xx', head: string) => counted<RouteUsage>(id, head, (row) => row[id])
  return [
    { id: 'route', head: t('routes.match'), sort: ({ match }) => match, cell: (row) => <Match of={row} /> },
    {
      ...{ id: 'cost', head: t('routes.cost') },
      cell: ({ rule }) => (rule === null ? '–' : <Cost rule={rule} />),
    },
    count('requests', t('now.requests')),
    {
      ...{ id: 'tokens', head: t('history.tokens'), isNumber: true },
      sort: ({ tokens }) => tokens,
      cell: ({ tokens }) => <Counted count={tokens} part={shareOf(tokens, allTokens)} />,
    },
    {
      ...{ id: 'refused', head: t('users.refused'), isNumber: true },
      sort: ({ refused }) => refused,
      cell: ({ match, refused, requests }) => (
        <Counted
          count={refused}
          part={shareOf(refused, requests)}
          link={{
            href: hashOf('refusals', null, { route: match }),
            label: 'routes.toRefusals',
            route: match,
          }}
        />
      ),
    },
    count('status4xx', t('routes.status4xx')),
    {
      ...{ id: 'errors', head: t('now.failed'), isNumber: true },
      sort: (row) => errorsOf(row),
      cell: (row) => (
        <Counted
          count={errorsOf(row)}
          part={shareOf(errorsOf(row), row.forwarded)}
          link={{
            href: hashOf('errors', null, { route: row.match }),
            label: 'routes.toErrors',
            route: row.match,
          }}
        />
      ),
    },
    {
      ...{ id: 'p95', head: t('routes.p95'), isNumber: true },
      sort: ({ p95 }) => (p95 === null ? null : p95.ms + Number(p95.isAbove)),
      cell: ({ p95 }) => (p95 === null ? '–' : t(p95.isAbove ? 'routes.above' : 'routes.upTo', { ms: number(p95.ms) })),
    },
  ]
}

/** Errors of the upstream: 5xx, or no response. */
function errorsOf({ status5xx, status0 }: RouteUsage): number {
  return status5xx + status0
}

interface CountedProps {
  readonly count: number
  /** 0 to 1; `null` if there is no whole. */
  readonly part: number | null
  /** A link to the counted requests. Default none. */
  readonly link?: {
    readonly href: string
    readonly label: 'routes.toRefusals' | 'routes.toErrors'
    readonly route: string
  }
}

/** A count and its share. */
function Counted({ count, part, link }: CountedProps) {
  const text = number(count)
  return (
    <div>
      {link === undefined || count === 0 ? (
        text
      ) : (
        <a href={link.href} aria-label={t(link.label, { count: text, route: link.route })}>
          {text}
        </a>
      )}
      {/* To the thousandth, because more digits would flicker. */}
      {part !== null && count > 0 && <div className="muted">{share(Math.floor(part * 1000) / 1000)}</div>}
    </div>
  )
}

function Match({ of: { match, rule } }: { readonly of: RouteUsage }) {
  if (match === OTHER_ROUTES && rule === null) return t('routes.others')
  return (
    <>
      <code>{match}</code> {rule !== null && <span className="muted">{t('explain.line', { line: rule.line })}</span>}{' '}
      {rule === null && <Tag>{t('routes.gone')}</Tag>} {rule?.public && <Tag tone="info">{t('routes.public')}</Tag>}{' '}
      {rule?.shadow && <Tag tone="warn">{t('users.shadow')}</Tag>}{' '}
      {rule?.health === false && <Tag title={t('routes.noHealth')}>health: false</Tag>}
    </>
  )
}

function Cost({ rule: { public: isPublic, others = [], ...first } }: { readonly rule: Rule }) {
  if (isPublic) return t('routes.free')
  return [first, ...others].map(({ category, cost, price }) => (
    <div key={category}>
      {price === null && t('routes.costOf', { category: category ?? '–', cost: number(cost ?? 0) })}
      {price !== null && category} {price !== null && <Price of={price} />}
    </div>
  ))
}
