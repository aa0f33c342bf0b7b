import type { PreviewResponse } from '../../../contract/api.ts'
import { useTexts } from '../../i18n/text.tsx'
import { Note } from '../../ui/note.tsx'
import { Rows } from '../../ui/panel.tsx'

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

function AllRows({ found }: YesterdayProps) {
  const { t, number, windowName } = useTexts()
  const head = [
    t('word.window'),
    t('yesterday.users'),
    t('yesterday.usersAbove'),
    t('yesterday.runsAbove'),
    t('yesterday.tokensAbove'),
  ]
  return (
    <Rows label={t('yesterday.title')} head={head}>
      {found.rows.map(({ category, window, of, above }) => (
        <tr key={`${category} ${window}`}>
          <th scope="row">
            {category} {windowName(window)}
          </th>
          <td className="num">{number(of.users)}</td>
          <td className="num">{number(above.users)}</td>
          <td className="num">
            {number(above.runs)} / {number(of.runs)}
          </td>
          <td className="num">
            {number(above.tokens)} / {number(of.tokens)}
          </td>
        </tr>
      ))}
    </Rows>
  )
}
