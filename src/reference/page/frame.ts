import SwaggerUI, { type Request, type Response } from 'swagger-ui-dist/swagger-ui-bundle.js'
import 'swagger-ui-dist/swagger-ui.css'
import type { Loaded } from './load.ts'
import { plugin } from './plugin.ts'
import { tightest, whatIsLeft } from './what-is-left.ts'
import './frame.css'

/** Shows one document as long as the frame lives. The page around it sends the document. */

const dark = matchMedia('(prefers-color-scheme: dark)')
dark.addEventListener('change', follow)
follow()

addEventListener('message', ({ source, origin, data }: MessageEvent<Loaded>) => {
  if (source === parent && parent !== window && origin === location.origin) show(data)
})

/** Swagger UI's own style sheet has both looks. */
function follow(): void {
  document.documentElement.classList.toggle('dark-mode', dark.matches)
}

function show({ document: spec, origin }: Loaded): void {
  SwaggerUI({
    domNode: document.querySelector('#renderer'),
    spec,
    presets: [SwaggerUI.presets.apis],
    plugins: [plugin],
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
    responseInterceptor: noted,
  })
}

/** A request that goes only to the service, without the browser's own credentials. A redirect is an error. */
function confined(request: Request, origin: string): Request {
  if (new URL(request.url, location.href).origin !== origin) throw new Error(`Requests go to ${origin} only.`)
  return Object.assign(request, { credentials: 'omit', redirect: 'error', referrerPolicy: 'no-referrer' })
}

function noted(response: Response): Response {
  const { ratelimit, 'ratelimit-policy': policy } = response.headers ?? {}
  whatIsLeft.set(tightest(ratelimit, policy))
  return response
}
