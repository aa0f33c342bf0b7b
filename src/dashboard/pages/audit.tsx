import { Button } from '@mantine/core'
import { useState } from 'react'
import type { AuditResponse } from '../../admin/api.ts'
import { usePoll } from '../api/use-poll.ts'
import { useTexts } from '../i18n/text.tsx'
import { hashOf } from '../logic/location.ts'
import { Differences } from '../ui/differences.tsx'
import { Loaded, PageTitle, Panel, Rows, Turning } from '../ui/panel.tsx'
import { At, Name } from '../ui/small.tsx'

const EVERY_MS = 5000
const A_PAGE = 50
type Entry = AuditResponse['entries'][number]

export function AuditPage() {
  const { t } = useTexts()
  const [before, setBefore] = useState<number | null>(null)
  const search = new URLSearchParams({ limit: String(A_PAGE), ...(before !== null && { before: String(before) }) })
  const poll = usePoll<AuditResponse>(`/api/audit?${search}`, EVERY_MS)
  return (
    <>
      <PageTitle>{t('page.audit')}</PageTitle>
      <Panel title={t('audit.title')}>
        <Loaded poll={poll}>
          {({ entries, next, forgotten }) => (
            <>
              {entries.length === 0 ? <p className="muted">{t('audit.none')}</p> : <Entries entries={entries} />}
              {forgotten > 0 && <p className="muted">{t('audit.forgotten', { count: forgotten })}</p>}
              <Turning>
                {before !== null && (
                  <Button variant="default" onClick={() => setBefore(null)}>
                    {t('word.newest')}
                  </Button>
                )}
                {next !== null && (
                  <Button variant="default" onClick={() => setBefore(next)}>
                    {t('word.older')}
                  </Button>
                )}
              </Turning>
            </>
          )}
        </Loaded>
      </Panel>
    </>
  )
}

function Entries({ entries }: { readonly entries: readonly Entry[] }) {
  const { t } = useTexts()
  return (
    <Rows
      label={t('audit.title')}
      head={['#', t('audit.when'), t('audit.who'), t('audit.what'), t('word.change'), t('audit.why')]}
    >
      {entries.map((entry) => (
        <tr key={entry.version}>
          <th scope="row" className="num">
            {entry.version}
          </th>
          <td>
            <At at={entry.at} />
          </td>
          <td>
            <bdi>{entry.who}</bdi>
          </td>
          <td>
            {t(`audit.${entry.what}`)} <Subject entry={entry} />
          </td>
          <td>
            <Differences of={entry} />
          </td>
          <td>
            <bdi>{entry.why ?? '–'}</bdi>
          </td>
        </tr>
      ))}
    </Rows>
  )
}

function Subject({ entry: { what, subject } }: { readonly entry: Entry }) {
  if (subject === null) return null
  // `global:read`, `organisation:read:acme`
  if (what === 'quota_reset') return <code>{subject.replace(/^global:/, '')}</code>
  if (what === 'token_created' || what === 'token_revoked') return <code>{subject}</code>
  return (
    <a href={hashOf(what === 'organisation_override' ? 'organisations' : 'users', subject)}>
      <Name of={subject} />
    </a>
  )
}
