/** `{path}/services.json`, the data from which the page is made. */
export interface Selection {
  readonly title: string
  /** The services, the gateway first. */
  readonly services: readonly Service[]
}

export interface Service {
  readonly name: string
  /** The base URL of its operations; relative for the gateway, which also serves the page. */
  readonly url: string
  /** The URL of its OpenAPI document; relative as well for the gateway. */
  readonly document: string
}
