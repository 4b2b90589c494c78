/** Whether the warehouse can be used, and who else may read it. Changes nothing. */
import type { Config, ProjectConfig } from '../config/config.ts'
import { documentedFields } from '../mirror/core/streams.ts'
import { formatCount } from '../values/format.ts'
import { findUnknownRules } from '../values/unseen-rules.ts'
import { UserError } from '../values/user-error.ts'
import { EmptyWarehouseError } from '../warehouse/migrate.ts'
import { requireWritable } from '../warehouse/require-writable.ts'
import { findExposedFiles } from '../warehouse/sqlite-file.ts'
import { checkSettings, columnItems } from './check-settings.ts'
import { addressOptions, withWarehouse } from './open.ts'
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
    await requireWritable(config.databaseUrl, addressOptions(config))
    const report = await readStatus(config, project)
    const rows = report.streams.reduce((sum, stream) => sum + stream.rows, 0)
    const learned = report.behaviours.length
    const detail = `rows mirrored: ${formatCount(rows)}; behaviours of the service learned: ${learned}`
    const settings = await withWarehouse(
      config,
      (warehouse) => checkSettings(warehouse, project, report.streams),
      { access: 'read', readOnly: true },
    )
    return [{ ...item, detail }, ...settings]
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    if (error instanceof EmptyWarehouseError)
      return [
        { ...item, detail: 'empty; the first `deskmirror sync` fills it' },
        ...columnItems(project, findUnknownRules(project.columns, documentedFields)),
      ]
    const { message: detail, next: hint, exitCode } = error
    return [
      { ...item, state: 'error' as const, detail, hint, retryable: exitCode === 1 },
      ...columnItems(project, []),
    ]
  }
}
