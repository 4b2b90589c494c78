/** Runs `report`: reads the warehouse only, and writes the file that was asked for. */
import type { DateRange, Report } from '../analytics/analytics.ts'
import { readReport as readReportOf } from '../analytics/report/report.ts'
import type { ProjectConfig } from '../config/config.ts'
import type { OutputOptions } from '../export/export.ts'
import { createOutputFile } from '../export/output-file.ts'
import { listMirroredProjects } from '../maintenance/sql/projects.ts'
import type { EpochMs } from '../values/time.ts'
import { UserError } from '../values/user-error.ts'
import { type DatabaseAddress, type Warehouse, withWarehouse } from './open.ts'

type ReportedProject = Pick<ProjectConfig, 'name' | 'projectId'>
export type ReportConfig = DatabaseAddress & { readonly projects: readonly ReportedProject[] }

const readOnly = { access: 'read', readOnly: true } as const

/** Without a configuration, projects are named by their ids. Throws UserError if there is none. */
export async function withMirroredProjects(address: DatabaseAddress): Promise<ReportConfig> {
  const found = await withWarehouse(address, ({ db }) => listMirroredProjects(db), readOnly)
  if (found.length > 0)
    return { ...address, projects: found.map(({ id }) => ({ name: id, projectId: id })) }
  const why = 'no project has been read into it yet'
  throw new UserError({ what: 'the warehouse is empty', why, next: 'run `deskmirror sync`' })
}

/** Throws UserError if there are no facts yet, or the period is invalid. */
export function readReport(
  address: DatabaseAddress,
  { name, projectId }: ReportedProject,
  dates: Partial<DateRange>,
  now: EpochMs,
): Promise<Report> {
  const read = async ({ projectDb }: Warehouse) => {
    const report = await readReportOf(projectDb(projectId), name, dates, now)
    if (report !== null) return report
    throw new UserError({
      what: `there is nothing to report of ${name}`,
      why: 'no facts have been derived from its mirror yet',
      next: 'run `deskmirror sync`, which derives them at its end',
    })
  }
  return withWarehouse(address, read, readOnly)
}

/** The file is written whole or not at all. Throws UserError if it may not or cannot be. */
export async function writeReportFile(
  path: string,
  text: string,
  options: OutputOptions,
): Promise<void> {
  const file = await createOutputFile(path, options)
  try {
    await file.output.write(Buffer.from(text))
    await file.publish()
  } finally {
    await file.discard()
  }
}
