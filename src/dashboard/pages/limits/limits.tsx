import { TextInput } from '@mantine/core'
import { number, t, windowName } from '../../i18n/text.ts'
import { type Place, scaledPersonal, shownIn, valueAt } from '../../logic/settings.ts'
import { visible } from '../../logic/visible.ts'
import { bound } from '../../ui/form.tsx'
import { Plain } from '../../ui/small.tsx'
import { Setting, useEditing, useShown } from './edit.tsx'
import { SCOPES, windowNames } from './names.ts'

/** The baselines or the custom values, with a field for each scope, category and window. */
export function Limits({ table }: { readonly table: 'baselines' | 'custom' }) {
  const { quota } = useEditing()
  return (
    <fieldset className="limits" aria-label={table === 'custom' ? t('quotas.custom') : undefined}>
      {table === 'baselines' && <legend>{t('quotas.baselines')}</legend>}
      <p className="muted">{t(`quotas.${table}Text`)}</p>
      {table === 'baselines' && <Scaling />}
      {SCOPES.flatMap((scope) =>
        quota.categories.map((category) => (
          <fieldset key={`${scope} ${category}`} className="row">
            <legend>
              {t(`word.${scope}`)} · {category}
            </legend>
            {windowNames(quota).map((window) => (
              <LimitField key={window} table={table} scope={scope} category={category} window={window} />
            ))}
          </fieldset>
        )),
      )}
    </fieldset>
  )
}

/** Multiplies all personal limits of the form at once. */
function Scaling() {
  const { change, quota } = useEditing()
  return (
    <p className="wrap">
      {t('quotas.all')}{' '}
      {([0.8, 1.2] as const).map((factor) => {
        const name = t(factor < 1 ? 'quotas.less' : 'quotas.more')
        return (
          <Plain
            key={factor}
            size="compact-sm"
            aria-label={`${t('quotas.all')} ${name}`}
            onClick={() => change((draft) => scaledPersonal(quota, draft, factor))}
          >
            {name}
          </Plain>
        )
      })}
      <span className="muted">{t('quotas.allText')}</span>
    </p>
  )
}

/** The custom values, folded while another mode is chosen and none of them is set, because they have no effect then. */
export function CustomLimits() {
  const { quota, draft } = useEditing()
  const isOfCustom = (path: string) => path.startsWith('custom.')
  const isOpen = useShown('mode') === 'custom' || [...quota.changed, ...Object.keys(draft)].some(isOfCustom)
  return (
    <details className="custom" open={isOpen}>
      <summary>{t('quotas.custom')}</summary>
      <Limits table="custom" />
    </details>
  )
}

function LimitField({ table, scope, category, window }: Place & { readonly table: 'baselines' | 'custom' }) {
  const { quota, edit, problemOf } = useEditing()
  const path = `${table}.${scope}.${category}.${window}`
  const effective = quota.effective[scope][category]?.[window]
  // Users without a plan have the default plan.
  const ofPlan = scope === 'personal' ? (quota.defaultPlan ?? null) : null
  const over = quota.over?.[scope][category]?.[window]
  const baseline = valueAt(quota, `baselines.${scope}.${category}.${window}`)
  const shownForCustom = baseline === null ? undefined : String(shownIn(baseline))
  return (
    <Setting path={path}>
      <TextInput
        label={windowName(window)}
        placeholder={effective === undefined ? t('override.noLimit') : table === 'custom' ? shownForCustom : undefined}
        {...bound(String(useShown(path)), (text) => edit(path, text), problemOf(path))}
      />
      {table === 'baselines' &&
        effective !== undefined &&
        `${effective}${over === undefined ? '' : ` + ${over}`}` !== shownIn(baseline) && (
          <span className="muted">
            {ofPlan === null
              ? t('quotas.effective', { limit: number(effective) })
              : t('quotas.effectiveOfPlan', { limit: number(effective), plan: visible(ofPlan) })}
            {over !== undefined && ` ${t('word.over', { over: number(over) })}`}
          </span>
        )}
    </Setting>
  )
}
