import { Button } from '@mantine/core'
import { useTexts } from '../../i18n/text.tsx'
import { halfHourOf } from '../../logic/half-hour.ts'
import { useFields } from '../../ui/address.tsx'
import { rangeWords, useRange } from '../../ui/range.tsx'

/** What time the page is about: the range, or the half-hour that was chosen, with the way back. It has one place for both. */
export function TimeInQuestion() {
  const texts = useTexts()
  const { t, span } = texts
  const [{ half }, change] = useFields()
  const range = useRange()
  const chosen = halfHourOf(half)
  return (
    <p className="wrap error-time">
      <span aria-live="polite">
        {chosen === null
          ? t(range.name === null ? 'errors.ofDates' : 'errors.ofRange', { range: rangeWords(range, texts) })
          : t('errors.ofHalfHour', { span: span(chosen.from, chosen.to) })}
      </span>
      {chosen !== null && (
        <Button size="compact-sm" variant="default" onClick={() => change({ half: null })}>
          {t('errors.wholeRange')}
        </Button>
      )}
    </p>
  )
}
