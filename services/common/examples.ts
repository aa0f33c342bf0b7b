import { readFileSync } from 'node:fs'

/**
 * The documented bodies of a service. Its tests send them and compare responses with them.
 * @param folder of the service
 * @returns a function that reads one by its name, as in `charge.200`
 */
export function examplesIn(folder: string): (name: string) => unknown {
  return (name) => JSON.parse(readFileSync(new URL(`./examples/${name}.json`, folder), 'utf8'))
}
