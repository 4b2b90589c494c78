/** Lakes that the worker writes: one of the whole warehouse, and those of single projects. */
import { resolve } from 'node:path'
import type { Config, ProjectConfig } from './config.ts'
import type { LakeSettings } from './lake-setting.ts'

export type ConfiguredLake = LakeSettings & {
  /** Null: all that the warehouse holds; its rows have `project_id`. */
  readonly project: ProjectConfig | null
}

/** `project`: those that have its rows. */
export function lakesOf(
  { lake, projects }: Pick<Config, 'lake' | 'projects'>,
  project?: ProjectConfig,
): readonly ConfiguredLake[] {
  const all = lake === null ? [] : [{ ...lake, project: null }]
  const ofProjects = projects.flatMap((of) =>
    of.lake === null ? [] : [{ ...of.lake, project: of }],
  )
  return [...all, ...ofProjects].filter(
    (lake) => project === undefined || lake.project === null || lake.project.name === project.name,
  )
}

/** The projects whose lake would be written into the folder of another one. */
export function lakesInOneFolder(
  config: Pick<Config, 'lake' | 'projects'>,
): readonly ProjectConfig[] {
  const lakes = lakesOf(config)
  const isTaken = ({ folder }: ConfiguredLake, index: number) =>
    lakes.slice(0, index).some((other) => resolve(other.folder) === resolve(folder))
  return lakes.flatMap((lake, index) =>
    lake.project !== null && isTaken(lake, index) ? [lake.project] : [],
  )
}
