import type { NowResponse } from '../../../contract/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { latestRates, rateHistory } from '../../logic/rates.ts'
import { useLooks } from '../../ui/looks.ts'
import { Note } from '../../ui/note.tsx'
import { Loaded, PageTitle } from '../../ui/panel.tsx'
import { Alerts } from './alerts.tsx'
import { Health } from './health.tsx'
import { History } from './history.tsx'
import { Live } from './live.tsx'
import { LetIn, Outage, Unwritten } from './notes.tsx'
import './overview.css'
import { ReplicaPanel } from './replica-panel.tsx'
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
  return (
    <>
      <PageTitle>{t('page.overview')}</PageTitle>
      <Loaded poll={poll}>
        {(now) => (
          <>
            {!now.store.answers && <Outage now={now} />}
            {now.shadow && <Note tone="warn">{t('preview.lateShadow')}</Note>}
            {now.unwritten !== undefined && <Unwritten limits={now.unwritten} file={now.config.file} />}
            {now.authShadow.on && <LetIn letIn={now.authShadow.letIn} />}
            <Live now={now} history={history} />
            <Windows now={now} />
            <History />
            <Top />
            <Alerts />
            <Health now={now} latest={latestRates(history, now)} />
            <ReplicaPanel now={now} left={left} />
          </>
        )}
      </Loaded>
    </>
  )
}
