import { Button, TextInput } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import type { PreviewResponse, SettingsInForceResponse } from '../../../admin/api.ts'
import { lacksRoom } from '../../../quota/window.ts'
import { useTexts } from '../../i18n/text.tsx'
import { wholeSecond } from '../../logic/format.ts'
import { hashOf } from '../../logic/location.ts'
import { SCOPE_WORDS } from '../../logic/scope.ts'
import { changesOf, type Draft, noneFits } from '../../logic/settings.ts'
import { useFocusBack } from '../../ui/focus-back.ts'
import { Note } from '../../ui/note.tsx'
import { Rows } from '../../ui/panel.tsx'
import { At, Changing, Name, Tag } from '../../ui/small.tsx'
import { nameOf, SCOPES, shownValue, windowNames } from './names.ts'

interface PreviewProps {
  readonly quota: SettingsInForceResponse
  readonly draft: Draft
  readonly response: PreviewResponse
  readonly at: Date
  readonly busy: boolean
  readonly reasonProblem: string | undefined
  readonly onApply: (reason: string) => void
  readonly onBack: () => void
}

/** What a change would do, from the live counters; and the button that makes it. */
export function Preview({ quota, draft, response, at, busy, reasonProblem, onApply, onBack }: PreviewProps) {
  const { t, time } = useTexts()
  const [reason, setReason] = useState('')
  const shadow = (changesOf(quota, draft).find(({ path }) => path === 'shadow')?.to ?? quota.shadow) === true
  const title = useRef<HTMLHeadingElement>(null)
  useFocusBack(() => title.current?.closest('.panel')?.querySelector('form [type="submit"]'))
  useEffect(() => title.current?.focus(), [])
  return (
    <section className="preview" aria-label={t('preview.title')}>
      <h3 ref={title} tabIndex={-1}>
        {t('preview.title')}
      </h3>
      <p className="muted">
        {t('preview.nothing')} {t('preview.counted', { time: time(at) })}
      </p>
      <ChangeList quota={quota} draft={draft} />
      <h4>{t('preview.limits')}</h4>
      <LimitTable quota={quota} response={response} />
      <TooSmall quota={quota} response={response} />
      <TooDear response={response} />
      <h4>{t('preview.users')}</h4>
      {shadow && <Note tone="warn">{t('preview.lateShadow')}</Note>}
      <Users response={response} />
      <Organisations response={response} />
      <h4>{t('preview.room')}</h4>
      <Room response={response} cheapest={quota.cheapest} shadow={shadow} />
      <Changing label={t('preview.apply')}>
        <TextInput
          label={t('word.reason')}
          description={t('word.reasonHelp')}
          maxLength={500}
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
          error={reasonProblem}
        />
        <div className="actions">
          <Button loading={busy} onClick={() => onApply(reason.trim())}>
            {t('preview.apply')}
          </Button>
        </div>
      </Changing>
      <div className="actions">
        <Button variant="default" onClick={onBack}>
          {t('preview.back')}
        </Button>
      </div>
    </section>
  )
}

function ChangeList({ quota, draft }: { readonly quota: SettingsInForceResponse; readonly draft: Draft }) {
  const texts = useTexts()
  const { t } = texts
  return (
    <>
      <h4>{t('preview.changes')}</h4>
      <ul className="differences">
        {changesOf(quota, draft).map(({ path, from, to, toFile }) => (
          <li key={path}>
            {nameOf(path, t)}: <del>{shownValue(from, texts)}</del>
            <span aria-hidden="true"> → </span>
            <ins>{shownValue(to, texts)}</ins> {toFile && <Tag tone="info">{t('preview.toFile')}</Tag>}
          </li>
        ))}
      </ul>
    </>
  )
}

function LimitTable({
  quota,
  response,
}: {
  readonly quota: SettingsInForceResponse
  readonly response: PreviewResponse
}) {
  const { t, number } = useTexts()
  const rows = SCOPES.flatMap((scope) =>
    quota.categories.flatMap((category) =>
      windowNames(quota).flatMap((window) => {
        const now = quota.effective[scope][category]?.[window]
        const then = response.effective[scope][category]?.[window]
        return now === then ? [] : [{ name: `${t(`word.${scope}`)} ${category} ${window}`, now, then }]
      }),
    ),
  )
  if (rows.length === 0) return <p>{t('preview.sameLimits')}</p>
  return (
    <Rows label={t('preview.limits')} head={[t('word.window'), t('preview.now'), t('preview.then')]}>
      {rows.map(({ name, now, then }) => (
        <tr key={name}>
          <th scope="row">{name}</th>
          <td className="num">{now === undefined ? '–' : number(now)}</td>
          <td className="num">{then === undefined ? '–' : number(then)}</td>
        </tr>
      ))}
    </Rows>
  )
}

/** Who has used nothing yet is in no list of users: limits that no request fits into are shown by themselves. */
function TooSmall({
  quota,
  response,
}: {
  readonly quota: SettingsInForceResponse
  readonly response: PreviewResponse
}) {
  const { t } = useTexts()
  const windows = noneFits(response.effective, quota.cheapest).map(
    ({ scope, category, window }) => `${t(`word.${scope}`)} ${category} ${window}`,
  )
  if (windows.length === 0) return null
  return (
    <Note tone="warn" live>
      {t('preview.tooSmall', { windows: windows.join(', ') })}
    </Note>
  )
}

