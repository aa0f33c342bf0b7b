import { Button } from '@mantine/core'
import type { OverrideBody } from '../../../contract/api.ts'
import { useLed, useQuota } from '../../api/session.tsx'
import { number, t } from '../../i18n/text.ts'
import { flatOf, forOrganisation, type Overridable, usedUpUnder } from '../../logic/override.ts'
import { comesBackBehind, topOf } from '../../logic/override-layers.ts'
import { Review } from '../../ui/review.tsx'
import { Note } from '../../ui/small.tsx'
import { EndNotes } from './override-layers.tsx'
import { OverrideLines } from './override-lines.tsx'

interface UsedUpProps {
  /** `null` for none. */
  readonly body: OverrideBody | null
  readonly response: Overridable
}

interface ReviewProps extends UsedUpProps {
  readonly body: OverrideBody
  readonly busy: boolean
  readonly onSave: () => void
  readonly onBack: () => void
}

/** What an override changes, which windows it would block at once, and the button that sets it. */
export function OverrideReview({ body, response, busy, onSave, onBack }: ReviewProps) {
  /** The first day of months after the end, and whether the plan is then the credential's again. */
  const { day, isPlan } = comesBackBehind(body, response)
  const save = (
    <Button loading={busy} onClick={onSave}>
      {t('override.save')}
    </Button>
  )
  return (
    <Review onBack={onBack} action={save}>
      <OverrideLines {...changeOf(body, response)} of={response} />
      <UsedUpNotes body={body} response={response} />
      <EndNotes override={response.override} body={body} />
      {day !== undefined && <p>{day === null ? t('ends.dayBefore') : t('ends.day', { day })}</p>}
      {isPlan && <p>{t('ends.plan')}</p>}
      <p>{t('override.reviewText')}</p>
    </Review>
  )
}

function changeOf(body: OverrideBody, { kind, override }: Overridable) {
  const from = flatOf(topOf(override)) as OverrideBody | null
  if (kind === 'user') return { from, to: body }
  return { from: from && forOrganisation(from), to: forOrganisation(body) }
}

/** The windows without room under an override, or without one. */
export function UsedUpNotes({ body, response }: UsedUpProps) {
  const quota = useQuota()
  const isLead = useLed() !== null
  // Without the settings, the cost of the cheapest request and the gateway's shadow mode are unknown too.
  if (quota === null && !isLead) {
    return body?.shadow === true ? null : (
      <Note tone="warn" live>
        {t('override.unknown')}
      </Note>
    )
  }
  return usedUpUnder(body, response, quota).map(({ scope, category: name, window, used, limit, forever }) => {
    const category = scope === 'Global' ? `${t('word.global')} ${name}` : name
    const words = { category, window, used: number(used), limit: number(limit), who: t(`jump.${response.kind}`) }
    return (
      <Note key={`${scope} ${name} ${window}`} tone="warn" live>
        {quota?.shadow === true
          ? t('override.blocksLater', words)
          : t(forever ? 'override.blocksAll' : 'override.blocks', words)}
      </Note>
    )
  })
}
