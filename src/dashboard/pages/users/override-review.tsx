import { Button } from '@mantine/core'
import { useEffect, useRef } from 'react'
import type { OverrideBody, QuotaAnswer, UserAnswer } from '../../../admin/api.ts'
import { useTexts } from '../../i18n/text.tsx'
import { type UsedUp, usedUpUnder } from '../../logic/override.ts'
import { Differences } from '../../parts/differences.tsx'
import { useFocusBack } from '../../parts/focus-back.ts'
import { Note } from '../../parts/note.tsx'

interface ReviewProps {
  readonly body: OverrideBody
  readonly answer: UserAnswer
  /** `null` where it is not known yet. */
  readonly quota: QuotaAnswer | null
  readonly busy: boolean
  readonly onSave: () => void
  readonly onBack: () => void
}

/** What an override changes, and which windows it would block at once; then the button that sets it. */
export function OverrideReview({ body, answer, quota, busy, onSave, onBack }: ReviewProps) {
  const { t } = useTexts()
  const title = useRef<HTMLHeadingElement>(null)
  useFocusBack(() => title.current?.closest('.panel')?.querySelector('form [type="submit"]'))
  useEffect(() => title.current?.focus(), [])
  return (
    <section className="preview" aria-label={t('preview.title')}>
      <h3 ref={title} tabIndex={-1}>
        {t('preview.title')}
      </h3>
      <p className="muted">{t('preview.nothing')}</p>
      <Differences of={{ what: 'override', from: flat(answer.override), to: body }} />
      <UsedUpNotes windows={usedUpUnder(body, answer, quota)} shadow={quota?.shadow === true} />
      <p>{t('override.reviewText')}</p>
      <div className="actions">
        <Button loading={busy} onClick={onSave}>
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

/**
 * The windows in which the user has nothing left under an override, or under none.
 * @param shadow of the gateway, which lets everybody through
 */
export function UsedUpNotes({ windows, shadow }: { readonly windows: readonly UsedUp[]; readonly shadow: boolean }) {
  const { t, number } = useTexts()
  return windows.map(({ scope, category: of, window, used, limit, forever }) => {
    const category = scope === 'Global' ? `${t('word.global')} ${of}` : of
    return (
      <Note key={`${category} ${window}`} tone="warn" live>
        {shadow
          ? t('override.blocksLater', { category, window, used: number(used), limit: number(limit) })
          : forever
            ? t('override.blocksAll', { category, window, limit: number(limit) })
            : t('override.blocks', { category, window, used: number(used) })}
      </Note>
    )
  })
}
