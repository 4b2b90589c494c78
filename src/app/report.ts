/** Runs `report`: reads the warehouse only, and writes the file that was asked for. */

import type { DateRange, Report } from '../analytics/analytics.ts'
import { chooseReportPeriod } from '../analytics/core/report-period.ts'
import { buildReport } from '../analytics/report/report.ts'
import type { Config, ProjectConfig } from '../config/config.ts'
import { createOutputFile } from '../export/output-file.ts'
import type { EpochMs } from '../values/time.ts'
import { UserError } from '../values/user-error.ts'
import type { Warehouse } from './open.ts'
import { withWarehouse } from './with-resources.ts'

/** Throws UserError if there are no facts yet, or the period is invalid. */
export function readReport(
  config: Config,
  project: ProjectConfig,
  dates: Partial<DateRange>,
  now: EpochMs,
): Promise<Report> {
  const { name, projectId } = project
  const read = async (warehouse: Warehouse) => {
    const data = await warehouse.reportData(projectId, now, (today) => chooseReportPeriod(dates, today))
    if (data !== null) return buildReport(name, data, now)
    throw new UserError({
      what: `there is nothing to report of ${name}`,
      why: 'no facts have been derived from its mirror yet',
      next: 'run `deskmirror sync`, which derives them at its end',
      exitCode: 2,
    })
  }
  return withWarehouse(config, read, { access: 'read', readOnly: true })
}

/** Replaces the file as a whole. Throws UserError if it cannot be written. */
export async function writeReportFile(path: string, text: string): Promise<void> {
  const file = await createOutputFile(path, { overwrite: true })
  try {
    await file.output.write(Buffer.from(text))
    await file.publish()
  } catch (error) {
    await file.discard()
    throw error
  }
}
