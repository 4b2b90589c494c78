/**
 * Rollups are days of one time zone. With another zone every day is requested again, and the rollups of the old one go, so
 * a person confirms it once: a typing error must not start it.
 */
import { localDateOfDay } from '../../values/days.ts'
import type { StoredRollup } from '../core/mirror.ts'
import type { Mirror } from '../sql/mirror.ts'

/** The time zone that a person has confirmed. */
const zoneCursor = 'analytics:zone'

/** Newest first: those that are no days of the zone. */
export function outdatedRollups(stored: readonly StoredRollup[], timeZone: string): readonly StoredRollup[] {
  return stored.filter((rollup) => rollup.timeZone !== timeZone && localDateOfDay(rollup, timeZone) === null)
}

/** Why the rollups may not be read in this time zone yet; null = they may. */
export async function unconfirmedZoneReason(
  mirror: Pick<Mirror, 'readRollups' | 'readCursor'>,
  timeZone: string,
): Promise<string | null> {
  // Rollups of an early version have no zone; those that are no days are duplicates.
  const outdated = outdatedRollups(await mirror.readRollups(), timeZone).filter((rollup) => rollup.timeZone !== null)
  if (outdated.length === 0 || (await mirror.readCursor(zoneCursor)) === timeZone) return null
  return `the stored rollups are days of ${outdated[0]?.timeZone}, and the time zone is now ${timeZone}: ${outdated.length} of them would be replaced`
}

export const confirmZone =
  'correct DESKMIRROR_TIME_ZONE; or, to read every day again, run `deskmirror sync --streams analytics --change-time-zone`'

export function rememberConfirmedZone(mirror: Pick<Mirror, 'writeCursor'>, timeZone: string): Promise<void> {
  return mirror.writeCursor(zoneCursor, timeZone)
}
