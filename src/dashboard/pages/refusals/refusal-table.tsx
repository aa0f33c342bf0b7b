import type { RefusalsResponse } from '../../../contract/api.ts'
import { serverNow } from '../../api/client.ts'
import { clock, dateMinute, number, t } from '../../i18n/text.ts'
import { wholeSecond } from '../../logic/format.ts'
import { limitName } from '../../logic/limit-words.ts'
import { hashOf } from '../../logic/location.ts'
import { planIn, sourceWords } from '../../logic/source-words.ts'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { Filled } from '../../ui/filled.tsx'
import { Ago, Until } from '../../ui/moment.tsx'
import { At, Tag, WayTo } from '../../ui/small.tsx'

export type Refusal = RefusalsResponse['refusals'][number]

interface RefusalTableProps {
  readonly label: string
  readonly refusals: readonly Refusal[]
  /** The text if there are none. */
  readonly none: string
  /** Whether all refusals are of one user, who is not named again. */
  readonly isOfOne?: boolean
  /** The marked refusals, and the words of the mark. Default none. */
  readonly marked?: ReadonlySet<Refusal>
  readonly mark?: string
}

/** Refusals in the order of the API, with links to the user, the limit and the routes. */
export function RefusalTable({ label, refusals, none, isOfOne = false, marked, mark = '' }: RefusalTableProps) {
  const markOf = (refusal: Refusal) => (marked?.has(refusal) === true ? mark : null)
  const columns = columnsOf(markOf).filter(({ id }) => !isOfOne || id !== 'user')
  return <DataTable look="lines" {...{ label, columns, keyOf, none }} rows={refusals} />
}

/** Identifies user, limit and run. */
function keyOf({ user, category, scope, window, startedAt }: Refusal): string {
  return JSON.stringify([user, category, scope, window, startedAt])
}

function columnsOf(markOf: (refusal: Refusal) => string | null): readonly Column<Refusal>[] {
  return [
    {
      ...{ id: 'user', head: t('word.user') },
      cell: ({ user }) =>
        user === null ? <span className="muted">{t('refusals.unnamed')}</span> : <WayTo page="users" id={user} />,
    },
    {
      ...{ id: 'limit', head: t('refusals.limit') },
      cell: (refusal) => (
        <div>
          <a href={placeOfLimit(refusal)}>{limitName(refusal)}</a>{' '}
          <span className="muted">{sourceWords(refusal.source)}</span>
        </div>
      ),
    },
    { id: 'last', head: t('refusals.last'), cell: (refusal) => <When refusal={refusal} mark={markOf(refusal)} /> },
    { id: 'until', head: t('refusals.until'), cell: (refusal) => <Ends refusal={refusal} /> },
    { id: 'count', head: t('refusals.count'), count: ({ count }) => count },
    {
      id: 'use',
      head: t('refusals.use'),
      isNumber: true,
      cell: ({ used, limit }) => t('refusals.of', { used: number(used), limit: number(limit) }),
    },
    { id: 'cost', head: t('explain.price'), count: ({ cost }) => cost },
    { id: 'routes', head: t('page.routes'), cell: ({ routes }) => <RouteLinks routes={routes} /> },
  ]
}

/** The address of the limit that refused: the page of an override's owner, or else the row in the settings or in the plan. */
function placeOfLimit({ scope, category, window, source, user, organisation }: Refusal): string {
  if (source === 'override' && user !== null) return hashOf('users', user, OVERRIDE)
  if (source === 'override of organisation' && organisation !== null)
    return hashOf('organisations', organisation, OVERRIDE)
  const plan = planIn(source)
  return hashOf('limits', null, { scope, category, window, ...(plan !== undefined && { plan }) })
}

const OVERRIDE = { part: 'override' } as const

function When({ refusal: { first, last, count }, mark }: { readonly refusal: Refusal; readonly mark: string | null }) {
  const isOne = count === 1 || first === last
  return (
    <div>
      <span>
        <time dateTime={first}>{dateMinute(Date.parse(first))}</time>
        {!isOne && <time dateTime={last}> – {clock(new Date(last))}</time>}
      </span>{' '}
      <span className="muted">
        (<Ago at={last} />)
      </span>{' '}
      {mark !== null && <Tag tone="info">{mark}</Tag>}
    </div>
  )
}

/** When the window is reset, so that the user can go on. */
function Ends({ refusal: { until, emptied, startedAt, cost, limit } }: { readonly refusal: Refusal }) {
  if (startedAt === null || (cost !== null && cost > limit)) return t('refusals.neverRan')
  if (emptied) return <span className="muted">{t('refusals.emptied')}</span>
  if (until === null) return '–'
  if (Date.parse(until) > serverNow()) return <Until at={until} />
  return (
    <span className="muted">
      <Filled text={t('refusals.over')} parts={{ at: <At at={wholeSecond(until)} /> }} />
    </span>
  )
}

function RouteLinks({ routes }: Pick<Refusal, 'routes'>) {
  return (
    <ul className="plain route-list">
      {routes.map((route) => (
        <li key={route}>
          <a href={hashOf('routes', null, { route })}>
            <code>{route}</code>
          </a>
        </li>
      ))}
    </ul>
  )
}
