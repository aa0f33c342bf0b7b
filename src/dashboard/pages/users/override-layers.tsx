import type { OverrideBody } from '../../../contract/api.ts'
import { t, windowName } from '../../i18n/text.ts'
import { limitWords } from '../../logic/limit-words.ts'
import type { Overridable } from '../../logic/override.ts'
import { type EndNote, endsUnder, isFactor, type Lying, lying } from '../../logic/override-layers.ts'
import { visible } from '../../logic/visible.ts'
import { Filled } from '../../ui/filled.tsx'
import { Moment } from '../../ui/moment.tsx'
import { Name, Tag } from '../../ui/small.tsx'

type Of = Pick<Overridable, 'override'>

/** The overrides of one owner that lie above each other. Nothing if there is at most one. */
export function OverrideLayers({ override }: Of) {
  const all = lying(override)
  if (all.length < 2) return null
  return (
    <>
      <p className="muted">{t('layers.title')}</p>
      <ol className="plain layers" aria-label={t('layers.title')}>
        {all.map((one) => (
          <li key={one.id}>
            <Tag tone={one.state === 'in_force' ? 'good' : 'info'}>{t(`layers.state.${one.state}`)}</Tag> {wordsOf(one)}
            : <Name of={reasonOf(one)} />{' '}
            <span className="muted">
              <Until of={one} words="layers" />
              {one.who !== null && <Filled text={t('layers.by')} parts={{ who: <Name of={one.who} /> }} />}
            </span>
          </li>
        ))}
      </ol>
    </>
  )
}

function reasonOf({ value, why }: Lying): string {
  return value.reason ?? why ?? ''
}

/** The content of one override in a line: `read 1h: 3,000, plan pro`. */
function wordsOf({ value }: Lying): string {
  const { limits = {}, factor, periodDay, plan, bypassGlobal, shadow } = value
  const rows = Object.entries(limits).flatMap(([category, row]) =>
    Object.entries(row).map(([window, limit]) => {
      return `${category} ${windowName(window)} ${limitWords(limit)}`
    }),
  )
  const all = [
    ...rows,
    ...(factor === undefined ? [] : [t(isFactor(value) ? 'layers.factor' : 'layers.factorOfLimits', { factor })]),
    ...(periodDay === undefined ? [] : [t('periodDay', { day: periodDay })]),
    ...(plan === undefined ? [] : [t('source.plan', { plan: visible(plan) })]),
    ...(bypassGlobal === true ? [t('users.bypass')] : []),
    ...(shadow === true ? [t('users.shadow')] : []),
  ]
  return all.join(t('word.listComma'))
}

interface EndNotesProps extends Of {
  /** The new override; `null` removes all that are set. */
  readonly body: OverrideBody | null
}

/** Which ends a change adds, moves and removes, and what is in force after them. */
export function EndNotes({ override, body }: EndNotesProps) {
  return endsUnder(override, body).map((note) => (
    <p key={note.kind === 'dropped' ? note.id : note.kind} className="ends">
      <EndText note={note} />
    </p>
  ))
}

function EndText({ note }: { readonly note: EndNote }) {
  const at = <Moment at={note.at} />
  if (note.kind === 'dropped') {
    return <Filled text={t('ends.dropped')} parts={{ at, why: <Name of={note.why} /> }} />
  }
  const from = note.kind === 'moved' && <Moment at={note.from} />
  return (
    <>
      <Filled text={t(`ends.${note.kind}`)} parts={{ at, from }} />{' '}
      {note.next.length === 0 ? t('ends.thenNothing') : <Then of={note.next} />}
    </>
  )
}

/** What is in force after an end: the uppermost override, and what it multiplies. */
function Then({ of }: { readonly of: readonly Lying[] }) {
  return of.map((one, place) => (
    <span key={one.id}>
      <Filled
        text={t(place === 0 ? 'ends.then' : 'ends.thenOver')}
        parts={{ why: <Name of={reasonOf(one)} />, what: wordsOf(one) }}
      />{' '}
      <Until of={one} words="ends" />{' '}
    </span>
  ))
}

function Until({ of: { until }, words }: { readonly of: Lying; readonly words: 'layers' | 'ends' }) {
  if (until === null) return t(`${words}.forGood`)
  return <Filled text={t(`${words}.until`)} parts={{ at: <Moment at={until} /> }} />
}