/** Limits that only the dearer requests never fit into: those that none fits into are shown by `TooSmall`. */
function TooDear({ response }: { readonly response: PreviewResponse }) {
  const { t, number } = useTexts()
  if (response.warnings.length === 0) return null
  return (
    <Note tone="warn">
      {t('preview.tooDear')}
      <ul>
        {response.warnings.map(({ plan, scope, category, window, limit, cost, routes, routeCount }) => (
          <li key={`${plan} ${scope} ${category} ${window}`}>
            {plan !== undefined && <bdi>{plan}: </bdi>}
            {t(SCOPE_WORDS[scope])} {category} {window}: {number(limit)} &lt; {number(cost)} (
            <bdi>{routes.join(', ')}</bdi>
            {routeCount > routes.length && `, … ${number(routeCount)}`})
          </li>
        ))}
      </ul>
    </Note>
  )
}

function Users({ response }: { readonly response: PreviewResponse }) {
  const { t } = useTexts()
  const rows = response.blocked.map(({ user, ...block }) => ({ ...block, id: user }))
  return <Blocked of={response} rows={rows} kind="users" title={t('preview.users')} />
}

/** Nothing if no organisation has used anything. */
function Organisations({ response: { organisations } }: { readonly response: PreviewResponse }) {
  const { t } = useTexts()
  if (organisations.scanned === 0) return null
  const rows = organisations.blocked.map(({ organisation, ...block }) => ({ ...block, id: organisation }))
  return (
    <>
      <h4>{t('word.organisations')}</h4>
      <Blocked of={organisations} rows={rows} kind="organisations" title={t('word.organisations')} />
    </>
  )
}

const BLOCKED_WORDS = {
  users: { some: 'preview.blocked', none: 'preview.nobody', one: 'word.user' },
  organisations: { some: 'preview.blockedOrganisations', none: 'preview.noOrganisation', one: 'word.organisation' },
} as const

interface BlockedProps {
  readonly of: Omit<PreviewResponse['organisations'], 'blocked'>
  readonly rows: readonly (PreviewResponse['everybody'][number] & { readonly id: string })[]
  readonly kind: keyof typeof BLOCKED_WORDS
  readonly title: string
}

function Blocked({ of, rows, kind, title }: BlockedProps) {
  const { t, number } = useTexts()
  const words = {
    scanned: number(of.scanned),
    blocked: number(of.blockedCount),
    newly: number(of.newlyBlockedCount),
    freed: number(of.freedCount),
  }
  const { some, none, one } = BLOCKED_WORDS[kind]
  const isNone = of.blockedCount === 0
  return (
    <>
      <Note tone={of.newlyBlockedCount > 0 ? 'warn' : 'info'} live>
        {t(isNone ? none : some, words)}
      </Note>
      {of.blockedCount > rows.length && <p>{t('preview.first', { count: number(rows.length) })}</p>}
      {!isNone && (
        <Rows
          label={title}
          head={[t(one), t('word.window'), t('word.used'), t('preview.limitThen'), t('word.reset'), t('now.state')]}
        >
          {rows.map((each) => (
            <tr key={`${each.id} ${each.category} ${each.window}`}>
              <th scope="row">
                <a href={hashOf(kind, each.id)}>
                  <Name of={each.id} />
                </a>
              </th>
              <td>
                {each.category} {each.window}
              </td>
              <td className="num">{number(each.used)}</td>
              <td className="num">{number(each.limit)}</td>
              <td>{each.resetAt === null ? '–' : <At at={wholeSecond(each.resetAt)} />}</td>
              <td>
                <Tag tone={each.blockedNow ? 'info' : 'warn'}>
                  {t(each.blockedNow ? 'preview.already' : 'preview.newly')}
                </Tag>
              </td>
            </tr>
          ))}
        </Rows>
      )}
    </>
  )
}

interface RoomProps {
  readonly response: PreviewResponse
  readonly cheapest: SettingsInForceResponse['cheapest']
  readonly shadow: boolean
}

function Room({ response, cheapest, shadow }: RoomProps) {
  const { t, number } = useTexts()
  const rows = Object.entries(response.windows).flatMap(([category, list]) =>
    list.map((each) => ({ category, ...each })),
  )
  if (rows.length === 0) return <p>{t('preview.roomOff')}</p>
  const head = [
    t('word.window'),
    t('word.used'),
    t('preview.limitNow'),
    t('preview.roomNow'),
    t('preview.limitThen'),
    t('preview.roomThen'),
  ]
  const usedUp = rows
    .filter(({ category, ...window }) => lacksRoom(window, cheapest[category]))
    .map(({ category, window }) => `${category} ${window}`)
  return (
    <>
      {usedUp.length > 0 && (
        <Note tone={shadow ? 'warn' : 'bad'} live>
          {t('preview.usedUp', { windows: usedUp.join(', ') })}
        </Note>
      )}
      <Rows label={t('preview.room')} head={head}>
        {rows.map(({ category, window, used, limitNow, remainingNow, limit, remaining }) => (
          <tr key={`${category} ${window}`}>
            <th scope="row">
              {category} {window}
            </th>
            {[used, limitNow, remainingNow, limit, remaining].map((value, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: columns do not move
              <td key={i} className="num">
                {value === null ? '–' : number(value)}
              </td>
            ))}
          </tr>
        ))}
      </Rows>
    </>
  )
}
