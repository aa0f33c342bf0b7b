import { type ReactNode, useEffect, useRef } from 'react'
import { t } from '../i18n/text.ts'
import { useFocusBack } from './focus-back.ts'
import { Plain } from './small.tsx'

interface ReviewProps {
  /** A sentence that says from what the figures were counted. Default none. */
  readonly text?: string
  /** Goes back to the form. */
  readonly onBack: () => void
  /** The button that makes the change, beside the one that goes back. Default none, if it is elsewhere. */
  readonly action?: ReactNode
  readonly children: ReactNode
}

/** Shows what a change would do before it is made. It takes the focus, and returns it to the form. */
export function Review({ text = '', onBack, action, children }: ReviewProps) {
  const title = useRef<HTMLHeadingElement>(null)
  useFocusBack(() => title.current?.closest('.panel')?.querySelector('form [type="submit"]'))
  useEffect(() => {
    title.current?.focus({ preventScroll: true })
    // Scrolls to the whole review, and not only to its heading.
    title.current?.parentElement?.scrollIntoView({ block: 'nearest' })
  }, [])
  return (
    <section className="preview" aria-label={t('preview.title')}>
      <h3 ref={title} tabIndex={-1}>
        {t('preview.title')}
      </h3>
      <p className="muted">
        {t('preview.nothing')} {text}
      </p>
      {children}
      <div className="actions">
        {action}
        <Plain onClick={onBack}>{t('preview.back')}</Plain>
      </div>
    </section>
  )
}
