import type { RefusalsResponse } from '../../../admin/api.ts'
import { type Texts, useTexts } from '../../i18n/text.tsx'
import { hashOf } from '../../logic/location.ts'
import { SCOPE_WORDS } from '../../logic/scope.ts'
import { sourceWords } from '../../logic/source-words.ts'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { Filled } from '../../ui/filled.tsx'
import { Moment } from '../../ui/moment.tsx'
import { At, Name } from '../../ui/small.tsx'

export type Refusal = RefusalsResponse['refusals'][number]

interface RefusalTableProps {
  readonly label: string
  readonly refusals: readonly Refusal[]
  /** Whose refusals they are: the user is not named again. */
  readonly isOfOne?: boolean
}

/** Refusals in the order of the API, with the ways to the user, the limit and the routes. */
export function RefusalTable({ label, refusals, isOfOne = false }: RefusalTableProps) {
  const texts = useTexts()
  const columns = columnsOf(texts).filter(({ id }) => !isOfOne || id !== 'user')
  return <DataTable label={label} columns={columns} rows={refusals} keyOf={keyOf} />
}

/** One user, limit and run. */
function keyOf({ user, category, scope, window, startedAt }: Refusal): string {
  return JSON.stringify([user, category, scope, window, startedAt])
}

function columnsOf({ t, number }: Texts): readonly Column<Refusal>[] {
  return [
    { id: 'user', head: t('word.user'), cell: ({ user }) => <Whom user={user} /> },
    { id: 'limit', head: t('refusals.limit'), cell: (refusal) => <LimitThatRefused refusal={refusal} /> },
    { id: 'last', head: t('refusals.last'), cell: (refusal) => <When refusal={refusal} /> },
    { id: 'count', head: t('refusals.count'), isNumber: true, cell: ({ count }) => number(count) },
    { id: 'use', head: t('refusals.use'), isNumber: true, cell: (refusal) => <Use refusal={refusal} /> },
    { id: 'source', head: t('refusals.source'), cell: ({ source }) => sourceWords(source, t) },
    { id: 'routes', head: t('page.routes'), cell: ({ routes }) => <RouteLinks routes={routes} /> },
  ]
}

function Whom({ user }: Pick<Refusal, 'user'>) {
  const { t } = useTexts()
  if (user === null) return <span className="muted">{t('refusals.unnamed')}</span>
  return (
    <a href={hashOf('users', user)}>
      <Name of={user} />
    </a>
  )
}

/** A link to where that limit is changed: of an override to the page of its user or organisation, of others to the limits. */
function LimitThatRefused({ refusal }: { readonly refusal: Refusal }) {
  const { t, windowName } = useTexts()
  const { scope, category, window } = refusal
  return (
    <a href={placeOfLimit(refusal)}>
      {t(SCOPE_WORDS[scope])} {category} {windowName(window)}
    </a>
  )
}

export function placeOfLimit({ scope, category, window, source, user, organisation }: Refusal): string {
  if (source === 'override' && user !== null) return hashOf('users', user)
  if (source === 'override of organisation' && organisation !== null) return hashOf('organisations', organisation)
  return hashOf('limits', null, { scope, category, window })
}

function When({ refusal: { first, last, count } }: { readonly refusal: Refusal }) {
  const { t } = useTexts()
  return (
    <div>
      <Moment at={last} />
      {count > 1 && (
        <div className="muted">
          <Filled text={t('refusals.first')} parts={{ at: <At at={first} /> }} />
        </div>
      )}
    </div>
  )
}

function Use({ refusal: { used, limit, startedAt } }: { readonly refusal: Refusal }) {
  const { t, number } = useTexts()
  return (
    <div>
      {t('refusals.of', { used: number(used), limit: number(limit) })}
      {startedAt === null && <div className="muted">{t('refusals.neverRan')}</div>}
    </div>
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
