/** The used part of swagger-ui-dist, which has no types of its own. */
declare module 'swagger-ui-dist/swagger-ui-bundle.js' {
  export interface Request {
    readonly url: string
  }

  export interface Response {
    /** The headers by name in lower case. */
    readonly headers?: Readonly<Record<string, string | readonly string[]>>
  }

  export interface Map {
    getIn(path: readonly string[]): { toJS?(): unknown } | undefined
  }

  export interface System {
    readonly React: {
      readonly Fragment: unknown
      createElement(component: unknown, properties: object, ...children: unknown[]): unknown
      useSyncExternalStore<T>(subscribe: (listener: () => void) => () => void, get: () => T): T
    }
    readonly specSelectors: { specJson(): Map }
  }

  /** https://github.com/swagger-api/swagger-ui/blob/master/docs/usage/configuration.md */
  export interface Options {
    readonly domNode: Element | null
    readonly spec: object
    readonly presets: readonly unknown[]
    readonly plugins: readonly ((system: System) => object)[]
    readonly tryItOutEnabled: boolean
    readonly persistAuthorization: boolean
    readonly queryConfigEnabled: boolean
    readonly validatorUrl: null
    readonly deepLinking: boolean
    readonly withCredentials: boolean
    readonly displayRequestDuration: boolean
    readonly showCommonExtensions: boolean
    readonly defaultModelsExpandDepth: number
    readonly requestInterceptor: (request: Request) => Request
    readonly responseInterceptor: (response: Response) => Response
  }

  const SwaggerUI: ((options: Options) => object) & { readonly presets: { readonly apis: unknown } }
  export default SwaggerUI
}
