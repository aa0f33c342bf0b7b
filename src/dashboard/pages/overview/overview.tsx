import type { NowResponse } from '../../../contract/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { hashOf } from '../../logic/location.ts'
import { latestRates, rateHistory } from '../../logic/rates.ts'
import { useLooks } from '../../ui/looks.ts'
import { Meanwhile } from '../../ui/outage.tsx'
import { Loaded, Panel } from '../../ui/panel.tsx'
import { Note } from '../../ui/small.tsx'
import { ReplicaNotes } from '../replicas/notes.tsx'
import { Attention } from './attention.tsx'
import { Figures } from './figures.tsx'
import { Health } from './health.tsx'
import { History } from './history.tsx'
import './overview.css'
import { StandingNotes } from './standing.tsx'
import { Top } from './top.tsx'
import { Windows } from './windows.tsx'

const EVERY_MS = 2000
/** While nobody uses the tab; below the gap that the line of the rates bridges. */
const REST_MS = 15_000

export function OverviewPage() {
  const { t } = useTexts()
  const poll = usePoll<NowResponse>('/api/now', EVERY_MS, REST_MS)
  const { looks, left } = useLooks(poll.data)
  const history = rateHistory(looks)
  const latest = (now: NowResponse) => (now.store.answers ? latestRates(history, now) : undefined)
  return (
    <Loaded poll={poll}>
      {(now) => (
        <>
          {!now.store.answers && (
            <Note tone="warn">
              {t('now.withoutStore')} <Meanwhile storeOutage={now.storeOutage} />
            </Note>
          )}
          <StandingNotes now={now} />
          <Figures latest={latest(now)} />
          <div className="tops">
            <Attention now={now} />
            <Top />
          </div>
          <History />
          <Windows now={now} />
          <Health now={now} latest={latest(now)} />
          <Panel title={t('page.replicas')}>
            <ReplicaNotes now={now} left={left} />
            <p>
              <a href={hashOf('replicas')}>{t('replicas.all')}</a>
            </p>
          </Panel>
        </>
      )}
    </Loaded>
  )
}
