import { MODES } from '../../../quota/limit-layers.ts'
import { lengthWords, t, time } from '../../i18n/text.ts'
import type { Change } from '../../logic/audit-story.ts'

import { isLimit, limitWords } from '../../logic/limit-words.ts'
import { namesOf } from '../../logic/settings.ts'
import { visible } from '../../logic/visible.ts'
import { FromTo, type FromToLine } from '../../ui/from-to.tsx'

/** The name of a changed value within a sentence: `the personal read limit of 1 hour`. */
export function changedName(path: string): string {
  const windowIn = (name: string) => {
    const words = lengthWords(name)
    return words === name ? t('audit.name.window', { name }) : words
  }
  const [table = '', scope = '', category = '', name = '', window = ''] = namesOf(path)
  if (table === 'plans') {
    const words = { plan: scope, category: name, window: windowIn(window) }
    return t(category === 'organisation' ? 'audit.name.planOrganisation' : 'audit.name.planPersonal', words)
  }
  if (table === 'baselines' || table === 'custom') {
    const words = { category, window: windowIn(name) }
    const isGlobal = scope === 'global'
    if (table === 'custom') return t(isGlobal ? 'audit.name.customGlobal' : 'audit.name.customPersonal', words)
    return t(isGlobal ? 'audit.name.global' : 'audit.name.personal', words)
  }
  // For an override: `limits.read.1h`.
  if (table === 'limits') return t('audit.name.override', { category: scope, window: windowIn(category) })
  const known = nameIn(path)
  return known === undefined ? lengthWords(path) : t(`audit.name.${known}`)
}

/** Settings by the ends of their paths, and what an override has beside its limits. */
const NAMES = [
  ...(['mode', 'shadow', 'enabled', 'multiplier'] as const),
  ...(['bypassGlobal', 'factor', 'periodDay', 'plan', 'within', 'expiresAt'] as const),
]

function nameIn(path: string) {
  return NAMES.find((name) => path === name || path === `global.${name}`)
}

/** One value of a change in words. */
export function changedValue(path: string, value: unknown): string {
  if (isLimit(value)) return limitWords(value)
  if (typeof value === 'boolean') return t(value ? 'word.on' : 'word.off')
  if (typeof value !== 'string') return value === undefined || value === null ? t('word.none') : JSON.stringify(value)
  if (path === 'expiresAt') return time(value)
  const mode = path === 'mode' ? MODES.find((known) => known === value) : undefined
  return mode === undefined ? visible(value) : t(`mode.${mode}`)
}

/** The values that a change made different, one line each. */
export function ChangeLines({ changes }: { readonly changes: readonly Change[] }) {
  return <FromTo lines={changes.map(lineOf)} />
}

/** A change as a line. Without a value before, the value of the file or the default is shown, or nothing if that is unknown. */
function lineOf({ path, from, to, file }: Change): FromToLine {
  const isOfSettings = nameIn(path) === undefined ? /^(baselines|custom|plans)\./.test(path) : !OF_OVERRIDES.has(path)
  const unset =
    file === undefined
      ? null
      : t(isOfSettings ? 'audit.fileValue' : 'audit.defaultValue', { value: changedValue(path, file) })
  const nothing = t(isOfSettings ? 'audit.asFile' : path.startsWith('limits.') ? 'audit.asDefault' : 'word.none')
  return {
    key: path,
    name: <bdi>{changedName(path)}</bdi>,
    from: from === undefined ? unset : changedValue(path, from),
    to: to === undefined ? (unset ?? nothing) : changedValue(path, to),
  }
}

const OF_OVERRIDES = new Set(['bypassGlobal', 'factor', 'periodDay', 'plan', 'within', 'expiresAt'])
