import { useQuota } from '../../api/session.tsx'
import { exact, t } from '../../i18n/text.ts'
import type { Overridable } from '../../logic/override.ts'
import { type OverrideLine, overrideLines } from '../../logic/override-lines.ts'
import { visible } from '../../logic/visible.ts'
import { FromTo } from '../../ui/from-to.tsx'
import { changedName, changedValue } from '../audit/values.tsx'

interface LinesProps {
  /** In the form of a body, as `flatOf` makes it; `null` for no override. `to` has the same form. */
  readonly from: unknown
  readonly to: unknown
  readonly of: Overridable
  /** Fields to leave out, because the dialog has them. Default none. */
  readonly without?: readonly string[]
}

/** What an override changes, one line each, in the words of the audit. */
export function OverrideLines({ from, to, of, without = [] }: LinesProps) {
  const lines = overrideLines({ from, to }, of, useQuota()).filter(({ path }) => !without.includes(path))
  const shown = (line: OverrideLine, value: unknown, isBefore: boolean) =>
    value === undefined ? nothingOf(line, isBefore) : changedValue(line.path, value)
  return (
    <FromTo
      lines={lines.map((line) => ({
        key: line.path,
        name: <bdi>{lineName(line)}</bdi>,
        from: shown(line, line.from, true),
        to: shown(line, line.to, false),
      }))}
    />
  )
}

function lineName({ path }: OverrideLine): string {
  return path === 'reason' ? t('override.name.reason') : changedName(path)
}

/** The value if nothing is set; `null` if it need not be shown, as for an end or a reason that was not there before. */
function nothingOf({ path, byDefault, byPlan }: OverrideLine, isBefore: boolean): string | null {
  if (path === 'plan') return t('override.planOfCredential')
  if (path === 'factor') return '1'
  if (path === 'periodDay') return t('override.dayOfPlan')
  if (path === 'bypassGlobal' || path === 'shadow') return t('word.off')
  if (!path.startsWith('limits.')) return isBefore ? null : t(path === 'expiresAt' ? 'word.never' : 'word.none')
  const words = (limit: number | null) => (limit === null ? t('override.noLimit') : exact(limit))
  const plans = Object.entries(byPlan ?? {})
  if (plans.length > 0) {
    return plans
      .map(([plan, limit]) => t('override.limitOfPlan', { limit: words(limit), plan: visible(plan) }))
      .join(t('word.listComma'))
  }
  const limit = isBefore ? byDefault?.from : byDefault?.to
  return limit === undefined ? t('audit.asDefault') : t('override.limitByDefault', { limit: words(limit) })
}
