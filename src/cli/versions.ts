/** The versions of this program and of its schema, which is that of the last migration. */
import { existsSync, readFileSync } from 'node:fs'

export type Versions = { readonly program: string; readonly schema: string }

export async function readVersions(): Promise<Versions> {
  // Loaded here, because it takes longer than most commands.
  const { migrationNames } = await import('../../schema/migrations/migrations.ts')
  return { program: packageVersion(), schema: migrationNames.at(-1) ?? 'none' }
}

export function renderVersions({ program, schema }: Versions): string {
  return `${program} (schema ${schema})`
}

/** Of the package that this file belongs to, in a checkout or compiled. */
function packageVersion(): string {
  const here = ['../../package.json', '../../../package.json'].map((path) => new URL(path, import.meta.url))
  const found = here.find((url) => existsSync(url))
  return found === undefined ? 'unknown' : String(JSON.parse(readFileSync(found, 'utf8')).version)
}
