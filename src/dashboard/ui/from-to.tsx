import type { ReactNode } from 'react'
import { t } from '../i18n/text.ts'

/** A value that becomes another one. */
export interface FromToLine {
  readonly key: string
  readonly name: ReactNode
  /** `null` if nothing is said of what was before. Default so. */
  readonly from?: ReactNode
  readonly to: ReactNode
  /** What stands behind it, with what parts both. Default nothing. */
  readonly more?: ReactNode
}

/** What becomes different, one line each. */
export function FromTo({ lines }: { readonly lines: readonly FromToLine[] }) {
  if (lines.length === 0) return null
  return (
    <ul className="differences">
      {lines.map(({ key, name, from = null, to, more }) => (
        <li key={key}>
          {name}
          {t('word.colon')}
          {from !== null && <del>{from}</del>}
          {from !== null && <span aria-hidden="true"> → </span>}
          <ins>{to}</ins>
          {more}
        </li>
      ))}
    </ul>
  )
}
