import type { TokensResponse } from '../../../contract/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { t } from '../../i18n/text.ts'
import { Loaded, Panel } from '../../ui/panel.tsx'
import { KeyList } from './key-list.tsx'
import { NewKey } from './new-key.tsx'
import './keys.css'

const EVERY_MS = 10_000
const NO_KEYS: TokensResponse['tokens'] = []

/** The page of access keys, to make, find and revoke them. */
export function KeysPage() {
  const poll = usePoll<TokensResponse>('/api/tokens', EVERY_MS)
  return (
    <>
      <NewKey read={poll.read} reload={poll.reload} keys={poll.data?.tokens ?? NO_KEYS} />
      <Panel title={t('keys.title')}>
        <Loaded poll={poll}>{({ tokens }) => <KeyList keys={tokens} read={poll.read} reload={poll.reload} />}</Loaded>
      </Panel>
    </>
  )
}
