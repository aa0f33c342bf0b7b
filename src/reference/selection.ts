/** What `{path}/services.json` tells the page: all that it is made by. */
export interface Selection {
  readonly title: string
  /** The gateway first. */
  readonly services: readonly Service[]
}

export interface Service {
  readonly name: string
  /** Where its operations are; relative for the gateway, which is where the page is from. */
  readonly url: string
  /** Its OpenAPI document; relative as well for the gateway. */
  readonly document: string
}
