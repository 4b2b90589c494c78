/** From the configuration of projects to the schedules of the queue. Pure. */
import type { ProjectConfig } from '../src/config.ts'
import { type RoundName, roundNames, type Schedule as Wish } from '../src/core/schedule.ts'
import type { Rhythm, Schedule } from './backends/schedule.ts'
import { phaseOf, type Tick } from './queues.ts'
import { streamsOf } from './rounds.ts'

/** Spread over their periods, so that ten thousand projects do not start in the same second. */
export function schedulesOf(projects: readonly ProjectConfig[]): Schedule<Tick>[] {
  return [...projects.flatMap(ofProject), housekeeping]
}

const housekeeping: Schedule<Tick> = {
  id: 'housekeeping',
  rhythm: { pattern: '23 4 * * *', tz: 'UTC' },
  job: 'housekeeping',
  data: { round: 'housekeeping' },
}

function ofProject(project: ProjectConfig): Schedule<Tick>[] {
  return roundNames.flatMap((round) => {
    const rhythm = streamsOf(round, project).length === 0 ? null : rhythmOf(project, round, project.schedules[round])
    if (rhythm === null) return []
    return [{ id: `${round}/${project.name}`, rhythm, job: round, data: { round, project: project.name } }]
  })
}

/** The hours of the night, by the project's clock, in which a round has its minute. */
const nights: Readonly<Record<RoundName, { readonly from: number; readonly hours: number }>> = {
  reconcile: { from: 1, hours: 4 },
  // After midnight in every time zone that the service may count its days in by a little, and after the reconcile has begun.
  analytics: { from: 5, hours: 1 },
  incremental: { from: 0, hours: 1 },
  availability: { from: 0, hours: 1 },
}

function rhythmOf({ projectId, timeZone }: ProjectConfig, round: RoundName, wish: Wish): Rhythm | null {
  const phase = phaseOf(projectId, round)
  switch (wish.kind) {
    case 'off':
      return null
    case 'every':
      return { every: wish.ms, offset: Math.floor(phase * wish.ms) }
    case 'cron':
      return { pattern: wish.pattern, tz: timeZone }
    case 'nightly': {
      const minute = Math.floor(phase * nights[round].hours * 60)
      return { pattern: `${minute % 60} ${nights[round].from + Math.floor(minute / 60)} * * *`, tz: timeZone }
    }
  }
}
