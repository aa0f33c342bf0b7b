import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { RefusalsResponse } from '../../../contract/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import type { Owner } from '../../logic/category-usage.ts'
import { hashOf } from '../../logic/location.ts'
import { bound, useForm } from '../../ui/form.tsx'
import { Loaded, Panel } from '../../ui/panel.tsx'
import { RefusalTable } from '../refusals/refusal-table.tsx'

const EVERY_MS = 10_000
const LATEST = 5
/** What is shown of a moment: half an hour before it and behind it. */
const NEAR_MS = 30 * 60_000

/** The latest refusals of a user, or of all users of an organisation, with their reasons, and the way to those around a moment. */
export function RecentRefusals({ of }: { readonly of: Owner }) {
  const { t } = useTexts()
  const query = new URLSearchParams({ ...of, limit: String(LATEST) })
  const kind = 'user' in of ? 'users' : 'organisations'
  const poll = usePoll<RefusalsResponse>(`/api/refusals?${query}`, EVERY_MS)
  return (
    <Panel title={t('page.refusals')} text={t('users.refusals.text')}>
      <Loaded poll={poll} hasBanner>
        {({ refusals }) => (
          <RefusalTable
            label={t('page.refusals')}
            refusals={refusals}
            none={t(`${kind}.refusals.none`)}
            isOfOne={kind === 'users'}
          />
        )}
      </Loaded>
      <p>
        <a href={hashOf('refusals', null, { ...of })}>{t(`${kind}.refusals.all`)}</a>
      </p>
      <AtATime of={of} label={t(`${kind}.refusals.at`)} />
    </Panel>
  )
}

function AtATime({ of, label }: { readonly of: Owner; readonly label: string }) {
  const { t } = useTexts()
  const [local, setLocal] = useState('')
  const at = Date.parse(local)
  const { problems, form } = useForm({
    check: () => ({ at: Number.isNaN(at) && t('problem.time') }),
    send() {
      const iso = (time: number): string => new Date(time).toISOString()
      const fields = { from: iso(at - NEAR_MS), to: iso(at + NEAR_MS), at: iso(at) }
      location.hash = hashOf('refusals', null, { ...of, ...fields })
    },
  })
  return (
    <form className="wrap ends" {...form}>
      <TextInput type="datetime-local" label={label} {...bound(local, setLocal, problems.at)} />
      <Button type="submit" variant="default">
        {t('users.refusals.look')}
      </Button>
    </form>
  )
}
