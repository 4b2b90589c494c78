/** `deskmirror migrate`: brings the warehouse to this version's schema. */
import { Command } from 'commander'
import type { Migrated } from '../warehouse/database/migrate.ts'
import { type Answer, give } from './answer.ts'
import { jsonOption } from './options.ts'
import type { Shell } from './shell.ts'

const examples = `
Every command that writes does this itself. Needs the database only: no address, no key.

Examples:
  $ deskmirror migrate
  $ DESKMIRROR_DATABASE_URL=postgres://me@db/desk deskmirror migrate --json`

export function migrateCommand(shell: Shell): Command {
  return new Command('migrate')
    .summary("bring the warehouse to this version's schema")
    .description("Creates the tables of the warehouse, or brings them to this version's schema.")
    .addOption(jsonOption())
    .addHelpText('after', examples)
    .action((options: { readonly json?: true }) => give(shell, options.json === true, () => migrate(shell)))
}

async function migrate(shell: Shell): Promise<Answer> {
  const { migrateWarehouse } = await shell.work()
  const migrated = await migrateWarehouse(shell.loadConfig('database'))
  return { document: migrated, lines: showMigrated(migrated), exit: 0 }
}

function showMigrated({ from, to, applied }: Migrated): readonly string[] {
  if (applied.length === 0) return [`the warehouse is at ${to} already`]
  return [...applied.map((name) => `applied ${name}`), `the warehouse went from ${from ?? 'nothing'} to ${to}`]
}
