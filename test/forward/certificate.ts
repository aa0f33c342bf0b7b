import { tempFolder } from '../setup/at-end.ts'
import { makeCa, makeCertificate } from '../setup/openssl.ts'

export interface TestCertificate {
  /** Of the authority, PEM. */
  readonly ca: string
  readonly cert: string
  readonly key: string
  /** The name that it is for. */
  readonly name: string
}

let made: TestCertificate | undefined

/** One certificate for all encrypted servers of a test file, made when the first one asks. */
export function testCertificate(): TestCertificate {
  made ??= make()
  return made
}

function make(): TestCertificate {
  const folder = tempFolder()
  const authority = makeCa(folder, 'ca')
  const { cert, key } = makeCertificate(folder, 'peer', authority, 'DNS:peer.test')
  return { ca: authority.cert, cert, key, name: 'peer.test' }
}
