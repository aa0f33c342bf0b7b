import type { LimitAnswer } from '../../../admin/api.ts'
import { useTexts } from '../../i18n/text.tsx'
import { Rows } from '../../parts/panel.tsx'
import { At, Bar, Tag } from '../../parts/small.tsx'

type Row = LimitAnswer & { readonly category?: string; readonly refuses?: boolean; readonly lacksRoom?: boolean }

interface LimitRowsProps {
  readonly label: string
  readonly limits: readonly Row[]
  /** Nothing is refused to this user. */
  readonly shadow: boolean
}

/** Windows with their usage and the layers that made their limits. */
export function LimitRows({ label, limits, shadow }: LimitRowsProps) {
  const { t, number } = useTexts()
  const head = [t('word.window'), t('word.used'), t('word.limit'), t('word.reset'), t('users.source')]
  return (
    <Rows label={label} head={head}>
      {limits.map((row) => {
        const name = [t(row.scope === 'Global' ? 'word.global' : 'word.personal'), row.category, row.window]
          .filter((part) => part !== undefined)
          .join(' ')
        return (
          <tr key={name}>
            <th scope="row">
              {name}{' '}
              {row.refuses && (
                <Tag tone={shadow ? 'warn' : 'bad'}>{t(shadow ? 'explain.wouldRefuse' : 'explain.refuses')}</Tag>
              )}
              {row.lacksRoom && <Tag tone={shadow ? 'warn' : 'bad'}>{t('users.blocked')}</Tag>}
            </th>
            <td className="num">
              {number(row.used)}
              <Bar used={row.used} limit={row.limit} label={name} shadow={shadow} />
            </td>
            <td className="num">{number(row.limit)}</td>
            <td>
              {row.resetAt === null ? <span className="muted">{t('now.notRunning')}</span> : <At at={row.resetAt} />}
            </td>
            <td lang="en">
              <details>
                <summary>{row.source}</summary>
                <ol>
                  {row.steps.map((step) => (
                    <li key={step}>{step}</li>
                  ))}
                </ol>
              </details>
            </td>
          </tr>
        )
      })}
    </Rows>
  )
}
