/** Many projects, the same for the same seed, in realistic time zones. */
import { createHash } from 'node:crypto'
import { defaultProject, type ProjectConfig } from '../../src/config/config.ts'
import { defaultSchedules, type Schedules } from '../../src/config/schedules.ts'
import { secret } from '../../src/values/secret.ts'

/** Time zones and their shares of the projects. */
const zones: readonly (readonly [string, number])[] = [
  ['America/New_York', 0.25],
  ['America/Chicago', 0.1],
  ['America/Los_Angeles', 0.15],
  ['America/Sao_Paulo', 0.05],
  ['Europe/London', 0.1],
  ['Europe/Berlin', 0.2],
  ['Asia/Kolkata', 0.05],
  ['Asia/Tokyo', 0.05],
  ['Australia/Sydney', 0.05],
]

/**
 * Audits are not simulated: they use what everything else leaves, and 2,000 requests a night of
 * each key at most.
 */
const simulatedSchedules: Schedules = { ...defaultSchedules, audit: { kind: 'off' } }

export function createProjects(
  count: number,
  seed: number,
  schedules = simulatedSchedules,
): ProjectConfig[] {
  const url = new URL('https://service.invalid')
  const project = defaultProject({
    name: '',
    projectId: '',
    baseUrl: url,
    widgetUrl: url,
    apiKey: secret(''),
    schedules,
  })
  return Array.from({ length: count }, (_, n) => {
    const hash = createHash('sha256').update(`${seed}/${n}`).digest('hex')
    return {
      ...project,
      name: `project-${n}`,
      projectId: `${hash.slice(0, 8)}-${hash.slice(8, 12)}-4${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20, 32)}`,
      apiKey: secret(hash),
      timeZone: zoneAt(Number.parseInt(hash.slice(32, 40), 16) / 2 ** 32),
    }
  })
}

function zoneAt(share: number): string {
  let left = share
  for (const [zone, part] of zones) {
    if (left < part) return zone
    left -= part
  }
  return 'UTC'
}
