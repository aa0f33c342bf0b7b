import type { QuotaResponse, UsersResponse } from '../../../contract/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { Loaded, Panel } from '../../ui/panel.tsx'
import { UsedTable } from '../users/used-table.tsx'
import { linesOf } from '../users/users.tsx'

/** The store is asked for everybody. */
const EVERY_MS = 60_000
const MOST = 25

interface MembersProps {
  readonly of: string
  readonly quota: QuotaResponse | null
}

/** The users of an organisation that are known, each with what refuses it. */
export function Members({ of, quota }: MembersProps) {
  const { t, number } = useTexts()
  const wish = new URLSearchParams({ organisation: of, order: 'tokens', recent: '24h', limit: String(MOST) })
  const poll = usePoll<UsersResponse>(`/api/users?${wish}`, EVERY_MS)
  return (
    <Panel title={t('organisations.members')} text={t('organisations.membersText')}>
      <Loaded poll={poll} hasBanner>
        {(page) =>
          page.users.length === 0 ? (
            <p>{t('organisations.members.none')}</p>
          ) : (
            <>
              <UsedTable
                kind="users"
                lines={linesOf(page).map((line) => ({ ...line, organisation: undefined }))}
                quota={quota}
                shadow={quota?.shadow === true}
                range="24h"
              />
              {(page.next !== null || page.users.length >= MOST) && (
                <p>{t('organisations.members.first', { count: number(page.users.length) })}</p>
              )}
            </>
          )
        }
      </Loaded>
    </Panel>
  )
}
