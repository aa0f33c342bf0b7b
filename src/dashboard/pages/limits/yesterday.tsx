import type { PreviewResponse } from '../../../contract/api.ts'
import { useTexts } from '../../i18n/text.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { Note } from '../../ui/small.tsx'

interface YesterdayProps {
  readonly found: PreviewResponse['yesterday']
}

/** What a change would have met in the last 24 hours, from the kept history. */
export function Yesterday({ found }: YesterdayProps) {
  const { t, number } = useTexts()
  const above = found.rows.filter((row) => row.above.users > 0)
  return (
    <>
      <h4>{t('yesterday.title')}</h4>
      <Note tone={above.length > 0 ? 'warn' : 'info'} live>
        {above.length === 0
          ? t('yesterday.nobody', { users: number(found.scanned) })
          : above.map(({ category, window, of, above: over }) => (
              <p key={`${category} ${window}`}>
                {t('yesterday.some', {
                  ...{ category, window, users: number(over.users), all: number(of.users) },
                  tokens: number(over.tokens),
                })}
              </p>
            ))}
      </Note>
      <details>
        <summary>{t('yesterday.all')}</summary>
        <AllRows found={found} />
      </details>
      <p className="muted">
        {t('yesterday.approximate')} {!found.complete && t('yesterday.incomplete')}
      </p>
    </>
  )
}

type Row = YesterdayProps['found']['rows'][number]

function AllRows({ found }: YesterdayProps) {
  const { t, number, windowName } = useTexts()
  const partOf = (id: 'runs' | 'tokens', head: string): Column<Row> => ({
    ...{ id, head, isNumber: true },
    cell: ({ above, of }) => `${number(above[id])} / ${number(of[id])}`,
  })
  const columns: readonly Column<Row>[] = [
    { id: 'window', head: t('word.window'), cell: ({ category, window }) => `${category} ${windowName(window)}` },
    { id: 'users', head: t('page.users'), count: ({ of }) => of.users },
    { id: 'above', head: t('yesterday.usersAbove'), count: ({ above }) => above.users },
    partOf('runs', t('yesterday.runsAbove')),
    partOf('tokens', t('yesterday.tokensAbove')),
  ]
  const keyOf = ({ category, window }: Row) => `${category} ${window}`
  return <DataTable look="small" label={t('yesterday.title')} columns={columns} rows={found.rows} keyOf={keyOf} />
}
