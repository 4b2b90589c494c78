/** The settings by which tests derive facts. */

import { createProjectFacts } from '../../../src/analytics/sql/project-facts.ts'
import type { Warehouse } from '../../../src/app/open.ts'
import {
  type AnalyticsSettings,
  analyticsSettings,
} from '../../../src/config/analytics-settings.ts'
import { defaultsOf } from '../../../src/config/setting.ts'

/** Open on Thursdays from 9 to 17. */
export const settings: AnalyticsSettings = {
  ...defaultsOf(analyticsSettings, {}),
  hours: { 4: [{ opens: 540, closes: 1020 }] },
}

/** Of the project `main`. */
export function factsOf(
  warehouse: Warehouse,
  analytics = settings,
  timeZone = 'Europe/Berlin',
  project = 'main',
) {
  return createProjectFacts(warehouse.projectDb(project), { timeZone, analytics })
}
