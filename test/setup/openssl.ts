import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Paths of a certificate and its key, and what is in them. */
export interface Certificate {
  readonly certFile: string
  readonly keyFile: string
  readonly cert: string
  readonly key: string
}

/** Makes an authority in a folder, by the command `openssl` (Debian: apt-get install openssl). Good for two days. */
export function makeCa(folder: string, name: string): Certificate {
  return make(folder, name, ['-addext', 'basicConstraints=critical,CA:TRUE'])
}

/** Makes a certificate of that authority, for a name such as `DNS:upstream.test`. @param days how long it is good */
export function makeCertificate(folder: string, name: string, ca: Certificate, altName: string, days = 2): Certificate {
  const signed = ['-CA', ca.certFile, '-CAkey', ca.keyFile, '-addext', `subjectAltName=${altName}`]
  return make(folder, name, [...signed, '-days', String(days)])
}

function make(folder: string, name: string, more: readonly string[]): Certificate {
  const config = join(folder, 'empty.cnf')
  const certFile = join(folder, `${name}.crt`)
  const keyFile = join(folder, `${name}.key`)
  writeFileSync(config, '[req]\ndistinguished_name=dn\n[dn]\n')
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', keyFile]
  const whole = ['req', '-config', config, '-x509', '-days', '2', ...key, '-out', certFile, '-subj', `/CN=${name}`]
  execFileSync('openssl', [...whole, ...more], { stdio: 'pipe' })
  return { certFile, keyFile, cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') }
}
