import { Skeleton } from '@mantine/core'
import { type ReactNode, useEffect, useRef } from 'react'
import type { Polled } from '../api/use-poll.ts'
import { t } from '../i18n/text.ts'
import { Failure } from './failure.tsx'
import { focusNear, useFocusBack } from './focus-back.ts'
import { isStoreOut } from './outage.tsx'
import { Plain } from './small.tsx'

/** The heading of a page, which takes the focus when somebody comes to the page. */
export function PageTitle({ children }: { readonly children: ReactNode }) {
  return <h1 tabIndex={-1}>{children}</h1>
}

/** A part of a page with a heading, which takes the focus if the focused element in it disappears. */
export function Panel({
  title,
  text,
  isHidden = false,
  children,
}: {
  readonly title: ReactNode
  readonly text?: ReactNode
  /** Whether the heading is only for people who hear the page. Default false. */
  readonly isHidden?: boolean
  readonly children: ReactNode
}) {
  return (
    <section className="panel">
      <h2 tabIndex={-1} className={isHidden ? 'heard' : ''}>
        {title}
      </h2>
      {text && <p className="muted">{text}</p>}
      {children}
    </section>
  )
}

interface LoadedProps<T> {
  readonly poll: Pick<Polled<T>, 'data' | 'error'>
  /** Whether the page has a banner for an outage of the store. */
  readonly hasBanner?: boolean
  readonly children: (data: T) => ReactNode
}

/** Shows the result of a poll, a placeholder until it comes, or why it is missing or outdated. */
export function Loaded<T>({ poll, hasBanner = false, children }: LoadedProps<T>) {
  const isOut = hasBanner && isStoreOut(poll.error)
  return (
    <>
      {isOut ? (
        <p className="muted">{t(poll.data === null ? 'now.unknown' : 'failed.stale')}</p>
      ) : (
        <Failure poll={poll} />
      )}
      {poll.data !== null && children(poll.data)}
      {poll.data === null && poll.error === null && (
        <div role="status" aria-label={t('app.loading')}>
          <Skeleton height={120} />
        </div>
      )}
    </>
  )
}

interface TurningProps {
  /** `null` on the first page. */
  readonly onFirst?: (() => void) | null
  /** Goes to the previous page; `null` on the first one, and absent if the list does not know it. */
  readonly onBefore?: (() => void) | null
  /** `null` on the last page. */
  readonly onNext: (() => void) | null
  /** Whether the pages are those of a list, or of past events with the latest first. Default `list`. */
  readonly of?: 'list' | 'past'
}

/** The buttons that turn the pages of a list. If the pressed button disappears, the heading gets the focus. */
export function Turning({ onFirst = null, onBefore = null, onNext, of = 'list' }: TurningProps) {
  const buttons = useRef<HTMLDivElement>(null)
  const pressed = useRef<Element>(null)
  const ways = [
    [of === 'list' ? 'word.first' : 'word.newest', onFirst],
    ['word.before', onBefore],
    [of === 'list' ? 'word.next' : 'word.older', onNext],
  ] as const
  useFocusBack(() => buttons.current)
  useEffect(() => {
    const isGone = pressed.current?.isConnected === false && document.activeElement === document.body
    if (isGone && buttons.current !== null) focusNear(buttons.current)
    if (isGone) pressed.current = null
  })
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only notes which button has the focus
    <div
      ref={buttons}
      className="actions"
      onFocus={({ target }) => {
        pressed.current = target
      }}
    >
      {ways.map(
        ([word, go]) =>
          go !== null && (
            <Plain key={word} onClick={go}>
              {t(word)}
            </Plain>
          ),
      )}
    </div>
  )
}
