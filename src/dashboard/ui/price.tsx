import { number, t } from '../i18n/text.ts'
import { type AskedPrice, rangeOf } from '../logic/costs.ts'
import './price.css'

/** A price that depends on the request, in words: its range, the part of the request that is read, and each possible price. */
export function Price({ of }: { readonly of: AskedPrice }) {
  const { least, most } = rangeOf(of)
  return (
    <>
      {t('price.range', { least: number(least), most: number(most), by: sourceOf(of) })}
      <Parts of={of} />
    </>
  )
}

function Parts({ of }: { readonly of: AskedPrice }) {
  const { values, times, each, per, min = 0, max = 0, missing, otherwise, batch } = of
  const bounds = { min: number(min), max: number(max) }
  return (
    <ul className="plain price">
      {Object.entries(values ?? {}).map(([value, price]) => (
        <li key={value}>
          <code>{value}</code>: {typeof price === 'number' ? number(price) : sourceOf(price)}
          {typeof price !== 'number' && <Parts of={price} />}
        </li>
      ))}
      {times !== undefined && <li>{t('price.times', { times: String(times), ...bounds })}</li>}
      {each !== undefined && <li>{t('price.each', { each: number(each), ...bounds })}</li>}
      {per !== undefined && <li>{t('price.per', { per: number(per), ...bounds })}</li>}
      {missing !== undefined && <li>{t('price.missing', { cost: number(missing) })}</li>}
      {otherwise !== undefined && <li>{t('price.otherwise', { cost: number(otherwise) })}</li>}
      {batch !== undefined && <li>{t('price.batch', { count: number(batch) })}</li>}
    </ul>
  )
}

function sourceOf({ body, query, header }: AskedPrice): string {
  if (body !== undefined) return t('price.body', { name: body.join(', ') })
  if (query !== undefined) return t('price.query', { name: query })
  return header === undefined ? t('price.size') : t('price.header', { name: header })
}
