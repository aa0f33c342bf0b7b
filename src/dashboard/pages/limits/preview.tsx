import type { PreviewResponse, SettingsInForceResponse } from '../../../contract/api.ts'
import { useTexts } from '../../i18n/text.tsx'
import { changesOf, type Draft } from '../../logic/settings.ts'
import { Review } from '../../ui/review.tsx'
import { Note } from '../../ui/small.tsx'
import { BlockedOrganisations, BlockedUsers } from './preview-blocked.tsx'
import { ChangeList, LimitTable, Room, TooDear, TooSmall } from './preview-limits.tsx'
import { UnfollowedValues } from './unfollowed.tsx'
import { Yesterday } from './yesterday.tsx'

interface PreviewProps {
  readonly quota: SettingsInForceResponse
  readonly draft: Draft
  readonly response: PreviewResponse
  readonly at: Date
  readonly onBack: () => void
}

/** What a change would do, from the live counters. */
export function Preview({ quota, draft, response, at, onBack }: PreviewProps) {
  const { t, number, time } = useTexts()
  const shadow = (changesOf(quota, draft).find(({ path }) => path === 'shadow')?.to ?? quota.shadow) === true
  return (
    <Review text={t('preview.counted', { time: time(at) })} onBack={onBack}>
      <h4>{t('page.users')}</h4>
      {shadow && <Note tone="warn">{t('preview.lateShadow')}</Note>}
      <BlockedUsers response={response} />
      {response.movesNobody ? (
        <Note tone="warn">{t('preview.movesNobody')}</Note>
      ) : (
        <p>{t('preview.moved', { moved: number(response.movedCount), scanned: number(response.scanned) })}</p>
      )}
      <UnfollowedValues values={response.unfollowed} />
      <BlockedOrganisations response={response} />
      <ChangeList quota={quota} draft={draft} />
      <h4>{t('preview.limits')}</h4>
      <LimitTable quota={quota} response={response} />
      <TooSmall quota={quota} response={response} />
      <TooDear response={response} />
      <Yesterday found={response.yesterday} />
      <h4>{t('preview.room')}</h4>
      <Room response={response} cheapest={quota.cheapest} shadow={shadow} />
    </Review>
  )
}
