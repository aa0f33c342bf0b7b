import type { PreviewResponse } from '../../../contract/api.ts'
import { useTexts } from '../../i18n/text.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Until } from '../../ui/moment.tsx'
import { Note, Tag, WayTo } from '../../ui/small.tsx'

/** The users who would be blocked, and the organisations, unless none of these has used anything. */
export function BlockedUsers({ response }: { readonly response: PreviewResponse }) {
  const rows = response.blocked.map(({ user, ...block }) => ({ ...block, id: user }))
  return <Blocked of={response} rows={rows} kind="users" />
}

export function BlockedOrganisations({ response: { organisations } }: { readonly response: PreviewResponse }) {
  const { t } = useTexts()
  if (organisations.scanned === 0) return null
  const rows = organisations.blocked.map(({ organisation, ...block }) => ({ ...block, id: organisation }))
  return (
    <>
      <h4>{t('page.organisations')}</h4>
      <Blocked of={organisations} rows={rows} kind="organisations" />
    </>
  )
}

interface BlockedProps {
  readonly of: Omit<PreviewResponse['organisations'], 'blocked'>
  readonly rows: readonly (PreviewResponse['everybody'][number] & { readonly id: string })[]
  readonly kind: 'users' | 'organisations'
}

function Blocked({ of, rows, kind }: BlockedProps) {
  const { t, number, windowName } = useTexts()
  const words = {
    scanned: number(of.scanned),
    blocked: number(of.blockedCount),
    newly: number(of.newlyBlockedCount),
    freed: number(of.freedCount),
  }
  const isNone = of.blockedCount === 0
  return (
    <>
      <Note tone={of.newlyBlockedCount > 0 ? 'warn' : 'info'} live>
        {t(`preview.${kind}.${isNone ? 'nobody' : 'blocked'}`, words)}
      </Note>
      {of.blockedCount > rows.length && <p>{t('preview.first', { count: number(rows.length) })}</p>}
      {!isNone && (
        <DataTable
          label={t(`page.${kind}`)}
          columns={[
            {
              ...{ id: 'who', head: t(kind === 'users' ? 'word.user' : 'word.organisation') },
              cell: ({ id, blockedNow }) => (
                <>
                  <WayTo page={kind} id={id} />{' '}
                  <Tag tone={blockedNow ? 'info' : 'warn'}>{t(blockedNow ? 'preview.already' : 'preview.newly')}</Tag>
                </>
              ),
            },
            { id: 'window', head: t('word.window'), cell: (each) => `${each.category} ${windowName(each.window)}` },
            { id: 'used', head: t('word.used'), count: ({ used }) => used },
            { id: 'limit', head: t('preview.limitThen'), count: ({ limit }) => limit },
            {
              ...{ id: 'reset', head: t('word.reset') },
              cell: ({ resetAt }) => (resetAt === null ? '–' : <Until at={resetAt} />),
            },
          ]}
          rows={rows}
          keyOf={({ id, category, window }) => `${id} ${category} ${window}`}
        />
      )}
    </>
  )
}
