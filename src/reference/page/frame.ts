import SwaggerUI, { type Request, type Response } from 'swagger-ui-dist/swagger-ui-bundle.js'
import 'swagger-ui-dist/swagger-ui.css'
import type { Loaded } from './load.ts'
import { plugin } from './plugin.ts'
import { tightest, whatIsLeft } from './what-is-left.ts'
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

/** To the service only, also where it redirects to another one, and with nothing but what was typed. */
function confined(request: Request, origin: string): Request {
  if (new URL(request.url, location.href).origin !== origin) throw new Error(`Requests go to ${origin} only.`)
  return Object.assign(request, { credentials: 'omit', redirect: 'error', referrerPolicy: 'no-referrer' })
}

function noted(response: Response): Response {
  const { ratelimit, 'ratelimit-policy': policy } = response.headers ?? {}
  whatIsLeft.set(tightest(ratelimit, policy))
  return response
}
