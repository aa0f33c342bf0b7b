import { serviceDocument } from '../common/openapi.ts'
import { version } from '../common/version.ts'
import { ROUTES } from './routes.ts'

/** The API of this service, made of its routes. */
export function describeApi(): object {
  return serviceDocument({
    title: 'Chart preview',
    version,
    description:
      'Charts in simai notation: their lists, notes, note counts and still frames. Keys of the gateway and of the network score-sync are refused here.',
    operations: ROUTES,
    securitySchemes: {
      apiKey: { type: 'http', scheme: 'bearer', description: 'An API key: mk_live_…' },
      adminSecret: {
        type: 'http',
        scheme: 'bearer',
        description: 'The administrator secret of this service. It manages API keys and reads no charts.',
      },
    },
  })
}
