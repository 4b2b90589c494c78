/**
 * Runs `verify --private`: takes values of private columns from the service, and looks for them in
 * all that the warehouse keeps. Changes nothing.
 */
import { type StreamName, streamNames } from '../../schema/stream-specs.ts'
import { sourceOf, storedTable } from '../../schema/tables.ts'
import { toColumnRules } from '../config/column-settings.ts'
import type { Config, ProjectConfig } from '../config/config.ts'
import { createValueCollector } from '../maintenance/core/erased-values.ts'
import type { RemainsReport } from '../maintenance/maintenance.ts'
import { searchWarehouse } from '../maintenance/search-remains.ts'
import { type DescribePlace, placeOf } from '../maintenance/sql/search-tables.ts'
import type { Mirror } from '../mirror/mirror.ts'
import { readPrivateValues } from '../mirror/verify/read-private-values.ts'
import type { ProjectName } from '../values/project.ts'
import { UserError } from '../values/user-error.ts'
import { withOpened } from '../values/with-opened.ts'
import { parseDatabaseUrl } from '../warehouse/location.ts'
import { openMirror } from './facts.ts'
import { type CommandOptions, openProject } from './service.ts'

export type PrivateReport = {
  readonly project: ProjectName
  /** Of which columns values were taken, and how many. */
  readonly columns: readonly { readonly column: string; readonly values: number }[]
  /** Streams with private columns that could not be read. */
  readonly skipped: readonly { readonly stream: StreamName; readonly why: string }[]
  readonly search: RemainsReport
  readonly requests: number
}

/** Of a list so many rows, and the children of so many parents. */
const defaultSample = 50

/** Throws UserError if no column is private. */
export function verifyPrivate(
  config: Config,
  project: ProjectConfig,
  {
    sampleSize = defaultSample,
    ...options
  }: CommandOptions & { readonly sampleSize?: number | undefined },
): Promise<PrivateReport> {
  const rules = toColumnRules(project)
  if (rules.rules.length === 0)
    throw new UserError({
      what: 'nothing was looked for',
      why: `no column of ${project.name} is blocked or hashed`,
      next: 'name some in `columns` of deskmirror.yaml',
    })
  return withOpened(async (use) => {
    const opened = await openProject(use, config, project, { ...options, access: 'read' })
    const { service, warehouse } = opened
    const { projectId } = project
    const mirror = openMirror(warehouse, projectId)
    const skipped: { stream: StreamName; why: string }[] = []
    const collector = createValueCollector(projectId)
    const counts = new Map<string, number>(
      rules.rules.map(({ stream, path }) => [`${stream}.${path}`, 0]),
    )
    const { get, requestCount } = service.client
    const sample = { projectId, get, mirror, rules, sampleSize, signal: service.signal }
    const onSkipped = (stream: StreamName, why: string) => void skipped.push({ stream, why })
    for await (const { column, text } of readPrivateValues(sample, onSkipped)) {
      counts.set(column, (counts.get(column) ?? 0) + 1)
      collector.addPrivate(column, text)
    }
    const search = await searchWarehouse(warehouse, parseDatabaseUrl(config.databaseUrl), {
      values: collector.result(),
      compacted: warehouse.kind === 'sqlite' ? { isRewritten: false, isLogEmpty: true } : null,
      isRepeated: false,
      describePlace: describePrivatePlace(await mirror.readColumnChanges(rules)),
    })
    const columns = [...counts].map(([column, values]) => ({ column, values }))
    return { project: project.name, columns, skipped, search, requests: requestCount() }
  })
}

/** No value may be there, whoever's row it is. */
function describePrivatePlace(
  changes: Awaited<ReturnType<Mirror['readColumnChanges']>>,
): DescribePlace {
  const willBeCleaned = (name: StreamName) =>
    changes.some(({ stream, cleaned }) => stream === name && cleaned.length > 0)
  return (table, column) => {
    const place = `${table.name}.${column}`
    const mirrored = streamNames.find((name) =>
      [storedTable(name), `${name}_history`].includes(table.name),
    )
    if (mirrored !== undefined && willBeCleaned(mirrored)) {
      const why = 'it was stored before `columns` named it; a sync cleans it'
      return { place, why, command: `deskmirror sync --streams ${mirrored}` }
    }
    if (mirrored !== undefined)
      return { place, why: 'another field has it, which `columns` does not name', command: null }
    const source = sourceOf(table.name)
    if (source === 'derived')
      return {
        place,
        why: 'it was derived from rows that had it; what these still have is derived again',
        command: 'deskmirror migrate --rebuild-analytics',
      }
    if (source === 'write-backs')
      return { place, why: 'a write-back has it, which people here queued', command: null }
    const { ofOthers: _, isKept: __, ...described } = placeOf(table, column)
    return described
  }
}
