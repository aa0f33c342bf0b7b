import type { QuotaAnswer } from '../../../admin/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { Loaded, PageTitle } from '../../parts/panel.tsx'
import { Adaptive } from './adaptive.tsx'
import { Failures } from './failures.tsx'
import { Settings } from './settings.tsx'

const EVERY_MS = 5000

export function QuotasPage() {
  const { t } = useTexts()
  const poll = usePoll<QuotaAnswer>('/api/quota', EVERY_MS)
  return (
    <>
      <PageTitle>{t('page.quotas')}</PageTitle>
      <Failures />
      <Loaded poll={poll}>
        {(quota) => (
          <>
            <Adaptive quota={quota} />
            <Settings quota={quota} etag={poll.etag} reload={poll.reload} take={poll.take} />
          </>
        )}
      </Loaded>
    </>
  )
}
