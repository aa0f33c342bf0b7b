import type { PreviewResponse, SettingsInForceResponse } from '../../../contract/api.ts'
import { lacksRoom } from '../../../quota/window.ts'
import { number, t, windowName } from '../../i18n/text.ts'
import { inOneList } from '../../logic/by-category.ts'
import { limitName } from '../../logic/limit-words.ts'
import { changesOf, type Draft, noneFits } from '../../logic/settings.ts'
import { visible } from '../../logic/visible.ts'
import { DataTable } from '../../ui/data-table.tsx'
import { FromTo } from '../../ui/from-to.tsx'
import { Note, Tag } from '../../ui/small.tsx'
import { nameOf, SCOPES, shownValue, windowNames, wordOf } from './names.ts'

/** The values that a change sets. */
export function ChangeList({ quota, draft }: { readonly quota: SettingsInForceResponse; readonly draft: Draft }) {
  return (
    <>
      <h4>{t('preview.changes')}</h4>
      <FromTo
        lines={changesOf(quota, draft).map(({ path, from, to, toFile }) => ({
          ...{ key: path, name: nameOf(path) },
          ...{ from: shownValue(from), to: shownValue(to) },
          more: toFile && (
            <>
              {' '}
              <Tag tone="info">{t('preview.toFile')}</Tag>
            </>
          ),
        }))}
      />
    </>
  )
}

const OF_PLAN = ['personal', 'organisation'] as const
const OF_DEFAULT = ['organisation'] as const

type Limited = SettingsInForceResponse | PreviewResponse

interface PreviewOf {
  readonly quota: SettingsInForceResponse
  readonly response: PreviewResponse
}

/** The limits in force that it changes. */
export function LimitTable({ quota, response }: PreviewOf) {
  const shown = (limit: number | undefined, beyond: number | undefined) => {
    if (limit === undefined) return '–'
    return beyond === undefined ? number(limit) : `${number(limit)} ${t('word.over', { over: number(beyond) })}`
  }
  const changed = (name: string, textOf: (of: Limited, category: string, window: string) => string) =>
    quota.categories.flatMap((category) =>
      windowNames(quota).flatMap((window) => {
        const [before, after] = [quota, response].map((of) => textOf(of, category, window))
        return before === after ? [] : [{ name: `${name} ${category} ${windowName(window)}`, before, after }]
      }),
    )
  const ofPlan = (plan: string, scope: 'personal' | 'organisation') =>
    `${t('plans.name', { plan: visible(plan) })}: ${t(wordOf(scope))}`
  // Personal limits of users without a plan are those of the default plan.
  const nameOf = (scope: (typeof SCOPES)[number]) =>
    scope === 'personal' && quota.defaultPlan != null ? ofPlan(quota.defaultPlan, scope) : t(wordOf(scope))
  const rows = [
    ...SCOPES.flatMap((scope) =>
      changed(nameOf(scope), ({ effective, over }, category, window) =>
        shown(effective[scope][category]?.[window], over?.[scope][category]?.[window]),
      ),
    ),
    ...Object.keys(response.effective.plans ?? {}).flatMap((plan) =>
      (plan === quota.defaultPlan ? OF_DEFAULT : OF_PLAN).flatMap((scope) =>
        changed(ofPlan(plan, scope), ({ effective }, category, window) =>
          shown(effective.plans?.[plan]?.[scope][category]?.[window], undefined),
        ),
      ),
    ),
  ]
  return (
    <DataTable
      look="small"
      label={t('preview.limits')}
      columns={[
        { id: 'window', head: t('word.window'), cell: ({ name }) => name },
        { id: 'now', head: t('preview.now'), isNumber: true, cell: ({ before }) => before },
        { id: 'then', head: t('preview.then'), isNumber: true, cell: ({ after }) => after },
      ]}
      rows={rows}
      none={t('preview.sameLimits')}
      keyOf={({ name }) => name}
    />
  )
}

/** Users without usage are in no list, so limits into which no request fits are shown separately. */
export function TooSmall({ quota, response }: PreviewOf) {
  const windows = noneFits(response.effective, quota.cheapest).map(
    ({ scope, category, window }) => `${t(`word.${scope}`)} ${category} ${windowName(window)}`,
  )
  if (windows.length === 0) return null
  return (
    <Note tone="warn" live>
      {t('preview.tooSmall', { windows: windows.join(', ') })}
    </Note>
  )
}

/** Limits into which only expensive requests never fit. `TooSmall` shows those into which no request fits. */
export function TooDear({ response }: { readonly response: PreviewResponse }) {
  if (response.warnings.length === 0) return null
  return (
    <Note tone="warn">
      {t('preview.tooDear')}
      <ul>
        {response.warnings.map(({ plan, scope, category, window, limit, cost, routes, routeCount }) => (
          <li key={`${plan} ${scope} ${category} ${window}`}>
            {plan !== undefined && <bdi>{plan}: </bdi>}
            {limitName({ scope, category, window })}: {number(limit)} &lt; {number(cost)} (
            <bdi>{routes.join(', ')}</bdi>
            {routeCount > routes.length && `, … ${number(routeCount)}`})
          </li>
        ))}
      </ul>
    </Note>
  )
}

interface RoomProps {
  readonly response: PreviewResponse
  readonly cheapest: SettingsInForceResponse['cheapest']
  readonly shadow: boolean
}

/** What is left in the global windows. */
export function Room({ response, cheapest, shadow }: RoomProps) {
  const rows = inOneList(response.windows)
  if (rows.length === 0) return <p>{t('preview.roomOff')}</p>
  const nameIn = ({ category, window }: { readonly category: string; readonly window: string }) =>
    `${category} ${windowName(window)}`
  const usedUp = rows.filter(({ category, ...window }) => lacksRoom(window, cheapest[category])).map(nameIn)
  const ofNewUsers = response.newUsers.map(nameIn)
  return (
    <>
      {ofNewUsers.length > 0 && (
        <Note tone="warn" live>
          {t('preview.usedUpForNew', { windows: ofNewUsers.join(', ') })}
        </Note>
      )}
      {usedUp.length > 0 && (
        <Note tone={shadow ? 'warn' : 'bad'} live>
          {t('preview.usedUp', { windows: usedUp.join(', ') })}
        </Note>
      )}
      <DataTable
        look="small"
        label={t('preview.room')}
        columns={[
          { id: 'window', head: t('word.window'), cell: nameIn },
          { id: 'used', head: t('word.used'), count: ({ used }) => used },
          { id: 'limitNow', head: t('preview.limitNow'), count: ({ limitNow }) => limitNow },
          { id: 'roomNow', head: t('preview.roomNow'), count: ({ remainingNow }) => remainingNow },
          { id: 'limitThen', head: t('preview.limitThen'), count: ({ limit }) => limit },
          { id: 'roomThen', head: t('preview.roomThen'), count: ({ remaining }) => remaining },
        ]}
        rows={rows}
        keyOf={nameIn}
      />
    </>
  )
}
