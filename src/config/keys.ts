import type { z } from 'zod'
import { isObject } from '../lib/json.ts'

/** The valid keys of a section, with the defaults of those that are missing. */
export function keys<S extends z.core.$ZodLooseShape>(
  section: z.ZodObject<S>,
  value: unknown,
): Partial<z.output<z.ZodObject<S>>> {
  const found: Record<string, unknown> = {}
  if (value !== undefined && !isObject(value)) return found as Partial<z.output<z.ZodObject<S>>>
  for (const [key, schema] of Object.entries(section.shape)) {
    const isRefused = value !== undefined && key in value && value[key] === undefined
    if (isRefused) continue
    const parsed = (schema as z.ZodType).safeParse(value?.[key])
    if (parsed.success) found[key] = parsed.data
  }
  return found as Partial<z.output<z.ZodObject<S>>>
}
