import { MODES } from '../../quota/limit-layers.ts'
import type { TextKey } from '../i18n/en.ts'
import { number, t } from '../i18n/text.ts'

/** The API's text for a step of a limit, the key of its translation, and the names of the captured parts. */
type Form = readonly [pattern: RegExp, key: TextKey]

const PLACE = String.raw`(?: \((?<place>[^()]*)\))?`
const WHY = String.raw`(?: \((?<why>.*)\))?`
const PLAN = String.raw`^plan (?<plan>.+?)${PLACE}: (?<value>\d+)`

const MONTHS = String.raw`^months begin with day (?<value>\d+): `

const FORMS: readonly Form[] = [
  [new RegExp(`^baseline (?<value>\\d+)${PLACE}$`), 'step.baseline'],
  [new RegExp(`^custom (?<value>\\d+)${PLACE}$`), 'step.custom'],
  [new RegExp(`${PLAN}$`), 'step.plan'],
  [new RegExp(`${PLAN}, by default$`), 'step.planDefault'],
  [new RegExp(`${PLAN}, by override${WHY}$`, 's'), 'step.planOverride'],
  [/^mode (?<mode>\w+) x (?<factor>\S+)$/, 'step.mode'],
  [/^multiplier x (?<factor>\S+)$/, 'step.multiplier'],
  [/^rounded to (?<value>\d+)$/, 'step.rounded'],
  [new RegExp(`^override (?<value>\\d+)${WHY}$`, 's'), 'step.override'],
  [new RegExp(`^override of the organisation: (?<value>\\d+)${WHY}$`, 's'), 'step.organisation'],
  [new RegExp(`${MONTHS}plan (?<plan>.+)$`), 'step.dayOfPlan'],
  [new RegExp(`${MONTHS}the credential$`), 'step.dayOfCredential'],
  [new RegExp(`${MONTHS}override of the organisation${WHY}$`, 's'), 'step.dayOfOrganisation'],
  [new RegExp(`${MONTHS}override${WHY}$`, 's'), 'step.dayOfOverride'],
  [/^reserve: (?<value>\d+) of (?<whole>\d+) are kept for known users$/, 'step.reserve'],
]

/** One layer of a limit in words: for `mode loose x 1.5` "Mode Loose: × 1.5". An unknown step stays unchanged. */
export function stepWords(step: string): string {
  for (const [pattern, key] of FORMS) {
    const groups = pattern.exec(step)?.groups
    if (groups === undefined) continue
    const behind = groups.place ?? groups.why
    const words = t(key, {
      plan: groups.plan ?? '',
      value: number(Number(groups.value)),
      whole: number(Number(groups.whole)),
      factor: groups.factor ?? '',
      mode: modeWords(groups.mode),
    })
    return behind === undefined ? words : t('step.behind', { words, behind })
  }
  return step
}

function modeWords(mode: string | undefined): string {
  const known = MODES.find((each) => each === mode)
  return known === undefined ? (mode ?? '') : t(`mode.${known}`)
}
