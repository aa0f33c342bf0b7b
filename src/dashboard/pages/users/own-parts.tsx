import type { ReactNode } from 'react'
import type { QuotaResponse, UserResponse } from '../../../contract/api.ts'
import { useLed } from '../../api/session.tsx'
import { t } from '../../i18n/text.ts'
import { visible } from '../../logic/visible.ts'
import { Parts } from '../../ui/parts.tsx'
import { ForOperators, Note } from '../../ui/small.tsx'
import { ExplainForm } from './explain.tsx'
import { Grants } from './grants.tsx'
import { OverrideEditor } from './override.tsx'
import { Person, Reset } from './own-data.tsx'
import { OwnUsage, RecentRefusals } from './own-usage.tsx'
import { QuickActions } from './quick-actions.tsx'
import type { OverrideProps } from './use-override.ts'

interface OwnPartsProps extends OverrideProps {
  /** `null` if it is not known yet. */
  readonly quota: QuotaResponse | null
  /** Whether nothing is charged to the user. Default not so. */
  readonly exempt?: boolean
  /** Whether nothing is kept of the name, so that it may be misspelt. Default not so. */
  readonly unseen?: boolean
  /** With which months begin, of whom they do not with the first. */
  readonly periodDay: UserResponse['periodDay'] | undefined
  /** What always stands beside the part that is chosen. */
  readonly windows: ReactNode
}

/** What is done most often to a user or an organisation, the windows, and beside them one part. */
export function OwnParts({ quota, exempt = false, unseen = false, periodDay, windows, ...props }: OwnPartsProps) {
  const isLead = useLed() !== null
  const { response, path, etag, read, reload } = props
  const { kind, id } = response
  const isUser = kind === 'user'
  const of = isUser ? { user: id } : { organisation: id }
  const part = (name: string, label: string, content: ReactNode, isShown: boolean) =>
    isShown ? [{ id: name, label, content }] : []
  const use = (
    <>
      <RecentRefusals of={of} />
      <OwnUsage of={of} day={periodDay?.day ?? 1} />
    </>
  )
  const data = (
    <>
      <Reset {...{ id, path, read, reload }} text={isUser ? 'reset.text' : 'organisations.reset'} />
      {isUser && <Person {...{ id, path, read, reload }} />}
    </>
  )
  return (
    <>
      {unseen && <Note tone="warn">{t('users.unseen', { name: visible(id) })}</Note>}
      <ForOperators>
        <QuickActions {...{ exempt, etag, path, read }} of={response} />
      </ForOperators>
      <div className="columns">
        {windows}
        <Parts
          of={[
            ...part('use', t('parts.use'), use, true),
            ...part('override', t('override.title'), <OverrideEditor {...props} quota={quota} />, isUser || !isLead),
            ...part(
              'grants',
              t('grants.title'),
              <Grants of={of} categories={Object.keys(response.windows)} />,
              !isLead,
            ),
            ...part('explain', t('explain.title'), <ExplainForm user={id} />, isUser && !isLead),
            ...part('data', t(isUser ? 'parts.data' : 'reset.title'), data, !isLead),
          ]}
        />
      </div>
    </>
  )
}
