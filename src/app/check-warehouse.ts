/** Whether the warehouse can be used, and who else may read it. Changes nothing. */
import type { Config, ProjectConfig } from '../config/config.ts'
import { UserError } from '../values/user-error.ts'
import { EmptyWarehouseError } from '../warehouse/migrate.ts'
import { findExposedFiles } from '../warehouse/sqlite-file.ts'
import { findLaxColumns } from './apply-columns.ts'
import { withWarehouse } from './open.ts'
import { readStatus } from './status.ts'

/** A user who may read the file can read the customers' messages. */
export function checkFiles(config: Config) {
  const exposed = findExposedFiles(config.databaseUrl)
  if (exposed.length === 0) return []
  const detail =
    'other users of this machine may read ' +
    `${exposed.map(({ path, mode }) => `${path} (mode ${mode})`).join(', ')}`
  const hint = `unless this is intended: chmod go= ${exposed.map(({ path }) => path).join(' ')}`
  return [{ name: 'files', state: 'warning' as const, detail, hint }]
}

export async function checkWarehouse(config: Config, project: ProjectConfig) {
  const item = { name: 'warehouse', state: 'ok', hint: null } as const
  try {
    const report = await readStatus(config, project)
    const rows = report.streams.reduce((sum, stream) => sum + stream.rows, 0)
    const learned = report.behaviours.length
    const detail = `rows mirrored: ${rows}; behaviours of the service learned: ${learned}`
    const lax = await withWarehouse(config, (warehouse) => findLaxColumns(warehouse, project), {
      access: 'read',
      readOnly: true,
    })
    const columns = {
      name: 'stored columns',
      state: 'warning',
      detail:
        `stored without ${lax.join(', ')}, or with another hash, as earlier settings or those of ` +
        'another worker say: the next sync reads all of it again',
      hint: 'if another worker has other settings, give it the same ones first',
    } as const
    return [{ ...item, detail }, ...(lax.length === 0 ? [] : [columns])]
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    if (error instanceof EmptyWarehouseError)
      return [{ ...item, detail: 'empty; the first `deskmirror sync` fills it' }]
    const { message: detail, next: hint, exitCode } = error
    return [{ ...item, state: 'error' as const, detail, hint, retryable: exitCode === 1 }]
  }
}
