import { Alert, Button } from '@mantine/core'
import { type ComponentProps, type ReactNode, useEffect, useRef, useState } from 'react'
import { useLed, useMayChange } from '../api/session.tsx'
import { number, share, t, time } from '../i18n/text.ts'
import { hashOf, type Page } from '../logic/location.ts'
import { visible } from '../logic/visible.ts'

export type Tone = 'good' | 'warn' | 'bad' | 'info'
const COLOURS = { good: 'green', warn: 'yellow', bad: 'red', info: 'blue' } as const

/** A coloured note, which says everything in words too. `live` notes are read aloud when they appear. */
export function Note({
  tone,
  title,
  live = tone === 'bad' || tone === 'good',
  children,
}: {
  readonly tone: Tone
  readonly title?: ReactNode
  readonly live?: boolean
  readonly children?: ReactNode
}) {
  // Without a role Mantine makes the note an alert, which screen readers read aloud at once.
  const role = live ? (tone === 'bad' ? 'alert' : 'status') : 'note'
  return (
    <Alert color={COLOURS[tone]} title={title} role={role} className="note">
      {children}
    </Alert>
  )
}

/** A name that somebody else chose. It cannot reverse the text around it, and hides no characters. */
export function Name({ of }: { readonly of: string }) {
  return <bdi>{visible(of)}</bdi>
}

/** A user or an organisation as a link to its page. */
export function WayTo({ page, id }: { readonly page: Page; readonly id: string }) {
  return (
    <a href={hashOf(page, id)} title={id}>
      <Name of={id} />
    </a>
  )
}

interface TagProps {
  readonly tone?: Tone
  /** A longer explanation. Default none. */
  readonly title?: string
  readonly children: ReactNode
}

export function Tag({ tone, title, children }: TagProps) {
  return (
    <span className={`tag ${tone ?? ''}`} title={title}>
      {children}
    </span>
  )
}

/** A moment in local time, with UTC on hover and for programs. */
export function At({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={`${time(at, 'UTC')} UTC`}>
      {time(at)}
    </time>
  )
}

/** A button that looks less important than the one that sends a form. */
export function Plain(props: ComponentProps<typeof Button<'button'>>) {
  return <Button variant="default" {...props} />
}

const COPIED_MS = 2000

/** A text with a button that copies it. */
export function Copyable({ text, label }: { readonly text: string; readonly label: string }) {
  const shown = useRef<HTMLPreElement>(null)
  const [state, setState] = useState<'copy' | 'copied' | 'selected'>('copy')
  useEffect(() => {
    if (state !== 'copied') return
    const timer = setTimeout(() => setState('copy'), COPIED_MS)
    return () => clearTimeout(timer)
  }, [state])

  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(text)
      setState('copied')
    } catch {
      setState(shown.current !== null && copySelected(shown.current) ? 'copied' : 'selected')
    }
  }
  return (
    <section className="wrap copyable" aria-label={label}>
      <pre ref={shown}>{text}</pre>
      <Plain size="compact-sm" onClick={() => void copy()}>
        <span aria-live="polite">{t(`word.${state}`)}</span>
      </Plain>
    </section>
  )
}

/** Browsers have no clipboard for a page without TLS, except on this machine. But they can copy a selection. */
function copySelected(element: HTMLElement): boolean {
  getSelection()?.selectAllChildren(element)
  return document.execCommand('copy')
}

/** Content for operators, which a lead does not need. */
export function ForOperators({ children }: { readonly children: ReactNode }) {
  return useLed() === null ? children : null
}

/** Controls that change something. A viewer cannot use them, and sees why. */
export function Changing({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  const may = useMayChange()
  return (
    <fieldset className="changing" disabled={!may} aria-label={label}>
      {!may && <p className="viewer">{t('app.viewer')}</p>}
      {children}
    </fieldset>
  )
}

interface BarProps {
  readonly used: number
  readonly limit: number
  readonly label: string
  /** Whether shadow mode is on, so that nothing is refused even if the window is full. */
  readonly shadow: boolean
  /** Whether no request fits any more: some tokens may be left, or a soft limit may be passed while requests still fit. */
  readonly isFull: boolean
}

/** How full a window is, with words beside it. */
export function Bar({ used, limit, label, shadow, isFull }: BarProps) {
  const part = limit > 0 ? used / limit : 1
  const words = { used: number(used), limit: number(limit), share: share(part) }
  return (
    // biome-ignore lint/a11y/useSemanticElements: a <meter> cannot be drawn alike in all browsers
    <div
      className={`bar ${fullness(part, isFull, shadow)}`}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.min(100, Math.floor(part * 100))}
      aria-valuetext={t('now.gaugeValue', words)}
    >
      <div style={{ width: `${Math.min(1, part) * 100}%` }} />
    </div>
  )
}

/** The colour of a window: `bad` only if it is full and refuses. @param part used, 0 to 1 or more */
function fullness(part: number, isFull: boolean, shadow: boolean): 'good' | 'warn' | 'bad' {
  if (isFull && !shadow) return 'bad'
  return isFull || part >= 0.8 ? 'warn' : 'good'
}

/** Names and values, side by side. */
export function Facts({ children }: { readonly children: ReactNode }) {
  return <dl className="facts">{children}</dl>
}

export function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
