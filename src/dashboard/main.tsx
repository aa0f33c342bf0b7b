import { MantineProvider } from '@mantine/core'
import './kit.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Queries } from './api/queries.tsx'
import { SessionProvider } from './api/session.tsx'
import { App } from './app.tsx'
import './app.css'
import { firstLanguage, loadWords, TextProvider } from './i18n/text.tsx'
import { HANDOVER_PATH, HandoverPage } from './pages/handover.tsx'
import { Guarded } from './ui/guarded.tsx'

const root = document.getElementById('root')
if (root === null) throw new Error('no #root')

// What is seen first stays until there are words for the page.
await loadWords(firstLanguage())

// The theme is Mantine's own and is changed by app.css only: a theme object, its variables and global classes would be put
// into a <style> element, which a strict Content-Security-Policy forbids. The default variables are in kit.css.
createRoot(root).render(
  <StrictMode>
    <MantineProvider defaultColorScheme="auto" withCssVariables={false} withGlobalClasses={false}>
      <TextProvider>
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
      </TextProvider>
    </MantineProvider>
  </StrictMode>,
)
