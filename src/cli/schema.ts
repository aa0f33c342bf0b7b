import { printJsonSchema } from '../config/json-schema.ts'

export async function schema(): Promise<number> {
  process.stdout.write(printJsonSchema())
  return 0
}
