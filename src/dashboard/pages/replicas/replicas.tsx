import type { NowResponse } from '../../../contract/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { replicaRates, SPAN } from '../../logic/rates.ts'
import { useLooks } from '../../ui/looks.ts'
import { Loaded, Panel } from '../../ui/panel.tsx'
import { AilingNote, ailingOf, ReplicaNotes } from './notes.tsx'
import { ReplicaTable } from './table.tsx'

const EVERY_MS = 2000
/** While nobody uses the tab. */
const REST_MS = 15_000

/** The processes that share the store: whether they decide alike, and what each of them does. */
export function ReplicasPage() {
  const { t } = useTexts()
  const poll = usePoll<NowResponse>('/api/now', EVERY_MS, REST_MS)
  const { looks, left } = useLooks(poll.data)
  const [before, after] = [looks.at(-1 - SPAN), looks.at(-1)]
  const rates = before === undefined || after === undefined ? null : replicaRates(before, after)
  return (
    <Loaded poll={poll}>
      {(now) => (
        <Panel title={t('replicas.title')} text={t('replicas.text')}>
          <ReplicaNotes now={now} left={left} />
          <AilingNote of={ailingOf(now)} />
          {now.replicas !== null && now.replicas.length > 0 && <ReplicaTable now={now} rates={rates ?? new Map()} />}
        </Panel>
      )}
    </Loaded>
  )
}
