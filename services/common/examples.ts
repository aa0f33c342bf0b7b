import { readFileSync } from 'node:fs'

/**
 * The documented bodies of a service, which its tests send and compare with what it responds.
 * @param folder of the service
 * @returns reads one by its name, as in `charge.200`
 */
export function examplesIn(folder: string): (name: string) => unknown {
  return (name) => JSON.parse(readFileSync(new URL(`./examples/${name}.json`, folder), 'utf8'))
}
