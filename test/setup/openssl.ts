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

/** A revocation list of an authority, good for two days. @returns its text, in PEM */
export function makeCrl(folder: string, ca: Certificate, revoked: readonly Certificate[]): string {
  const config = join(folder, 'crl.cnf')
  const database = join(folder, 'crl.index')
  writeFileSync(database, '')
  writeFileSync(config, `[ca]\ndefault_ca=d\n[d]\ndatabase=${database}\ndefault_md=sha256\ndefault_crl_days=2\n`)
  const run = (...args: string[]) =>
    execFileSync('openssl', ['ca', '-config', config, '-cert', ca.certFile, '-keyfile', ca.keyFile, ...args], {
      stdio: 'pipe',
      encoding: 'utf8',
    })
  for (const { certFile } of revoked) run('-revoke', certFile)
  return run('-gencrl')
}
