import { NativeSelect } from '@mantine/core'
import type { DistributionResponse } from '../../../contract/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { type LimitLine, limitLine, usersFull } from '../../logic/distribution.ts'
import { movedTo } from '../../logic/settings.ts'
import { useFields } from '../../ui/address.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { bound } from '../../ui/form.tsx'
import { Loaded } from '../../ui/panel.tsx'
import { DistributionChart } from './distribution-chart.tsx'
import { useEditing } from './edit.tsx'
import { windowNames } from './names.ts'

/** Every user is looked at for it. */
const EVERY_MS = 60_000

/** What a link has marked is another limit then. */
const UNMARKED = { scope: null, plan: null }

/** Where users lie below a personal limit, which is set by a line over them. */
export function Distribution() {
  const { t, windowName } = useTexts()
  const { quota } = useEditing()
  const [fields, change] = useFields()
  const category = quota.categories.find((each) => each === fields.category) ?? quota.categories[0] ?? ''
  const windows = windowNames(quota).filter((name) => quota.effective.personal[category]?.[name] !== undefined)
  const window = windows.find((each) => each === fields.window) ?? windows[0] ?? ''
  const path = `/api/quota/distribution?${new URLSearchParams({ category, window, settings: 'true' })}`
  const poll = usePoll<DistributionResponse>(category === '' ? null : path, EVERY_MS)
  if (category === '') return null
  return (
    <section className="distribution" aria-label={t('distribution.title')}>
      <h3>{t('distribution.title')}</h3>
      <div className="distribution-choice">
        <NativeSelect
          label={t('word.category')}
          data={[...quota.categories]}
          {...bound(category, (category) => change({ category, ...UNMARKED }))}
        />
        <NativeSelect
          label={t('word.window')}
          data={windows.map((name) => ({ value: name, label: windowName(name) }))}
          {...bound(window, (window) => change({ window, ...UNMARKED }))}
        />
      </div>
      <Loaded poll={poll} hasBanner>
        {(found) => <Found found={found} category={category} window={window} />}
      </Loaded>
    </section>
  )
}

function sentenceOf({ counted, others }: DistributionResponse, { limit, inForce }: LimitLine) {
  if (counted === 0) return others > 0 ? 'distribution.noFollower' : 'distribution.nobody'
  return limit === inForce ? 'distribution.inForce' : 'distribution.above'
}

interface FoundProps {
  readonly found: DistributionResponse
  readonly category: string
  readonly window: string
}

function Found({ found, category, window }: FoundProps) {
  const { t, number } = useTexts()
  const { quota, draft, edit } = useEditing()
  const line = limitLine(quota, draft, { scope: 'personal', category, window })
  if (line === null) return <p className="muted">{t('distribution.none')}</p>
  const words = {
    limit: number(line.limit),
    above: number(usersFull(found, line.limit, quota.cheapest[category] ?? 1)),
    counted: number(found.counted),
  }
  return (
    <>
      <DistributionChart
        shares={found.shares}
        line={line}
        label={t('distribution.line', { category, window })}
        valueText={t('distribution.value', words)}
        onChange={(field) => edit(line.path, movedTo(quota, draft, line.path, field))}
      />
      <p>{t(sentenceOf(found, line), words)}</p>
      {found.others > 0 && <p>{t('distribution.others', { others: number(found.others) })}</p>}
      {found.exempt > 0 && <p>{t('distribution.exempt', { exempt: number(found.exempt) })}</p>}
      <p className="muted">{t('distribution.text')}</p>
      <details>
        <summary>{t('series.table')}</summary>
        <DataTable
          look="small"
          label={t('distribution.title')}
          columns={[
            {
              ...{ id: 'share', head: t('distribution.share') },
              cell: ({ from }) => (from < 100 ? `${from}–${from + 10}%` : '≥ 100%'),
            },
            { id: 'users', head: t('page.users'), count: ({ count }) => count },
          ]}
          rows={found.shares}
          keyOf={({ from }) => String(from)}
        />
      </details>
    </>
  )
}
