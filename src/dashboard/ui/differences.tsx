import type { AuditResponse } from '../../contract/api.ts'
import type { TextKey } from '../i18n/en.ts'
import { useTexts } from '../i18n/text.tsx'
import { type Difference, differences } from '../logic/diff.ts'
import { visible } from '../logic/visible.ts'

/** Of an entry of the audit. Settings that are not there follow the file. */
type Changed = Pick<AuditResponse['entries'][number], 'what' | 'from' | 'to'>

/** Of a token. */
const NAMES = new Set(['user', 'name'])

/** A switch that was never there and is off is as it was. */
function isNews({ from, to }: Difference): boolean {
  return (from ?? false) !== (to ?? false)
}

/** A switch that is not there is off; in the settings it is as the file says. */
function isOff(what: Changed['what'], { from, to }: Difference): boolean {
  return what !== 'settings' && typeof (from ?? to) === 'boolean'
}

/** What holds where a change leaves a value out. No limit of an override is not no limit. */
function nothingOf(what: Changed['what'], path: string): TextKey {
  if (what === 'settings') return 'word.file'
  const isLimit = (what === 'override' || what === 'organisation_override') && path.includes('.')
  return isLimit ? 'plans.default' : 'word.none'
}

/** What a change made different, one line each. */
export function Differences({ of: { what, from, to } }: { readonly of: Changed }) {
  const { t, time } = useTexts()
  const shown = (difference: Difference, value: unknown): string => {
    const { path } = difference
    if (value === undefined) return isOff(what, difference) ? 'false' : t(nothingOf(what, path))
    // Times are kept in milliseconds, and sent as ISO 8601.
    if (/(^|\.)expiresAt$/.test(path)) return time(new Date(value as number | string))
    if (typeof value === 'string' && NAMES.has(path)) return visible(value)
    return typeof value === 'string' ? value : JSON.stringify(value)
  }
  const found = differences(from, to).filter(isNews)
  if (found.length === 0) return null
  return (
    <ul className="differences">
      {found.map((each) => (
        <li key={each.path}>
          {each.path && <code>{each.path}</code>} <del>{shown(each, each.from)}</del>
          <span aria-hidden="true"> → </span>
          <ins>{shown(each, each.to)}</ins>
        </li>
      ))}
    </ul>
  )
}
