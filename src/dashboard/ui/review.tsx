import { Button } from '@mantine/core'
import { type ReactNode, useEffect, useRef } from 'react'
import { t } from '../i18n/text.ts'
import { useFocusBack } from './focus-back.ts'

interface ReviewProps {
  /** Of what it was counted. */
  readonly text?: string
  /** Goes back to the form. */
  readonly onBack: () => void
  /** What makes the change, beside the way back. Default nothing: it is elsewhere. */
  readonly action?: ReactNode
  readonly children: ReactNode
}

/** What a change would do, before it is made. It takes the focus, and gives it back to the form. */
export function Review({ text = '', onBack, action, children }: ReviewProps) {
  const title = useRef<HTMLHeadingElement>(null)
  useFocusBack(() => title.current?.closest('.panel')?.querySelector('form [type="submit"]'))
  useEffect(() => {
    title.current?.focus({ preventScroll: true })
    // The whole of it, and not the heading alone.
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
        <Button variant="default" onClick={onBack}>
          {t('preview.back')}
        </Button>
      </div>
    </section>
  )
}
