import type { RefusalGroupsResponse, UsageResponse } from '../../../contract/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { number, share, t, time } from '../../i18n/text.ts'
import { queryOf } from '../../logic/location.ts'
import { timeQuery } from '../../logic/range.ts'
import { shareOf } from '../../logic/route-usage.ts'
import { SCOPE_WORDS, SCOPES } from '../../logic/scope.ts'
import { DataTable } from '../../ui/data-table.tsx'
import { Loaded, Panel } from '../../ui/panel.tsx'
import { useRange } from '../../ui/range.tsx'
import { WayTo } from '../../ui/small.tsx'

/** Both lists are read seldom, because the store looks through all users for them. */
const EVERY_MS = 60_000
const SHOWN = 5

/** Who used most in the chosen range. */
export function Consumers() {
  const range = useRange()
  const asked = `/api/usage?by=user&order=tokens&${timeQuery(range, 'days')}&limit=${SHOWN}`
  const poll = usePoll<UsageResponse>(asked, EVERY_MS)
  const all = usePoll<UsageResponse>(`/api/usage?by=category&${timeQuery(range, 'days')}&limit=1000`, EVERY_MS).data
  const shareIn = ({ category, tokens }: UsageResponse['rows'][number]) =>
    shareOf(tokens, all?.rows.find((row) => row.category === category)?.tokens ?? 0)
  return (
    <Panel title={t('top.consumers')}>
      <Loaded poll={poll} hasBanner>
        {({ rows, window, from: since }) => (
          <div title={`${t('top.runs', { window: window ?? '–' })} ${time(since)}`}>
            <DataTable
              look="small"
              label={t('top.consumers')}
              columns={[
                { id: 'user', head: t('word.user'), cell: ({ user = '' }) => <WayTo page="users" id={user} /> },
                { id: 'category', head: t('word.category'), cell: ({ category }) => category },
                { id: 'tokens', head: t('history.tokens'), count: ({ tokens }) => tokens },
                { id: 'share', head: t('top.share'), isNumber: true, cell: (row) => shareText(shareIn(row), share) },
              ]}
              rows={rows}
              none={t('series.nothing')}
              keyOf={({ category, user }) => `${category} ${user}`}
            />
          </div>
        )}
      </Loaded>
    </Panel>
  )
}

function shareText(part: number | null, share: (part: number) => string): string {
  return part === null ? '–' : share(Math.floor(part * 1000) / 1000)
}

/** Who was refused most in the chosen range. */
export function Refused() {
  const { from, to } = useRange()
  const asked = queryOf({ by: 'user', limit: String(SHOWN), since: from, until: to ?? '' })
  const poll = usePoll<RefusalGroupsResponse>(`/api/refusals/groups?${asked}`, EVERY_MS)
  /** The scope whose limits refused, and how often if there were several. */
  const scopeText = (scopes: RefusalGroupsResponse['scopes']): string => {
    const some = SCOPES.filter((scope) => scopes[scope] > 0)
    const count = (scope: (typeof SCOPES)[number]) => (some.length === 1 ? '' : ` ${number(scopes[scope])}`)
    return some.map((scope) => t(SCOPE_WORDS[scope]) + count(scope)).join(t('word.listComma'))
  }
  return (
    <Panel title={t('top.refused')}>
      <Loaded poll={poll} hasBanner>
        {({ groups }) => (
          <DataTable
            look="small"
            label={t('top.refused')}
            columns={[
              {
                ...{ id: 'user', head: t('word.user') },
                cell: ({ name }) => (name === null ? t('top.unknown') : <WayTo page="users" id={name} />),
              },
              { id: 'count', head: t('top.count'), count: ({ count }) => count },
              { id: 'scopes', head: t('word.limit'), cell: ({ scopes }) => scopeText(scopes) },
            ]}
            rows={groups}
            none={t('top.nobody')}
            keyOf={({ name }) => name ?? ''}
          />
        )}
      </Loaded>
    </Panel>
  )
}
