import type { RefusalGroupsResponse, UsageResponse } from '../../../contract/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { hashOf } from '../../logic/location.ts'
import { timeQuery } from '../../logic/range.ts'
import { shareOf } from '../../logic/route-usage.ts'
import { Loaded, Panel, Rows } from '../../ui/panel.tsx'
import { useRange } from '../../ui/range.tsx'
import { Name } from '../../ui/small.tsx'

/** The store looks through all users for it. */
const EVERY_MS = 60_000
const SHOWN = 5

/** Who used most and who was refused most in the chosen range. */
export function Top() {
  return (
    <>
      <Consumers />
      <Refused />
    </>
  )
}

function Consumers() {
  const { t, number, share, time } = useTexts()
  const range = useRange()
  const asked = `/api/usage?by=user&order=tokens&${timeQuery(range, 'days')}&limit=${SHOWN}`
  const poll = usePoll<UsageResponse>(asked, EVERY_MS)
  const all = usePoll<UsageResponse>(`/api/usage?by=category&${timeQuery(range, 'days')}&limit=1000`, EVERY_MS).data
  const allOf = (category: string) => all?.rows.find((row) => row.category === category)?.tokens ?? 0
  return (
    <Panel title={t('top.consumers')}>
      <Loaded poll={poll} hasBanner>
        {({ rows, window, from: since }) => (
          <>
            {rows.length === 0 ? (
              <p className="muted">{t('series.nothing')}</p>
            ) : (
              <div title={`${t('top.runs', { window: window ?? '–' })} ${time(since)}`}>
                <Rows
                  label={t('top.consumers')}
                  head={[t('word.user'), t('word.category'), t('history.tokens'), t('top.share')]}
                >
                  {rows.map(({ user = '', category = '', tokens }) => (
                    <tr key={`${category} ${user}`}>
                      <th scope="row">
                        <a href={hashOf('users', user)}>
                          <Name of={user} />
                        </a>
                      </th>
                      <td>{category}</td>
                      <td className="num">{number(tokens)}</td>
                      <td className="num">{shareText(shareOf(tokens, allOf(category)), share)}</td>
                    </tr>
                  ))}
                </Rows>
              </div>
            )}
          </>
        )}
      </Loaded>
    </Panel>
  )
}

function shareText(part: number | null, share: (part: number) => string): string {
  return part === null ? '–' : share(Math.floor(part * 1000) / 1000)
}

function Refused() {
  const { t, number } = useTexts()
  const { from, to } = useRange()
  const asked = new URLSearchParams({
    by: 'user',
    limit: String(SHOWN),
    since: from,
    ...(to !== null && { until: to }),
  })
  const poll = usePoll<RefusalGroupsResponse>(`/api/refusals/groups?${asked}`, EVERY_MS)
  return (
    <Panel title={t('top.refused')}>
      <Loaded poll={poll} hasBanner>
        {({ groups }) =>
          groups.length === 0 ? (
            <p className="muted">{t('top.nobody')}</p>
          ) : (
            <Rows
              label={t('top.refused')}
              head={[t('word.user'), t('top.count'), t('word.personal'), t('top.organisation'), t('word.global')]}
            >
              {groups.map(({ name: user, count, scopes }) => (
                <tr key={user ?? ''}>
                  <th scope="row">
                    {user === null ? (
                      t('top.unknown')
                    ) : (
                      <a href={hashOf('users', user)}>
                        <Name of={user} />
                      </a>
                    )}
                  </th>
                  <td className="num">{number(count)}</td>
                  <td className="num">{number(scopes.Personal)}</td>
                  <td className="num">{number(scopes.Organisation)}</td>
                  <td className="num">{number(scopes.Global)}</td>
                </tr>
              ))}
            </Rows>
          )
        }
      </Loaded>
    </Panel>
  )
}
