import { TextInput } from '@mantine/core'
import type { PlansResponse } from '../../../contract/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { number, t, windowName } from '../../i18n/text.ts'
import { limitIn } from '../../logic/settings.ts'
import { visible } from '../../logic/visible.ts'
import { DataTable } from '../../ui/data-table.tsx'
import { bound } from '../../ui/form.tsx'
import { Tag } from '../../ui/small.tsx'
import { Setting, useEditing, useShown } from './edit.tsx'
import { nameOf, windowNames, wordOf } from './names.ts'

type Scope = 'personal' | 'organisation'

const EVERY_MS = 60_000

/** The limits of plans beside the baselines that they replace, with a field for each. Nothing without plans. */
export function PlanMatrix() {
  const { quota, draft } = useEditing()
  const { plans } = quota
  const known = usePoll<PlansResponse>('/api/plans', EVERY_MS).data?.plans ?? []
  const users = new Map(known.map(({ name, users }) => [name, users]))
  if (plans === undefined || Object.keys(plans).length === 0) return null
  const isOfOrganisations = (path: string) => path.startsWith('plans.') && path.includes('.organisation.')
  const isOpen =
    [...quota.changed, ...Object.keys(draft)].some(isOfOrganisations) ||
    Object.values(plans).some(({ organisation }) => Object.keys(organisation).length > 0)
  return (
    <fieldset className="limits">
      <legend>{t('plans.matrix')}</legend>
      <p className="muted">{t('plans.matrixText')}</p>
      <Matrix scope="personal" plans={Object.keys(plans)} users={users} />
      <details open={isOpen}>
        <summary>{t('plans.ofOrganisations')}</summary>
        <Matrix scope="organisation" plans={Object.keys(plans)} users={users} />
      </details>
    </fieldset>
  )
}

interface Cell {
  readonly category: string
  readonly window: string
}

interface MatrixProps {
  readonly scope: Scope
  readonly plans: readonly string[]
  /** How many known users have each plan; empty if unknown. */
  readonly users: ReadonlyMap<string, number>
}

function Matrix({ scope, plans, users }: MatrixProps) {
  const { quota } = useEditing()
  const isPersonal = scope === 'personal'
  const name = ({ category, window }: Cell) => `${t(wordOf(scope))} ${category} ${windowName(window)}`
  return (
    <DataTable<Cell>
      label={isPersonal ? t('plans.matrix') : t('plans.ofOrganisations')}
      columns={[
        { id: 'window', head: t('word.window'), cell: name },
        isPersonal && {
          ...{ id: 'baseline', head: t('plans.baseline'), isNumber: true },
          cell: (of) => <Baseline {...of} />,
        },
        ...plans.map((plan) => ({
          ...{ id: plan, head: visible(plan), headMore: <PlanHead plan={plan} users={users.get(plan)} /> },
          cell: (of: Cell) => <PlanField plan={plan} scope={scope} {...of} />,
        })),
      ]}
      rows={quota.categories.flatMap((category) => windowNames(quota).map((window) => ({ category, window })))}
      keyOf={name}
    />
  )
}

function PlanHead({ plan, users }: { readonly plan: string; readonly users: number | undefined }) {
  const { quota } = useEditing()
  return (
    <>
      {' '}
      {quota.defaultPlan === plan && <Tag tone="info">{t('plans.default')}</Tag>}{' '}
      {users !== undefined && <span className="muted">{t('plans.users', { count: number(users) })}</span>}
    </>
  )
}

/** The baseline with its edit, which applies to a plan that leaves the limit out. */
function Baseline({ category, window }: Cell) {
  const { quota, draft } = useEditing()
  const limit = limitIn(quota, draft, `baselines.personal.${category}.${window}`)
  return limit === null ? t('override.noLimit') : number(limit)
}

interface FieldProps extends Cell {
  readonly plan: string
  readonly scope: Scope
}

function PlanField({ plan, scope, category, window }: FieldProps) {
  const { quota, draft, edit, problemOf } = useEditing()
  const path = `plans.${plan}.${scope}.${category}.${window}`
  const baseline = scope === 'personal' ? limitIn(quota, draft, `baselines.personal.${category}.${window}`) : null
  const effective = quota.effective.plans?.[plan]?.[scope][category]?.[window]
  const written = limitIn(quota, {}, path)
  return (
    <Setting path={path}>
      <TextInput
        aria-label={nameOf(path)}
        inputMode="numeric"
        placeholder={baseline === null ? t('override.noLimit') : String(baseline)}
        {...bound(String(useShown(path)), (text) => edit(path, text), problemOf(path))}
      />
      {effective !== undefined && written !== null && effective !== written && (
        <span className="muted">{t('quotas.effective', { limit: number(effective) })}</span>
      )}
    </Setting>
  )
}
