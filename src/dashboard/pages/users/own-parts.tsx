import type { ReactNode } from 'react'
import { useLed } from '../../api/session.tsx'
import { t } from '../../i18n/text.ts'
import { visible } from '../../logic/visible.ts'
import { Parts } from '../../ui/parts.tsx'
import { ForOperators, Note } from '../../ui/small.tsx'
import { ExplainForm } from './explain.tsx'
import { Grants } from './grants.tsx'
import { OverrideEditor } from './override.tsx'
import { type Own, OwnContext } from './own.ts'
import { Person, Reset } from './own-data.tsx'
import { OwnUsage, RecentRefusals } from './own-usage.tsx'
import { QuickActions } from './quick-actions.tsx'

interface OwnPartsProps extends Own {
  /** Whether nothing is kept of the name, so that it may be misspelt. */
  readonly unseen: boolean
  /** The windows of the owner, which are always beside the chosen part. */
  readonly windows: ReactNode
}

/** The most frequent actions for an owner, its windows, and one chosen part beside them. */
export function OwnParts({ unseen, windows, ...own }: OwnPartsProps) {
  const isLead = useLed() !== null
  const { kind, id } = own.response
  const isUser = kind === 'user'
  const part = (name: string, label: string, content: ReactNode, isShown: boolean) =>
    isShown ? [{ id: name, label, content }] : []
  const use = (
    <>
      <RecentRefusals />
      <OwnUsage />
    </>
  )
  const data = (
    <>
      <Reset />
      {isUser && <Person />}
    </>
  )
  return (
    <OwnContext value={own}>
      {unseen && <Note tone="warn">{t('users.unseen', { name: visible(id) })}</Note>}
      <ForOperators>
        <QuickActions />
      </ForOperators>
      <div className="columns">
        {windows}
        <Parts
          of={[
            ...part('use', t('parts.use'), use, true),
            ...part('override', t('override.title'), <OverrideEditor />, isUser || !isLead),
            ...part('grants', t('grants.title'), <Grants />, !isLead),
            ...part('explain', t('explain.title'), <ExplainForm user={id} />, isUser && !isLead),
            ...part('data', t(isUser ? 'parts.data' : 'reset.title'), data, !isLead),
          ]}
        />
      </div>
    </OwnContext>
  )
}
