import SwaggerUI, { type Request, type System } from 'swagger-ui-dist/swagger-ui-bundle.js'
import 'swagger-ui-dist/swagger-ui.css'
import type { Loaded } from './load.ts'
import './frame.css'

/** Shows one document for as long as the frame lives, and is told what by the page around it. */

const dark = matchMedia('(prefers-color-scheme: dark)')
dark.addEventListener('change', follow)
follow()

addEventListener('message', ({ source, origin, data }: MessageEvent<Loaded>) => {
  if (source === parent && parent !== window && origin === location.origin) show(data)
})

/** Swagger UI's own style sheet has both. */
function follow(): void {
  document.documentElement.classList.toggle('dark-mode', dark.matches)
}

function show({ document: spec, origin }: Loaded): void {
  SwaggerUI({
    domNode: document.querySelector('#renderer'),
    spec,
    presets: [SwaggerUI.presets.apis],
    plugins: [forgetful],
    tryItOutEnabled: false,
    persistAuthorization: false,
    queryConfigEnabled: false,
    validatorUrl: null,
    deepLinking: false,
    withCredentials: false,
    displayRequestDuration: true,
    showCommonExtensions: true,
    defaultModelsExpandDepth: 0,
    requestInterceptor: (request) => confined(request, origin),
  })
}

/** To the service only, also where it redirects to another one, and with nothing but what was typed. */
function confined(request: Request, origin: string): Request {
  if (new URL(request.url, location.href).origin !== origin) throw new Error(`Requests go to ${origin} only.`)
  return Object.assign(request, { credentials: 'omit', redirect: 'error', referrerPolicy: 'no-referrer' })
}

/** Fields of which the browser remembers nothing, and which no spelling service is asked about. */
function forgetful({ React }: System) {
  return {
    wrapComponents: {
      Input: (Original: unknown) => (properties: object) =>
        React.createElement(Original, { autoComplete: 'off', spellCheck: false, ...properties }),
    },
  }
}
