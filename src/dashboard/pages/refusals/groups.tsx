import { SegmentedControl } from '@mantine/core'
import type { RefusalGroupsResponse } from '../../../contract/api.ts'
import { serverNow } from '../../api/client.ts'
import { usePoll } from '../../api/use-poll.ts'
import { number, share, t } from '../../i18n/text.ts'
import { limitName } from '../../logic/limit-words.ts'
import { tableHref } from '../../logic/list-csv.ts'
import { hashOf } from '../../logic/location.ts'
import { stepOf } from '../../logic/range.ts'
import { GROUPINGS, type Grouping, groupQuery, type RefusalWish } from '../../logic/refusal-filter.ts'
import { SCOPE_WORDS, scopeSeries } from '../../logic/scope.ts'
import type { SeriesPoint } from '../../logic/series.ts'
import { lookFor, useFields } from '../../ui/address.tsx'
import { type Column, counted, DataTable } from '../../ui/data-table.tsx'
import { Moment } from '../../ui/moment.tsx'
import { Loaded } from '../../ui/panel.tsx'
import { useRange } from '../../ui/range.tsx'
import { SeriesChart } from '../../ui/series-chart.tsx'
import { Name } from '../../ui/small.tsx'

const EVERY_MS = 15_000

type Group = RefusalGroupsResponse['groups'][number]

/** The refusals over time and in groups. */
export function Groups({ wish }: { readonly wish: RefusalWish }) {
  const range = useRange()
  const step = stepOf(range, serverNow())
  const poll = usePoll<RefusalGroupsResponse>(`/api/refusals/groups?${groupQuery(wish, range, step)}`, EVERY_MS)
  return (
    <Loaded poll={poll}>
      {({ by, count, users, groups, more, steps }) =>
        count > 0 && (
          <>
            <p className="figure">{t('refusals.counted', { count: number(count), users: number(users) })}</p>
            <SeriesChart title={t('refusals.overTime')} series={scopeSeries()} points={steps.map(pointOf)} />
            <p className="muted">{t('refusals.spread')}</p>
            <div className="actions">
              <SegmentedControl
                size="xs"
                aria-label={t('refusals.by')}
                value={wish.by}
                onChange={(by) => lookFor({ by: by === 'user' ? null : by })}
                data={GROUPINGS.map((value) => ({ value, label: t(HEADS[value]) }))}
              />
              <a href={tableHref(HEAD_CELLS, groups.map(cellsOf))} download={`refusals-by-${by}.csv`}>
                {t('refusals.groupsCsv')}
              </a>
            </div>
            <DataTable
              look="lines"
              label={t('refusals.by')}
              columns={columnsOf(by, count)}
              rows={groups}
              keyOf={({ name, limit }) => JSON.stringify([name, limit])}
              usual="count"
              field="groups"
            />
            {more > 0 && <p className="muted">{t('refusals.more', { count: number(more) })}</p>}
            {by === 'route' && <p className="muted">{t('refusals.ofRoutes')}</p>}
          </>
        )
      }
    </Loaded>
  )
}

function pointOf({ start, end, Personal, Organisation, Global }: RefusalGroupsResponse['steps'][number]): SeriesPoint {
  return { from: new Date(start), to: new Date(end), values: [Personal, Organisation, Global] }
}

const HEADS = {
  user: 'word.user',
  limit: 'refusals.limit',
  route: 'routes.match',
  organisation: 'word.organisation',
} as const satisfies Record<Grouping, string>

const HEAD_CELLS = ['name', 'refusals', 'users', 'personal', 'organisation', 'global', 'last'] as const

function cellsOf({ name, limit, count, users, scopes, last }: Group): readonly (string | number)[] {
  return [
    limit === null ? (name ?? '') : limitName(limit),
    count,
    users,
    scopes.Personal,
    scopes.Organisation,
    scopes.Global,
    last,
  ]
}

function columnsOf(by: Grouping, all: number): readonly (Column<Group> | false)[] {
  const one = (scope: keyof Group['scopes']) =>
    by !== 'limit' && counted(scope, t(SCOPE_WORDS[scope]), ({ scopes }: Group) => scopes[scope], { isWideOnly: true })
  return [
    {
      id: 'name',
      head: t(HEADS[by]),
      sort: (group) => String(cellsOf(group)[0]),
      cell: (group) => <Named group={group} by={by} />,
    },
    counted('count', t('top.count'), ({ count }) => count),
    { id: 'share', head: t('top.share'), isNumber: true, cell: ({ count }) => share(count / all) },
    by !== 'user' && counted('users', t('page.users'), ({ users }) => users),
    ...[one('Personal'), one('Organisation'), one('Global')],
    {
      id: 'last',
      head: t('refusals.latest'),
      sort: ({ last }) => Date.parse(last),
      cell: ({ last }) => <Moment at={last} isPast />,
    },
  ]
}

/** A link that narrows the page to the refusals of a name. */
function Named({ group: { name, limit }, by }: { readonly group: Group; readonly by: Grouping }) {
  const { cursor: _, ...fields } = useFields()
  if (limit !== null) {
    const { scope, category } = limit
    return <a href={hashOf('refusals', null, { ...fields, scope, category })}>{limitName(limit)}</a>
  }
  if (name === null) return <span className="muted">{t(by === 'user' ? 'refusals.unnamed' : 'word.none')}</span>
  return (
    <a href={hashOf('refusals', null, { ...fields, [by]: name })}>
      <Name of={name} />
    </a>
  )
}
