import type { ReactNode } from 'react'
import { t } from '../i18n/text.ts'

/** A value that changes. */
export interface FromToLine {
  readonly key: string
  readonly name: ReactNode
  /** `null` to show nothing about the value before. Default `null`. */
  readonly from?: ReactNode
  readonly to: ReactNode
  /** Further content after the values, with its separator. Default none. */
  readonly more?: ReactNode
}

/** What changes, one line each. */
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
