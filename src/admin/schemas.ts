/**
 * The schemas of the admin API. Those of bodies and queries validate. Those of responses are what the OpenAPI document
 * promises, and responses have their types (`api.ts`). The document names them in the order of these lines.
 */
// biome-ignore-all assist/source/organizeImports: sorted, they would change the document
export * from './schemas/values.ts'
export * from './schemas/process.ts'
export * from './schemas/limits.ts'
export * from './schemas/layers.ts'
export * from './schemas/settings.ts'
export * from './schemas/changes.ts'
export * from './schemas/users.ts'
export * from './schemas/organisations.ts'
export * from './schemas/explain.ts'
export * from './schemas/now.ts'
export * from './schemas/records.ts'
export * from './schemas/alerts.ts'
export * from './schemas/usage.ts'
export * from './schemas/persons.ts'
