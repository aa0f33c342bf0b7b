import { MODES } from '../../../quota/limit-layers.ts'
import type { Texts } from '../../i18n/text.tsx'
import { useTexts } from '../../i18n/text.tsx'
import type { Change } from '../../logic/audit-story.ts'
import { windowWords } from '../../logic/format.ts'
import { isLimit, limitWords } from '../../logic/limit-words.ts'
import { namesOf } from '../../logic/settings.ts'
import { visible } from '../../logic/visible.ts'
import { FromTo, type FromToLine } from '../../ui/from-to.tsx'

/** What a dotted path of a change is called within a sentence: `the personal read limit of 1 hour`. */
export function changedName(path: string, { t, language }: Texts): string {
  const windowIn = (name: string) => {
    const words = windowWords(language, name)
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
  // Of an override: `limits.read.1h`.
  if (table === 'limits') return t('audit.name.override', { category: scope, window: windowIn(category) })
  const known = NAMES[path]
  return known === undefined ? windowWords(language, path) : t(known)
}

const NAMES: Readonly<Record<string, Parameters<Texts['t']>[0]>> = {
  mode: 'audit.name.mode',
  shadow: 'audit.name.shadow',
  'global.enabled': 'audit.name.enabled',
  'global.multiplier': 'audit.name.multiplier',
  bypassGlobal: 'audit.name.bypassGlobal',
  factor: 'audit.name.factor',
  periodDay: 'audit.name.periodDay',
  plan: 'audit.name.plan',
  within: 'audit.name.within',
  expiresAt: 'audit.name.expiresAt',
}

/** One value of a change, in the words of the page. */
export function changedValue(path: string, value: unknown, { t, exact, time }: Texts): string {
  if (isLimit(value)) return limitWords(value, { t, exact })
  if (typeof value === 'boolean') return t(value ? 'word.on' : 'word.off')
  if (typeof value !== 'string') return value === undefined || value === null ? t('word.none') : JSON.stringify(value)
  if (path === 'expiresAt') return time(value)
  const mode = path === 'mode' ? MODES.find((known) => known === value) : undefined
  return mode === undefined ? visible(value) : t(`mode.${mode}`)
}

/** The values that a change made different, one line each. */
export function ChangeLines({ changes }: { readonly changes: readonly Change[] }) {
  const texts = useTexts()
  return <FromTo lines={changes.map((each) => lineOf(each, texts))} />
}

/** What was not there before needs no `none`. */
function lineOf({ path, from, to, file }: Change, texts: Texts): FromToLine {
  const { t } = texts
  const isOfSettings = NAMES[path] === undefined ? /^(baselines|custom|plans)\./.test(path) : !OF_OVERRIDES.has(path)
  const unset =
    file === undefined
      ? null
      : t(isOfSettings ? 'audit.fileValue' : 'audit.defaultValue', { value: changedValue(path, file, texts) })
  const nothing = t(isOfSettings ? 'audit.asFile' : path.startsWith('limits.') ? 'audit.asDefault' : 'word.none')
  return {
    key: path,
    name: <bdi>{changedName(path, texts)}</bdi>,
    from: from === undefined ? unset : changedValue(path, from, texts),
    to: to === undefined ? (unset ?? nothing) : changedValue(path, to, texts),
  }
}

const OF_OVERRIDES = new Set(['bypassGlobal', 'factor', 'periodDay', 'plan', 'within', 'expiresAt'])
