import type { LimitInForceResponse, LimitResponse } from '../../../contract/api.ts'
import { useTexts } from '../../i18n/text.tsx'
import { SCOPE_WORDS } from '../../logic/scope.ts'
import { sourceWords } from '../../logic/source-words.ts'
import { stepWords } from '../../logic/step-words.ts'
import { Moment } from '../../ui/moment.tsx'
import { Rows } from '../../ui/panel.tsx'
import { Bar, Tag } from '../../ui/small.tsx'

interface Row extends LimitInForceResponse {
  /** `null` if it is not known. */
  readonly usage: Pick<LimitResponse, 'used' | 'resetAt'> | null
  readonly category?: string
  readonly refuses?: boolean
  readonly lacksRoom?: boolean
  /** Only users with this plan have the limit. Default everybody. */
  readonly plan?: string
}

/** A limit as the API has it, with what is used of it. */
export function rowOf<T extends LimitResponse>(limit: T): T & Pick<Row, 'usage'> {
  return { ...limit, usage: limit }
}

/** What is nearest to its limit first. */
export function fullestFirst<T extends Pick<Row, 'usage' | 'limit'>>(rows: readonly T[]): readonly T[] {
  const part = ({ usage, limit }: T) => (usage?.used ?? 0) / Math.max(limit, 0.5)
  return rows.toSorted((a, b) => part(b) - part(a))
}

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
        const name = [t(SCOPE_WORDS[row.scope]), row.category, row.window]
          .filter((part) => part !== undefined)
          .join(' ')
        return (
          <tr key={`${name} ${row.plan}`}>
            <th scope="row">
              {name}{' '}
              {row.refuses && (
                <Tag tone={shadow ? 'warn' : 'bad'}>{t(shadow ? 'explain.wouldRefuse' : 'explain.refuses')}</Tag>
              )}
              {row.lacksRoom && <Tag tone={shadow ? 'warn' : 'bad'}>{t('users.blocked')}</Tag>}
            </th>
            <td className="num">
              {row.usage === null ? t('users.unknown') : number(row.usage.used)}
              {row.usage && (
                <Bar
                  used={row.usage.used}
                  limit={row.limit}
                  label={name}
                  shadow={shadow || (row.over !== undefined && row.lacksRoom !== true)}
                  isFull={row.lacksRoom === true}
                />
              )}
            </td>
            <td className="num">
              {number(row.limit)}
              {row.over !== undefined && <span className="muted"> {t('word.over', { over: number(row.over) })}</span>}
            </td>
            <td>{row.usage === null ? t('users.unknown') : <Ends at={row.usage.resetAt} />}</td>
            <td>
              <Source source={row.source} steps={row.steps} />
            </td>
          </tr>
        )
      })}
    </Rows>
  )
}

/** The layers that made a limit, and each of them with its value. */
function Source({ source, steps }: Pick<Row, 'source' | 'steps'>) {
  const texts = useTexts()
  if (steps.length === 0) return sourceWords(source, texts.t)
  return (
    <details>
      <summary>{sourceWords(source, texts.t)}</summary>
      <ol>
        {steps.map((step) => (
          <li key={step}>{stepWords(step, texts)}</li>
        ))}
      </ol>
    </details>
  )
}

function Ends({ at }: { readonly at: string | null }) {
  const { t } = useTexts()
  return at === null ? <span className="muted">{t('now.notRunning')}</span> : <Moment at={at} />
}
