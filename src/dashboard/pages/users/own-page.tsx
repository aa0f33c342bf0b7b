import type { ReactNode } from 'react'
import type { InForceResponse } from '../../../contract/api.ts'
import { useLed } from '../../api/session.tsx'
import { usePoll } from '../../api/use-poll.ts'
import { t } from '../../i18n/text.ts'
import type { Kind } from '../../logic/list-filter.ts'
import { type Fields, hashOf } from '../../logic/location.ts'
import { goBackTo } from '../../ui/address.tsx'
import { useKept } from '../../ui/kept-state.tsx'
import { isStoreOut, OutageBanner, useInForce } from '../../ui/outage.tsx'
import { Loaded, PageTitle } from '../../ui/panel.tsx'
import { Name, Note } from '../../ui/small.tsx'
import type { Ways } from './own.ts'
import './users.css'

const NO_FIELDS: Fields = {}
const EVERY_MS = 3000

interface OwnPageProps<T> {
  readonly kind: Kind
  readonly id: string
  /** Content while the store is out, if nothing was read before. Default the reason why nothing is shown. */
  readonly withoutStore?: (inForce: InForceResponse | null) => ReactNode
  readonly children: (response: T, ways: Ways) => ReactNode
}

/** The page of a user or an organisation, with its name and a link back to the list as it was. */
export function OwnPage<T>(props: OwnPageProps<T>) {
  const { kind, id } = props
  const [fields] = useKept<Fields>(`${kind} search`, NO_FIELDS)
  const list = hashOf(kind, null, fields)
  // `.` and `..` are not ids. Browsers take them for steps between folders, even percent-encoded, and would request another address.
  const isStep = id === '.' || id === '..'
  return (
    <>
      <div className="wrap own-head">
        <PageTitle>
          <Name of={id} />
        </PageTitle>
        <a
          href={list}
          onClick={(event) => !event.ctrlKey && !event.metaKey && goBackTo(list) && event.preventDefault()}
        >
          ← {t(`${kind}.back`)}
        </a>
      </div>
      {isStep ? (
        <Note tone="warn">
          <p>{t(`${kind}.dots`)}</p>
        </Note>
      ) : (
        <Content {...props} />
      )}
    </>
  )
}

function Content<T>({ kind, id, withoutStore, children }: OwnPageProps<T>) {
  const path = `/api/${kind}/${encodeURIComponent(id)}`
  const poll = usePoll<T>(path, EVERY_MS)
  const { etag, read, reload } = poll
  const out = isStoreOut(poll.error)
  const inForce = useInForce(out).data
  const isLead = useLed() !== null
  if (out && poll.data === null && !isLead && withoutStore !== undefined) return withoutStore(inForce)
  return (
    <>
      {out && <OutageBanner inForce={inForce} />}
      <Loaded poll={poll} hasBanner>
        {(response) => children(response, { path, etag, read, reload })}
      </Loaded>
    </>
  )
}
