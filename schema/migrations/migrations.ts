/**
 * Brings a database to this version's schema. Tables, columns, indexes and triggers are those that `schema/` describes; a
 * migration is what else is to be done once, in a warehouse that has rows. Append-only: landed ones are never edited.
 */
import type { DatabaseKind } from '../column-types.ts'
import { createMissing, type Run } from '../create-missing.ts'
import { createMessagesView } from '../messages-view.ts'
import { operationSpecs } from '../operation-specs.ts'
import { replaceTriggers } from '../triggers.ts'

type Step = (run: Run, kind: DatabaseKind) => Promise<unknown>
/** `before`: while the tables are the older ones. `after`: when they are those of this version. */
type Migration = { readonly before?: Step; readonly after?: Step }

/** Those without a step only made what this version describes. */
const migrations: Readonly<Record<string, Migration>> = { '0001_tables': {} }

const ofOperations = Object.values(operationSpecs).map(({ since }) => since)

/** All, in order: what the schema of a database is compared with. */
export const migrationNames: readonly string[] = [...new Set([...Object.keys(migrations), ...ofOperations])].sort()

/** `applied`: those that the database has; none: it is empty. Returns those that it gets. */
export async function applyMigrations(run: Run, kind: DatabaseKind, applied: readonly string[]) {
  const missing = migrationNames.filter((name) => !applied.includes(name))
  if (missing.length === 0) return missing
  const steps = applied.length === 0 ? [] : missing.map((name) => migrations[name] ?? {})
  for (const { before } of steps) await before?.(run, kind)
  await createMissing(run, kind)
  await createMessagesView(run, kind)
  await replaceTriggers(run, kind)
  for (const { after } of steps) await after?.(run, kind)
  return missing
}
