import { MantineProvider } from '@mantine/core'
import './kit.css'
import { StrictMode, useEffect, useSyncExternalStore } from 'react'
import { createRoot } from 'react-dom/client'
import { Queries } from './api/queries.tsx'
import { SessionProvider } from './api/session.tsx'
import { App } from './app.tsx'
import './app.css'
import { firstLanguage, language, onLanguage, speak } from './i18n/text.ts'
import { HANDOVER_PATH, HandoverPage } from './pages/handover.tsx'
import { Guarded } from './ui/guarded.tsx'

const root = document.getElementById('root')
if (root === null) throw new Error('no #root')

// The first screen stays until the texts of the page are there.
await speak(firstLanguage())

// The theme is Mantine's own, and only app.css changes it. A theme object, its variables and global classes would be put
// into a <style> element, which a strict Content-Security-Policy forbids. The default variables are in kit.css.
createRoot(root).render(
  <StrictMode>
    <Page />
  </StrictMode>,
)

/** The whole page. It creates all elements, so a change of the language draws each of them again. */
function Page() {
  const spoken = useSyncExternalStore(onLanguage, () => language)
  useEffect(() => {
    document.documentElement.lang = spoken === 'zh' ? 'zh-CN' : 'en'
  }, [spoken])
  return (
    <MantineProvider defaultColorScheme="auto" withCssVariables={false} withGlobalClasses={false}>
      <Guarded>
        <Queries>
          {location.pathname === HANDOVER_PATH ? (
            <HandoverPage />
          ) : (
            <SessionProvider>
              <App />
            </SessionProvider>
          )}
        </Queries>
      </Guarded>
    </MantineProvider>
  )
}
