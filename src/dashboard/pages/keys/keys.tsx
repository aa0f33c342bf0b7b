import { t } from '../../i18n/text.ts'
import { Loaded, Panel } from '../../ui/panel.tsx'
import { KeyList } from './key-list.tsx'
import { NewKey } from './new-key.tsx'
import { useKeys } from './use-new-key.ts'
import './keys.css'

/** The page of access keys, to make, find and revoke them. */
export function KeysPage() {
  return (
    <>
      <NewKey />
      <Panel title={t('keys.title')}>
        <Loaded poll={useKeys()}>{({ tokens }) => <KeyList keys={tokens} />}</Loaded>
      </Panel>
    </>
  )
}
