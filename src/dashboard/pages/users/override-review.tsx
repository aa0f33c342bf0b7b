import { Button } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import type { OverrideBody, UserAnswer } from '../../../admin/api.ts'
import { useTexts } from '../../i18n/text.tsx'
import { Differences } from '../../parts/differences.tsx'
import { Note } from '../../parts/note.tsx'

interface ReviewProps {
  readonly body: OverrideBody
  readonly answer: UserAnswer
  readonly onSave: () => Promise<void>
  readonly onBack: () => void
}

/** What an override changes, and which windows it would block at once; then the button that sets it. */
export function OverrideReview({ body, answer, onSave, onBack }: ReviewProps) {
  const { t, number } = useTexts()
  const [busy, setBusy] = useState(false)
  const title = useRef<HTMLHeadingElement>(null)
  useEffect(() => title.current?.focus(), [])
  return (
    <section className="preview" aria-label={t('preview.title')}>
      <h3 ref={title} tabIndex={-1}>
        {t('preview.title')}
      </h3>
      <p className="muted">{t('preview.nothing')}</p>
      <Differences of={{ what: 'override', from: flat(answer.override), to: body }} />
      {blockedBy(body, answer).map(({ category, window, used }) => (
        <Note key={`${category} ${window}`} tone="warn" live>
          {t('override.blocks', { category, window, used: number(used) })}
        </Note>
      ))}
      <p>{t('override.reviewText')}</p>
      <div className="actions">
        <Button
          loading={busy}
          onClick={() => {
            setBusy(true)
            void onSave().finally(() => setBusy(false))
          }}
        >
          {t('override.save')}
        </Button>
        <Button variant="default" onClick={onBack}>
          {t('preview.back')}
        </Button>
      </div>
    </section>
  )
}

/** In the form of the body, without what no administrator sets. */
function flat(override: UserAnswer['override']): unknown {
  if (override === null) return null
  const { limits, version: _, ...others } = override
  return { ...limits, ...others }
}

/** Running windows with nothing left under the new limits. */
function blockedBy(body: OverrideBody, { windows }: UserAnswer) {
  return Object.entries(windows).flatMap(([category, list]) =>
    list.flatMap(({ scope, window, used }) => {
      const limit = (body[category] as Record<string, number> | undefined)?.[window]
      return scope === 'Personal' && limit !== undefined && used >= limit ? [{ category, window, used }] : []
    }),
  )
}
