import type { PreviewResponse } from '../../../contract/api.ts'
import { useTexts } from '../../i18n/text.tsx'
import { hashOf } from '../../logic/location.ts'
import { Until } from '../../ui/moment.tsx'
import { Note } from '../../ui/note.tsx'
import { Rows } from '../../ui/panel.tsx'
import { Name, Tag } from '../../ui/small.tsx'

/** The users who would be blocked. */
export function BlockedUsers({ response }: { readonly response: PreviewResponse }) {
  const { t } = useTexts()
  const rows = response.blocked.map(({ user, ...block }) => ({ ...block, id: user }))
  return <Blocked of={response} rows={rows} kind="users" title={t('preview.users')} />
}

/** Nothing if no organisation has used anything. */
export function BlockedOrganisations({ response: { organisations } }: { readonly response: PreviewResponse }) {
  const { t } = useTexts()
  if (organisations.scanned === 0) return null
  const rows = organisations.blocked.map(({ organisation, ...block }) => ({ ...block, id: organisation }))
  return (
    <>
      <h4>{t('word.organisations')}</h4>
      <Blocked of={organisations} rows={rows} kind="organisations" title={t('word.organisations')} />
    </>
  )
}

const BLOCKED_WORDS = {
  users: { some: 'preview.blocked', none: 'preview.nobody', one: 'word.user' },
  organisations: { some: 'preview.blockedOrganisations', none: 'preview.noOrganisation', one: 'word.organisation' },
} as const

interface BlockedProps {
  readonly of: Omit<PreviewResponse['organisations'], 'blocked'>
  readonly rows: readonly (PreviewResponse['everybody'][number] & { readonly id: string })[]
  readonly kind: keyof typeof BLOCKED_WORDS
  readonly title: string
}

function Blocked({ of, rows, kind, title }: BlockedProps) {
  const { t, number, windowName } = useTexts()
  const words = {
    scanned: number(of.scanned),
    blocked: number(of.blockedCount),
    newly: number(of.newlyBlockedCount),
    freed: number(of.freedCount),
  }
  const { some, none, one } = BLOCKED_WORDS[kind]
  const isNone = of.blockedCount === 0
  return (
    <>
      <Note tone={of.newlyBlockedCount > 0 ? 'warn' : 'info'} live>
        {t(isNone ? none : some, words)}
      </Note>
      {of.blockedCount > rows.length && <p>{t('preview.first', { count: number(rows.length) })}</p>}
      {!isNone && (
        <Rows label={title} head={[t(one), t('word.window'), t('word.used'), t('preview.limitThen'), t('word.reset')]}>
          {rows.map((each) => (
            <tr key={`${each.id} ${each.category} ${each.window}`}>
              <th scope="row">
                <a href={hashOf(kind, each.id)}>
                  <Name of={each.id} />
                </a>{' '}
                <Tag tone={each.blockedNow ? 'info' : 'warn'}>
                  {t(each.blockedNow ? 'preview.already' : 'preview.newly')}
                </Tag>
              </th>
              <td>
                {each.category} {windowName(each.window)}
              </td>
              <td className="num">{number(each.used)}</td>
              <td className="num">{number(each.limit)}</td>
              <td>{each.resetAt === null ? '–' : <Until at={each.resetAt} />}</td>
            </tr>
          ))}
        </Rows>
      )}
    </>
  )
}
