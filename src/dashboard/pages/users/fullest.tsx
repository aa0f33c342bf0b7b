import { lacksRoom } from '../../../quota/window.ts'
import { useTexts } from '../../i18n/text.tsx'
import type { FullestWindow } from '../../logic/used-windows.ts'
import { Bar } from '../../ui/small.tsx'

interface FullestProps {
  readonly windows: readonly FullestWindow[]
  readonly shadow: boolean
  /** What the cheapest request costs, by category. */
  readonly cheapest: Readonly<Record<string, number>>
}

/** Of each category the window that is nearest to its limit, with its bar. */
export function Fullest({ windows, shadow, cheapest }: FullestProps) {
  const { t, number } = useTexts()
  if (windows.length === 0) return <span className="muted">{t('users.noUsage')}</span>
  return (
    <div className="window-bars">
      {windows.map(({ category, window, used, limit, over }) => (
        <div key={category}>
          <span className="muted">
            {category} {window}:{' '}
            {limit === null ? number(used) : t('now.gaugeText', { used: number(used), limit: number(limit) })}
          </span>
          {limit !== null && (
            <Bar
              used={used}
              limit={limit}
              label={`${category} ${window}`}
              shadow={shadow}
              isFull={lacksRoom({ used, limit, over }, cheapest[category])}
            />
          )}
        </div>
      ))}
    </div>
  )
}
