/**
 * The schemas of the admin API. Schemas of bodies and queries validate. Schemas of responses are in the OpenAPI document, and give responses
 * their types (`api.ts`). The document sorts them by name.
 */
// biome-ignore-all assist/source/organizeImports: the parts that all others use come first
export * from './admin/values.ts'
export * from './admin/process.ts'
export * from './admin/limits.ts'
export * from './admin/layers.ts'
export * from './admin/settings.ts'
export * from './admin/changes.ts'
export * from './admin/users.ts'
export * from './admin/organisations.ts'
export * from './admin/explain.ts'
export * from './admin/now.ts'
export * from './admin/records.ts'
export * from './admin/alerts.ts'
export * from './admin/usage.ts'
export * from './admin/persons.ts'
export * from './admin/webhook.ts'
