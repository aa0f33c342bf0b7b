import { parseArgs } from 'node:util'
import { printJsonSchema } from '../config/json-schema.ts'
import { print } from '../lib/print.ts'
import { CONFIG_OPTION } from './config-option.ts'

export async function schema(args: readonly string[]): Promise<number> {
  // The command accepts -c like every other, though it reads nothing from the file.
  parseArgs({ args: [...args], options: CONFIG_OPTION })
  await print(printJsonSchema())
  return 0
}
