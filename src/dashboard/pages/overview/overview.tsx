import { useEffect, useState } from 'react'
import type { NowResponse } from '../../../admin/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { KEPT, type Left, leftBetween, type Rates, rateHistory } from '../../logic/rates.ts'
import { Note } from '../../ui/note.tsx'
import { Loaded, PageTitle } from '../../ui/panel.tsx'
import { Replicas } from '../replicas.tsx'
import { Alerts } from './alerts.tsx'
import { Health } from './health.tsx'
import { History } from './history.tsx'
import { Live } from './live.tsx'
import { LetIn, Outage } from './notes.tsx'
import './overview.css'
import { Top } from './top.tsx'
import { Windows } from './windows.tsx'

const EVERY_MS = 2000

export function OverviewPage() {
  const { t } = useTexts()
  const poll = usePoll<NowResponse>('/api/now', EVERY_MS)
  const history = useHistory(poll.data)
  const left = useLeft(poll.data)
  return (
    <>
      <PageTitle>{t('page.overview')}</PageTitle>
      <Loaded poll={poll}>
        {(now) => (
          <>
            {!now.store.answers && <Outage now={now} />}
            {now.shadow && <Note tone="warn">{t('preview.lateShadow')}</Note>}
            {now.authShadow.on && <LetIn letIn={now.authShadow.letIn} />}
            <Live now={now} history={history} />
            <Windows now={now} />
            <History />
            <Top />
            <Alerts />
            <Health now={now} latest={history.at(-1)} />
            <Replicas now={now} left={left} />
          </>
        )}
      </Loaded>
    </>
  )
}

/** The rates since the page was opened, as far as they are kept. */
function useHistory(now: NowResponse | null): Rates[] {
  const [looks, setLooks] = useState<readonly NowResponse[]>([])
  useEffect(() => {
    if (now?.store.answers) setLooks((before) => [...before, now].slice(-KEPT))
  }, [now])
  return rateHistory(looks)
}

/** Replicas that were here since the page was opened, and are gone: latest first. */
function useLeft(now: NowResponse | null): readonly Left[] {
  const [left, setLeft] = useState<readonly Left[]>([])
  const [before, setBefore] = useState<NowResponse | null>(null)
  // While the store is out nobody can be missed. Set while rendering, so that the list never shows a replica twice.
  if (now !== null && now !== before && now.store.answers) {
    setBefore(now)
    if (before !== null) setLeft([...leftBetween(before, now), ...left].slice(0, LEFT_KEPT))
  }
  return left
}

const LEFT_KEPT = 10
