import type { Selection, Service } from '../selection.ts'
import { type Loaded, loadDocument, type Problem } from './load.ts'
import './main.css'

/**
 * The page: a selection of services, and a frame in which Swagger UI shows the chosen one. Each choice makes a new frame.
 * Everything that was typed into the old one then goes with all that ran in it: stores, caches and fields. Neither this page nor
 * any store of it ever gets a credential.
 */

/** The path of the page's files, which the gateway has written into the page. */
const base = document.documentElement.dataset.base ?? './'
const select = element<HTMLSelectElement>('#service')
const state = element('#state')
const problemBox = element('#problem')
const main = element('main')

let services: readonly Service[] = []
let loading = new AbortController()
let frame: HTMLIFrameElement | null = null

select.addEventListener('change', () => void show())
element('#problem button').addEventListener('click', () => void (services.length === 0 ? start() : show()))
// If the browser keeps the page for "back", it keeps it without the typed texts.
addEventListener('pagehide', clear)
addEventListener('pageshow', ({ persisted }) => void (persisted && show()))
void start()

async function start(): Promise<void> {
  clear()
  const selection = await readSelection()
  if (selection === null) {
    tell({
      what: 'The list of services cannot be read.',
      why: 'The gateway did not answer.',
      cure: 'Try again in a moment.',
    })
    return
  }
  services = selection.services
  document.title = selection.title
  element('#title').textContent = selection.title
  select.replaceChildren(...services.map(({ name }) => new Option(name)))
  select.disabled = false
  await show()
}

async function readSelection(): Promise<Selection | null> {
  try {
    const response = await fetch(`${base}services.json`)
    return response.ok ? ((await response.json()) as Selection) : null
  } catch {
    return null
  }
}

async function show(): Promise<void> {
  clear()
  const { signal } = loading
  const service = services[select.selectedIndex]
  if (service === undefined) return
  state.textContent = `Reading the description of ${service.name} …`
  const loaded = await loadDocument(service, signal)
  if (signal.aborted) return
  state.textContent = ''
  if ('what' in loaded) tell(loaded)
  else render(service, loaded)
}

/** Ends the frame that is shown, and the document that is being loaded. */
function clear(): void {
  loading.abort()
  loading = new AbortController()
  frame?.remove()
  frame = null
  problemBox.hidden = true
}

function render({ name }: Service, loaded: Loaded): void {
  const made = document.createElement('iframe')
  made.title = `API of ${name}`
  made.src = `${base}frame.html`
  made.addEventListener('load', () => made.contentWindow?.postMessage(loaded, location.origin))
  main.append(made)
  frame = made
}

function tell({ what, why, cure }: Problem): void {
  state.textContent = ''
  const [heading, first, second] = problemBox.querySelectorAll('h2, p')
  for (const [at, text] of [
    [heading, what],
    [first, why],
    [second, cure],
  ] as const)
    if (at) at.textContent = text
  problemBox.hidden = false
}

function element<T extends HTMLElement = HTMLElement>(selector: string): T {
  const found = document.querySelector<T>(selector)
  if (found === null) throw new Error(`the page has no ${selector}`)
  return found
}
