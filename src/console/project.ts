/** A project as the console knows it: its configuration, or what the warehouse alone says of it. */
import { streamNames } from '../../schema/stream-specs.ts'
import { defaultBudget } from '../config/budget-settings.ts'
import type { Config, ProjectConfig } from '../config/config.ts'
import { isTimeZone } from '../config/fields.ts'
import { type ConfiguredLake, lakesOf } from '../config/lakes.ts'
import type { BudgetPolicy } from '../service/core/budget-policy.ts'
import type { ProjectId } from '../values/project.ts'

/** `schedules` null: there is no configuration, so nobody knows them, nor what the key allows. */
export type ConsoleProject = Pick<
  ProjectConfig,
  | 'name'
  | 'projectId'
  | 'timeZone'
  | 'streams'
  | 'approveOwn'
  | 'approveGraceMs'
  | 'search'
  | 'columns'
  | 'hashKey'
  | 'replies'
  | 'replyAs'
  | keyof BudgetPolicy
> & {
  readonly schedules: ProjectConfig['schedules'] | null
  /** Those that have its rows. */
  readonly lakes?: readonly ConfiguredLake[]
}

export const configuredProjects = (
  config: Pick<Config, 'lake' | 'projects'>,
): readonly ConsoleProject[] =>
  config.projects.map((project) => ({ ...project, lakes: lakesOf(config, project) }))

/** Requests a minute; null: not known. */
export function limitOf({ schedules, rate }: ConsoleProject): number | null {
  return schedules === null ? null : Math.round((rate.requests * 60_000) / rate.windowMs)
}

/**
 * Of a warehouse that is opened without a configuration. Its time zone may be one that this machine
 * does not know.
 */
export function unconfiguredProject(projectId: ProjectId, timeZone: string | null): ConsoleProject {
  return {
    name: String(projectId),
    projectId,
    streams: streamNames,
    schedules: null,
    ...defaultBudget,
    approveOwn: true,
    approveGraceMs: 0,
    search: true,
    columns: [],
    hashKey: null,
    replies: {},
    replyAs: null,
    timeZone: timeZone !== null && isTimeZone(timeZone) ? timeZone : 'UTC',
  }
}
