import { Button, CopyButton } from '@mantine/core'
import type { ReactNode } from 'react'
import { useMayChange } from '../api/session.tsx'
import { useTexts } from '../i18n/text.tsx'
import { visible } from '../logic/visible.ts'
import type { Tone } from './note.tsx'

/** A name that somebody else chose: it turns no text around it, and hides nothing. */
export function Name({ of }: { readonly of: string }) {
  return <bdi>{visible(of)}</bdi>
}

export function Tag({ tone, children }: { readonly tone?: Tone; readonly children: ReactNode }) {
  return <span className={`tag ${tone ?? ''}`}>{children}</span>
}

/** A moment in local time; in UTC on hover and for machines. */
export function At({ at }: { readonly at: string }) {
  const { time } = useTexts()
  return (
    <time dateTime={at} title={`${time(at, 'UTC')} UTC`}>
      {time(at)}
    </time>
  )
}

export function Copy({ text }: { readonly text: string }) {
  const { t } = useTexts()
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Button size="compact-sm" variant="default" onClick={copy}>
          <span aria-live="polite">{copied ? t('word.copied') : t('word.copy')}</span>
        </Button>
      )}
    </CopyButton>
  )
}

/** Text to copy: as it stands, with a button. */
export function Copyable({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <section className="copyable" aria-label={label}>
      <pre>{text}</pre>
      <Copy text={text} />
    </section>
  )
}

/** Controls that change something: of no use to a viewer, who is told why. */
export function Changing({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  const { t } = useTexts()
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
  /** Nothing is refused, however full it is. */
  readonly shadow: boolean
}

/** How full a window is, with its words beside it. */
export function Bar({ used, limit, label, shadow }: BarProps) {
  const { t, number, share } = useTexts()
  const part = limit > 0 ? used / limit : 1
  const words = { used: number(used), limit: number(limit), share: share(part) }
  return (
    // biome-ignore lint/a11y/useSemanticElements: browsers do not let a <meter> be drawn alike
    <div
      className={`bar ${fullness(part, shadow)}`}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.min(100, Math.round(part * 100))}
      aria-valuetext={t('now.gaugeValue', words)}
    >
      <div style={{ width: `${Math.min(1, part) * 100}%` }} />
    </div>
  )
}

/** @param part 0 to 1, or more @param shadow nothing is refused, however full it is */
export function fullness(part: number, shadow: boolean): 'good' | 'warn' | 'bad' {
  return part < 0.8 ? 'good' : part < 1 || shadow ? 'warn' : 'bad'
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
