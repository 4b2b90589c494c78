/**
 * Brings a database to this version's schema, which `schema/` describes; a migration is what else
 * is to be done once, in a warehouse that has rows. Append-only: landed ones are never edited.
 */
import type { DatabaseKind } from '../column-types.ts'
import { createMissing, type Run } from '../create-missing.ts'
import { createMessagesView } from '../messages-view.ts'
import type { operationSpecs } from '../operation-specs.ts'
import { replaceTriggers } from '../triggers.ts'

/**
 * `before`: while the tables are those of the version before, such as dropping an index. `after`:
 * such as filling a column of the rows that are there.
 */
export type Migration = Readonly<
  Partial<Record<'before' | 'after', (run: Run, kind: DatabaseKind) => Promise<unknown>>>
>

/** By name, which begins with a number. */
export type Migrations = Readonly<Record<string, Migration>>

/** Those without a step only made what this version describes. */
export const migrations: Migrations &
  Readonly<Record<(typeof operationSpecs)[keyof typeof operationSpecs]['since'], Migration>> = {
  '0001_tables': {},
  '0002_moves': {},
  '0003_assignments': {},
  '0004_history': {},
  '0005_notifications': {},
}

export const namesOf = (all: Migrations): readonly string[] => Object.keys(all).sort()

/** All of this version: what the schema of a database is compared with. */
export const migrationNames = namesOf(migrations)

/** `applied`: those that the database has; none: it is empty. Returns those that it gets. */
export async function applyMigrations(
  run: Run,
  kind: DatabaseKind,
  all: Migrations,
  applied: readonly string[],
) {
  const missing = namesOf(all).filter((name) => !applied.includes(name))
  if (missing.length === 0) return missing
  const steps = applied.length === 0 ? [] : missing.map((name) => all[name] ?? {})
  for (const { before } of steps) await before?.(run, kind)
  await createMissing(run, kind)
  await createMessagesView(run, kind)
  await replaceTriggers(run, kind)
  for (const { after } of steps) await after?.(run, kind)
  return missing
}
