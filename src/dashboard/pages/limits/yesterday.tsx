import { useEffect, useState } from 'react'
import type { LookBackResponse, QuotaPatch } from '../../../admin/api.ts'
import { call, LOOK_BACK } from '../../api/client.ts'
import { useTexts } from '../../i18n/text.tsx'
import { messageOf } from '../../ui/failure.tsx'
import { Note } from '../../ui/note.tsx'
import { Rows } from '../../ui/panel.tsx'

/** Every history is looked at, one question after the other. */
const PATIENCE_MS = 120_000

/** What a change would have met in the last 24 hours, from the kept history. @param patch that of the preview */
export function Yesterday({ patch }: { readonly patch: QuotaPatch }) {
  const { t } = useTexts()
  const [found, setFound] = useState<LookBackResponse | Error | null>(null)
  useEffect(() => {
    const stop = new AbortController()
    setFound(null)
    call<LookBackResponse>('POST', LOOK_BACK, { body: patch, signal: stop.signal, patienceMs: PATIENCE_MS })
      .then(({ data }) => setFound(data))
      .catch((error: Error) => {
        if (!stop.signal.aborted) setFound(error)
      })
    return () => stop.abort()
  }, [patch])
  return (
    <>
      <h4>{t('yesterday.title')}</h4>
      {found === null && <p role="status">{t('yesterday.counting')}</p>}
      {found instanceof Error && <Note tone="warn">{messageOf(found, t)}</Note>}
      {found !== null && !(found instanceof Error) && <Found found={found} />}
    </>
  )
}

function Found({ found }: { readonly found: LookBackResponse }) {
  const { t, number } = useTexts()
  const above = found.rows.filter((row) => row.above.users > 0)
  return (
    <>
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

function AllRows({ found }: { readonly found: LookBackResponse }) {
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
