import { Button, Skeleton } from '@mantine/core'
import { type ReactNode, useEffect, useRef } from 'react'
import type { Polled } from '../api/use-poll.ts'
import { t } from '../i18n/text.ts'
import { Failure } from './failure.tsx'
import { focusNear, useFocusBack } from './focus-back.ts'
import { isStoreOut } from './outage.tsx'

/** The heading of a page takes the focus when one comes to it. */
export function PageTitle({ children }: { readonly children: ReactNode }) {
  return <h1 tabIndex={-1}>{children}</h1>
}

/** A part of a page with its heading, which takes the focus where what had it in there is gone. */
export function Panel({
  title,
  text,
  isHidden = false,
  children,
}: {
  readonly title: ReactNode
  readonly text?: ReactNode
  /** The heading is there for who hears the page alone. Default false. */
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
  /** The page has a banner for it where the store is out. */
  readonly hasBanner?: boolean
  readonly children: (data: T) => ReactNode
}

/** What was polled, or that it is on its way, or why it is not there. */
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
  /** `null` at the first page. */
  readonly onFirst?: (() => void) | null
  /** To the page before; `null` at the first one, missing where the list does not know it. */
  readonly onBefore?: (() => void) | null
  /** `null` at the last one. */
  readonly onNext: (() => void) | null
  /** Pages of a list, or of what happened, latest first. */
  readonly of?: 'list' | 'past'
}

/** The buttons that turn over a list. The one that was pressed may be gone, at once or with all of them: the focus is at the heading then. */
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
    // biome-ignore lint/a11y/noStaticElementInteractions: it only sees what in it has the focus
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
            <Button key={word} variant="default" onClick={go}>
              {t(word)}
            </Button>
          ),
      )}
    </div>
  )
}
